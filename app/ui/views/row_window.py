"""The widgets of a long list: made when their row comes near, dropped when it is far away."""

from collections.abc import Callable
from typing import Final

from PySide6.QtWidgets import QWidget

from app.ui.markdown.document import line_height
from app.ui.theme.look import LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_model import ChatModel
from app.ui.views.message_widget import MessageWidget
from app.ui.views.row_estimate import estimated_height
from app.ui.views.row_heights import RowHeights

_KEPT: Final = 30
"""Widgets kept at all; beyond that the farthest go, unless they are in use."""


class RowWindow:
    """Knows all heights and the few widgets there are."""

    def __init__(
        self,
        looks: LookSource,
        model: ChatModel,
        viewport: QWidget,
        make: Callable[[MessageItem], MessageWidget],
    ) -> None:
        self._looks = looks
        self._model = model
        self._viewport = viewport
        self._make = make
        self._width = 0
        self._measured: dict[tuple[int, int], int] = {}  # (message id, width) -> height, in this look
        self._widgets: dict[int, MessageWidget] = {}
        self._unfolded: set[int] = set()
        self.heights = RowHeights()

    @property
    def widgets(self) -> dict[int, MessageWidget]:
        """The widgets there are, by message id."""
        return self._widgets

    def reset(self) -> None:
        """Start again with the model's rows."""
        for message_id in list(self._widgets):
            self.drop(message_id)
        self._measured.clear()
        self._unfolded.clear()
        self._estimate_all()

    def set_width(self, width: int) -> bool:
        """Take the width of the column; True when it is another one."""
        if width == self._width:
            return False
        self._width = width
        self._estimate_all()
        for message_id in self._widgets:
            self.measure(message_id)
        return True

    def change_look(self) -> None:
        """Make all widgets anew; what was being written or unfolded stays so."""
        drafts = {message_id: widget.draft for message_id, widget in self._widgets.items()}
        for message_id in list(self._widgets):
            self.drop(message_id)
        self._measured.clear()
        self._estimate_all()
        for message_id, draft in drafts.items():
            row = self._model.row_of(message_id)
            if draft is not None and row is not None:
                self.make(row).start_edit(draft)

    def insert(self, row: int) -> None:
        """Take a new row of the model."""
        self.heights.insert(row, self._known_height(row))

    def remove(self, row: int) -> None:
        """Forget a row that the model is about to lose."""
        self.drop(self._model.item(row).id)
        self.heights.remove(row)

    def change(self, row: int) -> None:
        """Show another state of a row."""
        item = self._model.item(row)
        self._measured.pop((item.id, self._width), None)
        widget = self._widgets.get(item.id)
        if widget is not None:
            widget.show_item(item)
            self.measure(item.id)
        else:
            self.heights.set_height(row, self._known_height(row))

    def measure(self, message_id: int) -> bool:
        """Let a widget lay itself out; True when its row has another height now."""
        row = self._model.row_of(message_id)
        widget = self._widgets.get(message_id)
        if row is None or widget is None or self._width <= 0:
            return False
        height = widget.fit(self._width)
        if widget.is_building and not widget.item.is_streaming and not self._is_measured(message_id):
            height = max(height, self._known_height(row))  # what is still to come has its place already
        else:
            self._measured[message_id, self._width] = height
        if widget.is_reasoning_open:
            self._unfolded.add(message_id)
        else:
            self._unfolded.discard(message_id)
        return self.heights.set_height(row, height)

    def make(self, row: int) -> MessageWidget:
        """Make the widget of a row, and measure it."""
        item = self._model.item(row)
        widget = self._make(item)
        widget.setParent(self._viewport)
        self._widgets[item.id] = widget
        if item.id in self._unfolded:
            widget.open_reasoning()
        self.measure(item.id)
        return widget

    def make_between(self, top: int, bottom: int) -> bool:
        """Make the missing widgets of the rows from `top` to `bottom`; True when there were any."""
        missing = [row for row in self._rows_between(top, bottom) if self._is_missing(row)]
        for row in missing:
            self.make(row)
        return bool(missing)

    def next_missing(self, top: int, height: int) -> int | None:
        """Return the row without a widget nearest to the view at `top`, no further away than its height."""
        below = self._rows_between(top + height, top + 2 * height)
        above = reversed(self._rows_between(top - height, top))
        return next((row for row in (*below, *above) if self._is_missing(row)), None)

    def in_sight(self, height: int) -> set[int]:
        """Return the ids of the messages in a view of this height, as they are placed now."""
        return {
            message_id
            for message_id, widget in self._widgets.items()
            if widget.y() < height and widget.y() + widget.height() > 0
        }

    def place(self, left: int, scroll: int, height: int) -> None:
        """Move the widgets to where they are seen, hide the others, and drop the farthest."""
        for message_id, widget in list(self._widgets.items()):
            row = self._model.row_of(message_id)
            if row is None:
                self.drop(message_id)
                continue
            y = self.heights.top(row) - scroll
            widget.move(left, y)
            is_near = y < 2 * height and y + widget.height() > -height
            if is_near is widget.isHidden() and (is_near or not widget.has_keyboard):
                widget.setVisible(is_near)
        self._drop_far(height)

    def drop(self, message_id: int) -> None:
        """Delete a widget, later: it may be the one that is being clicked."""
        widget = self._widgets.pop(message_id, None)
        if widget is not None:
            if widget.has_keyboard:
                self._viewport.setFocus()  # else hiding it would move the focus, and so the rows
            widget.hide()
            widget.leave_selection()
            widget.deleteLater()

    def _drop_far(self, height: int) -> None:
        surplus = len(self._widgets) - _KEPT
        if surplus <= 0:
            return
        middle = height // 2
        by_distance = sorted(self._widgets.items(), key=lambda pair: -abs(pair[1].y() - middle))
        for message_id, widget in by_distance[:surplus]:
            if not widget.isVisible() and not widget.is_in_use:
                self.drop(message_id)

    def _estimate_all(self) -> None:
        self.heights.reset([self._known_height(row) for row in range(self._model.rowCount())])

    def _rows_between(self, top: int, bottom: int) -> range:
        if not len(self.heights) or self._width <= 0 or bottom <= 0:
            return range(0)
        return range(self.heights.row_at(max(0, top)), self.heights.row_at(bottom - 1) + 1)

    def _is_missing(self, row: int) -> bool:
        return self._model.item_id(row) not in self._widgets

    def _is_measured(self, message_id: int) -> bool:
        return (message_id, self._width) in self._measured

    def _known_height(self, row: int) -> int:
        item = self._model.item(row)
        measured = self._measured.get((item.id, self._width))
        if measured is not None:
            return measured
        look = self._looks.look
        return estimated_height(item, self._width, line_height(look, "prose"), look.zoom)
