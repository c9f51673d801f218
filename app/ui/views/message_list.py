"""A scrolled list of messages that keeps widgets only for what is seen, and some around it."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QKeySequence, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.ui.markdown.parts import PartEvents
from app.ui.markdown.selection import SelectionOwner
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_model import ChatModel
from app.ui.views.focus_order import focus_next
from app.ui.views.list_anchor import Anchor, VersionAsked, find_anchor
from app.ui.views.list_scrolling import bring_into_sight, scroll_after, scroll_by_key
from app.ui.views.message_widget import MessageWidget
from app.ui.views.newest_message import NewestMessage
from app.ui.views.row_window import RowWindow
from app.ui.views.spare_rows import SpareRows

_SIDE: Final = 26
_STEP: Final = 48
_NEAR_END: Final = 8
_BELOW: Final = 12


class MessageList(QAbstractScrollArea):
    """Shows a `ChatModel`.

    Where the person looks stays where it is: rows measured above it move the scroll bar, not the text. At
    the end the list follows what is added, until the person scrolls away.

    Signals:
        asked: message id and what a button of it says.
        edit_accepted: message id, new text.
        version_requested: message id, -1 for the version before it, 1 for the next.
        widget_made: id of a message that is drawn now with all text the model has.
        follows_changed: whether the end is in sight and followed.
    """

    asked = Signal(int, str)
    edit_accepted = Signal(int, str)
    version_requested = Signal(int, int)
    widget_made = Signal(int)
    follows_changed = Signal(bool)

    def __init__(
        self, looks: LookSource, model: ChatModel, owner: SelectionOwner, events: PartEvents
    ) -> None:
        super().__init__()
        self._looks = looks
        self._model = model
        self._owner = owner
        self.spares = SpareRows(looks, owner, events, self.viewport())
        self._rows = RowWindow(looks, model, self.viewport(), self._make_widget)
        self._follows = True
        self._is_arranging = False
        self._is_shown = False
        self._has_unstyled = False
        self._newest = NewestMessage()
        self._in_sight: set[int] = set()
        self._version_asked: VersionAsked | None = None
        self._ahead = QTimer(self, interval=0, singleShot=True)
        self._ahead.timeout.connect(self._make_ahead)
        self._set_up()

    @property
    def follows(self) -> bool:
        """The end is in sight, and stays so when text is added."""
        return self._follows

    @property
    def widgets(self) -> dict[int, MessageWidget]:
        """The widgets there are now, by message id: those seen and some around them."""
        return self._rows.widgets

    def show_view(self, view: ModelView) -> None:
        """Take the state of the model."""
        self._newest.show_view(view)

    def jump_to_end(self) -> None:
        """Show the end and follow it again."""
        self._set_follows(follows=True)
        self._arrange(None)

    def come_back_to(self, message_id: int) -> None:
        """Show another version where the one stood that it was asked for at."""
        asked, self._version_asked = self._version_asked, None
        if asked is None:
            return
        self._set_follows(follows=False)
        self._arrange(Anchor(message_id, asked.offset))
        widget = self._rows.widgets.get(message_id)
        if asked.has_keyboard and widget is not None:
            widget.foot.versions.focus_step(asked.step)

    def _on_version_requested(self, message_id: int, step: int) -> None:
        row, widget = self._model.row_of(message_id), self._rows.widgets.get(message_id)
        if row is not None and widget is not None:
            offset = self.verticalScrollBar().value() - self._rows.heights.top(row)
            self._version_asked = VersionAsked(offset, step, widget.has_keyboard)
            self.version_requested.emit(message_id, step)

    def remeasure(self, message_id: int) -> None:
        """Take the new height of a message."""
        if self._is_arranging:
            return
        anchor = self._anchor()
        if self._rows.measure(message_id):
            self._arrange(anchor)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._is_shown = True
        self.spares.prepare()
        if self._has_unstyled:  # they were measured before they had their style
            self._has_unstyled = False
            self._on_look_changed()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._is_shown = False

    def scrollContentsBy(self, dx: int, dy: int) -> None:  # noqa: ARG002 Qt's signature
        if self._is_arranging:
            return
        bar = self.verticalScrollBar()
        self._set_follows(follows=bar.value() >= bar.maximum() - _NEAR_END)
        self._arrange(self._anchor())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.verticalScrollBar().setPageStep(max(1, self.viewport().height() - _STEP))
        anchor = self._anchor()
        self._is_arranging = True
        self._rows.set_width(self._column()[1])
        self._is_arranging = False
        self._arrange(anchor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._owner.copy()
        elif event.key() == Qt.Key.Key_End:
            self.jump_to_end()
        elif not scroll_by_key(self.verticalScrollBar(), event.key(), _STEP):
            event.ignore()

    def focusNextPrevChild(self, next: bool) -> bool:
        shown = [widget for widget in self._rows.widgets.values() if widget.isVisible()]
        rows = sorted(shown, key=lambda widget: widget.y())
        return focus_next(self, rows, is_forward=next)

    def _set_up(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().setSingleStep(_STEP)
        self.viewport().setAutoFillBackground(False)
        self._model.modelReset.connect(self._on_reset)
        self._model.rowsInserted.connect(self._on_inserted)
        self._model.rowsAboutToBeRemoved.connect(self._on_about_to_be_removed)
        self._model.rowsRemoved.connect(self._on_removed)
        self._model.dataChanged.connect(self._on_data_changed)
        self.spares.height_changed.connect(self.remeasure)
        self.spares.asked.connect(self.asked)
        self.spares.edit_accepted.connect(self.edit_accepted)
        self.spares.version_requested.connect(self._on_version_requested)
        self._owner.dragged.connect(self._on_dragged)
        self._looks.changed.connect(self._on_look_changed)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    def _make_widget(self, item: MessageItem) -> MessageWidget:
        self._has_unstyled |= not self._is_shown
        widget = self.spares.take(item)
        self.widget_made.emit(item.id)
        return widget

    def _column(self) -> tuple[int, int]:
        """Left edge and width of the messages."""
        room = self.viewport().width() - 2 * _SIDE
        width = max(1, min(room, round(LAYOUT["prose_max"] * max(1.0, self._looks.look.zoom))))
        return (self.viewport().width() - width) // 2, width

    def _anchor(self) -> Anchor | None:
        value, height = self.verticalScrollBar().value(), self.viewport().height()
        return find_anchor(self._model, self._rows, value, height, self._in_sight)

    def _arrange(self, anchor: Anchor | None) -> None:
        height = self.viewport().height()
        bar = self.verticalScrollBar()
        self._is_arranging = True
        value = self._wanted_value(anchor)
        while self._rows.make_between(value, value + height):
            value = self._wanted_value(anchor)
        bar.setRange(0, self._maximum())
        bar.setValue(value)
        self._show_bar(is_shown=bar.maximum() > 0)
        self._is_arranging = False
        self._rows.place(self._column()[0], bar.value(), height)
        self._in_sight = self._rows.in_sight(height)
        self._mark_newest()
        self._ahead.start()

    def _show_bar(self, *, is_shown: bool) -> None:
        """Show the bar or keep its place free, so that the messages never change their width for it."""
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if is_shown else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if policy != self.verticalScrollBarPolicy():
            self.setViewportMargins(0, 0, 0 if is_shown else self.verticalScrollBar().sizeHint().width(), 0)
            self.setVerticalScrollBarPolicy(policy)

    def _maximum(self) -> int:
        return max(0, self._rows.heights.total + _BELOW - self.viewport().height())

    def _wanted_value(self, anchor: Anchor | None) -> int:
        row = self._model.row_of(anchor.message_id) if anchor is not None else None
        if self._follows:
            value = self._maximum()
        elif anchor is not None and row is not None:
            value = self._rows.heights.top(row) + anchor.offset
        else:
            value = self.verticalScrollBar().value()
        return max(0, min(value, self._maximum()))

    def _make_ahead(self) -> None:
        """Make one widget just outside the view, so that scrolling finds it ready."""
        height, value = self.viewport().height(), self.verticalScrollBar().value()
        if not self.isVisible():
            return
        anchor = self._anchor()
        row = self._rows.next_missing(value, height)
        if row is not None:
            self._rows.make(row)
            self._arrange(anchor)

    def _mark_newest(self) -> None:
        last = self._model.rowCount() - 1
        newest = self._rows.widgets.get(self._model.item_id(last)) if last >= 0 else None
        self._newest.mark(newest, self._rows.widgets)

    def _set_follows(self, *, follows: bool) -> None:
        if follows != self._follows:
            self._follows = follows
            self.follows_changed.emit(follows)

    def _on_reset(self) -> None:
        self._is_arranging = True
        self._rows.reset()
        self._is_arranging = False
        self._newest.forget()
        self._set_follows(follows=True)
        self._arrange(None)

    def _on_inserted(self, parent: QModelIndex, first: int, last: int) -> None:  # noqa: ARG002 Qt's signature
        anchor = self._anchor()
        for row in range(first, last + 1):
            self._rows.insert(row)
        self._arrange(anchor)

    def _on_about_to_be_removed(self, parent: QModelIndex, first: int, last: int) -> None:  # noqa: ARG002
        self._is_arranging = True
        for row in range(last, first - 1, -1):
            self._rows.remove(row)
        self._is_arranging = False

    def _on_removed(self) -> None:
        self._arrange(self._anchor())

    def _on_data_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        anchor = self._anchor()
        self._is_arranging = True
        for row in range(first.row(), last.row() + 1):
            self._rows.change(row)
        self._is_arranging = False
        self._arrange(anchor)

    def _on_look_changed(self) -> None:
        anchor = self._anchor()
        self._newest.forget()
        self.spares.drop()
        self.spares.prepare()
        self._is_arranging = True
        self._rows.change_look()
        self._is_arranging = False
        self._rows.set_width(self._column()[1])
        self._arrange(anchor)

    def _on_dragged(self, global_point: QPoint) -> None:
        scroll_after(self.verticalScrollBar(), self.viewport(), global_point)

    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:  # noqa: ARG002 Qt's signature
        """Bring a control that got the focus by the keyboard into sight."""
        if new is not None and not self._is_arranging and self.viewport().isAncestorOf(new):
            bring_into_sight(self.verticalScrollBar(), self.viewport(), new, _BELOW)
