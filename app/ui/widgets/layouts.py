"""Small functions that lay widgets out, and a layout that wraps."""

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

Item = QWidget | QLayout | int | None
"""What `row` and `column` take: a widget, a layout, a gap in pixels, or None for stretch."""

Margins = tuple[int, int, int, int]
"""Left, top, right, bottom."""

NO_MARGINS: Margins = (0, 0, 0, 0)


def row(*items: Item, gap: int = 8, margins: Margins = NO_MARGINS) -> QHBoxLayout:
    """Return `items` side by side, centred vertically."""
    layout = QHBoxLayout()
    _fill(layout, items, gap, margins)
    return layout


def column(*items: Item, gap: int = 8, margins: Margins = NO_MARGINS) -> QVBoxLayout:
    """Return `items` one below the other."""
    layout = QVBoxLayout()
    _fill(layout, items, gap, margins)
    return layout


def holder(layout: QLayout, *, surface: str | None = None) -> QWidget:
    """Return a widget that carries `layout`; `surface` names its ground as the style sheet does."""
    widget = QFrame() if surface else QWidget()
    widget.setProperty("surface", surface)
    widget.setLayout(layout)
    return widget


def scrolled(inner: QWidget) -> QScrollArea:
    """Return `inner` in a frame that scrolls up and down only, so that no page makes the window wider."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    return area


def card(layout: QLayout, padding: int = 16, *, selected: bool = False) -> QFrame:
    """Return a raised card round `layout`."""
    frame = QFrame()
    frame.setProperty("surface", "card")
    frame.setProperty("selected", selected)
    layout.setContentsMargins(padding, padding, padding, padding)
    frame.setLayout(layout)
    return frame


def tone_box(tone: str, layout: QLayout, padding: int = 12) -> QFrame:
    """Return a tinted box: info, success, warning, danger or accent."""
    frame = QFrame()
    frame.setProperty("tone", tone)
    layout.setContentsMargins(padding, padding, padding, padding)
    frame.setLayout(layout)
    return frame


def rule(direction: str = "h") -> QFrame:
    """Return a hairline, `h` or `v`."""
    frame = QFrame()
    frame.setProperty("rule", direction)
    return frame


class FlowLayout(QLayout):
    """Items side by side that go on in the next line where there is no room."""

    def __init__(self, *widgets: QWidget, gap: int = 8) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self.setSpacing(gap)
        self.setContentsMargins(*NO_MARGINS)
        for widget in widgets:
            self.addWidget(widget)

    def addItem(self, item: QLayoutItem, /) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int, /) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int, /) -> QLayoutItem | None:  # type: ignore[override]  # Qt asks past the end
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int, /) -> int:
        return self._arrange(QRect(0, 0, width, 0), moves=False)

    def setGeometry(self, rect: QRect, /) -> None:
        super().setGeometry(rect)
        self._arrange(rect, moves=True)

    def sizeHint(self) -> QSize:
        shown = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in shown) + self.spacing() * max(0, len(shown) - 1)
        return QSize(width, max((size.height() for size in shown), default=0))

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            if not item.isEmpty():
                size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, *, moves: bool) -> int:
        """Return the height the items take within the width of `rect`."""
        x, y, line = rect.x(), rect.y(), 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint().expandedTo(item.minimumSize())
            if x > rect.x() and x + size.width() > rect.x() + rect.width():
                x, y, line = rect.x(), y + line + self.spacing(), 0
            if moves:
                item.setGeometry(QRect(QPoint(x, y), size))
            x += size.width() + self.spacing()
            line = max(line, size.height())
        return y + line - rect.y()


def hold_layouts(widget: QWidget) -> Callable[[], None]:
    """Let nothing in `widget` be laid out until the function returned is called.

    Qt lays out all that stands around a widget when it is shown or hidden; where many are, once is enough.
    """
    found: list[Any] = list(widget.findChildren(QLayout))
    held: list[QLayout] = [layout for layout in found if layout.isEnabled()]
    for layout in held:
        layout.setEnabled(False)

    def let_go() -> None:
        for layout in held:
            if isValid(layout):
                layout.setEnabled(True)
                # what was asked for meanwhile came to nothing
                QCoreApplication.postEvent(layout.parentWidget(), QEvent(QEvent.Type.LayoutRequest))

    return let_go


def hold_painting(widget: QWidget) -> Callable[[], None]:
    """Leave `widget` as it is on the screen until the function returned is called."""
    widget.setUpdatesEnabled(False)

    def let_go() -> None:
        if isValid(widget):
            widget.setUpdatesEnabled(True)

    return let_go


def _fill(layout: QBoxLayout, items: Iterable[Item], gap: int, margins: Margins) -> None:
    layout.setSpacing(gap)
    layout.setContentsMargins(*margins)
    for item in items:
        if item is None:
            layout.addStretch(1)
        elif isinstance(item, int):
            layout.addSpacing(item)
        elif isinstance(item, QWidget):
            layout.addWidget(item)
        else:
            layout.addLayout(item)
