"""Selecting text with the mouse across all texts of one message."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QGuiApplication

if TYPE_CHECKING:
    from app.ui.markdown.text_view import TextView


class SelectionOwner(QObject):
    """Knows which message holds the selection: there is one in the whole view.

    Signals:
        copied: selected text went to the clipboard.
        dragged: where on the screen the mouse reaches while it selects.
    """

    copied = Signal()
    dragged = Signal(QPoint)

    def __init__(self) -> None:
        super().__init__()
        self._current: Selection | None = None

    def take(self, selection: "Selection") -> None:
        """Make `selection` the only one."""
        if self._current is not None and self._current is not selection:
            self._current.clear()
        self._current = selection

    def forget(self, selection: "Selection") -> None:
        """Let go of a selection whose message is no longer shown."""
        if self._current is selection:
            self._current = None

    def text(self) -> str:
        """Return what is selected."""
        return self._current.text() if self._current is not None else ""

    def copy(self) -> bool:
        """Put the selected text into the clipboard; False when nothing is selected."""
        text = self.text()
        if text:
            QGuiApplication.clipboard().setText(text)
            self.copied.emit()
        return bool(text)


class Selection:
    """From one place in one text to another place in the same or another text of a message."""

    def __init__(self, owner: SelectionOwner) -> None:
        self._owner = owner
        self._views: list[TextView] = []
        self._anchor: tuple[TextView, int] | None = None

    def add(self, view: "TextView") -> None:
        """Let `view` take part."""
        self._views.append(view)

    def remove(self, view: "TextView") -> None:
        """Forget `view`, which goes away."""
        if view in self._views:
            self._views.remove(view)
        if self._anchor is not None and self._anchor[0] is view:
            self._anchor = None

    def press(self, view: "TextView", position: int) -> None:
        """Begin at a place."""
        self.clear()
        self._owner.take(self)
        self._anchor = (view, position)

    def drag(self, global_point: QPoint) -> None:
        """Reach to where the mouse is."""
        if self._anchor is None:
            return
        views = self._in_order()
        target = _nearest(views, global_point)
        if target is None or self._anchor[0] not in views:
            return
        begin = (views.index(self._anchor[0]), self._anchor[1])
        end = (views.index(target), target.position_at(target.mapFromGlobal(global_point)))
        (first, start), (last, stop) = min(begin, end), max(begin, end)
        for number, view in enumerate(views):
            if not first <= number <= last:
                view.select(0, 0)
                continue
            view.select(start if number == first else 0, stop if number == last else view.length())
        self._owner.dragged.emit(global_point)

    def select_range(self, view: "TextView", start: int, stop: int) -> None:
        """Select inside one text."""
        self.press(view, start)
        view.select(start, stop)

    def select_all(self) -> None:
        """Select the whole message."""
        self._owner.take(self)
        for view in self._views:
            view.select(0, view.length())

    def clear(self) -> None:
        """Select nothing."""
        for view in self._views:
            view.select(0, 0)

    def text(self) -> str:
        """Return the selected text, its parts on lines of their own."""
        return "\n\n".join(text for view in self._in_order() if (text := view.selected_text()))

    def copy(self) -> bool:
        """Put the selected text into the clipboard; False when nothing is selected."""
        return self._owner.copy()

    def _in_order(self) -> "list[TextView]":
        shown = [view for view in self._views if view.isVisible()]
        return sorted(shown, key=lambda view: view.mapToGlobal(QPoint(0, 0)).y())


def _nearest(views: "list[TextView]", global_point: QPoint) -> "TextView | None":
    def distance(view: "TextView") -> int:
        y = view.mapFromGlobal(global_point).y()
        return max(0, -y, y - view.height())

    return min(views, key=distance, default=None)
