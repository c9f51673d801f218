"""The conversation: messages over each other, streamed text, and what can be done with each message."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.chat.reasoning import PieceKind
from app.findings import Finding
from app.ui.markdown.parts import PartEvents
from app.ui.markdown.selection import SelectionOwner
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_model import ChatModel
from app.ui.views.message_list import MessageList
from app.ui.views.ways_out import WayOut
from app.ui.widgets.buttons import Button

PAINT_INTERVAL_MS: Final = 33


class ChatView(QWidget):
    """Shows one conversation.

    Signals:
        regenerate_requested: id of the answer.
        edit_requested: id of the person's message, new text.
        delete_requested: id.
        version_requested: id, -1 for the version before it, 1 for the next.
        continue_requested: id of the answer.
        stop_requested: the streaming answer is to end.
        reload_requested: the model is to be loaded again after a failure.
        step_requested: it is to be loaded with the safer plan.
        pick_requested: another model is to be chosen.
        details_requested: id of the failed answer whose report is to be shown.
        report_requested: id of the failed answer whose report is to be copied.
        link_requested: an http, https or mailto address that was clicked.
        copy_done: something is in the clipboard now.
    """

    regenerate_requested = Signal(int)
    edit_requested = Signal(int, str)
    delete_requested = Signal(int)
    version_requested = Signal(int, int)
    continue_requested = Signal(int)
    stop_requested = Signal()
    reload_requested = Signal()
    step_requested = Signal()
    pick_requested = Signal()
    details_requested = Signal(int)
    report_requested = Signal(int)
    link_requested = Signal(str)
    copy_done = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._model = ChatModel()
        self._owner = SelectionOwner()
        self._events = PartEvents()
        self._list = MessageList(looks, self._model, self._owner, self._events)
        self._placeholder: QWidget | None = None
        self._pending: list[tuple[int, PieceKind, str]] = []
        self._timer = QTimer(self, interval=PAINT_INTERVAL_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.paint_now)
        self._jump = Button(looks, "secondary", "down", size="compact")
        self._jump.setParent(self)
        self._jump.hide()
        self._stack = QStackedLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self._list)
        self.setFocusProxy(self._list)
        self._connect()
        self._set_texts()

    @property
    def model(self) -> ChatModel:
        """The messages that are shown."""
        return self._model

    @property
    def jump_button(self) -> Button:
        """Leads back to the end."""
        return self._jump

    @property
    def message_list(self) -> MessageList:
        """The scrolled part."""
        return self._list

    @property
    def newest_failure(self) -> Finding | None:
        """Why the newest answer broke off, as its card says; None when it did not."""
        last = self._model.rowCount() - 1
        return self._model.failure_of(last) if last >= 0 else None

    def show_view(self, view: ModelView) -> None:
        """Take the state of the model: it decides what leads on after a failure."""
        self._list.show_view(view)

    def show_items(self, items: tuple[MessageItem, ...]) -> None:
        """Show another conversation, from its end."""
        self._pending.clear()
        self._timer.stop()
        self._model.set_items(items)

    def append_item(self, item: MessageItem) -> None:
        """Add a message; an answer comes with `is_streaming`, and its text follows in pieces."""
        if item.is_user:
            self._list.jump_to_end()  # who asks wants to see the answer
        self._model.append(item)

    def stream_text(self, message_id: int, kind: PieceKind, text: str) -> None:
        """Take a piece of a streaming answer; it is painted within 33 ms."""
        if not self._model.add_piece(message_id, kind, text):
            return
        self._pending.append((message_id, kind, text))
        if not self._timer.isActive():
            self._timer.start()

    def paint_now(self) -> None:
        """Put what came since the last time on the screen. Rests when nothing came, and while hidden."""
        if not self._pending or not self._list.isVisible():
            self._timer.stop()
            return
        pending, self._pending = self._pending, []
        touched: set[int] = set()
        for message_id, kind, text in _joined(pending):
            widget = self._list.widgets.get(message_id)
            if widget is None:
                continue  # far from what is seen: the model has it
            if kind is PieceKind.MOVED:
                row = self._model.row_of(message_id)
                if row is not None:
                    widget.show_item(self._model.item(row))
                    touched.add(message_id)
                    break  # the model is ahead of the rest, which is in it too
            else:
                widget.add_piece(kind, text, self._model.thinking_seconds(message_id))
            touched.add(message_id)
        for message_id in touched:
            self._list.remeasure(message_id)

    def finish_item(self, item: MessageItem) -> None:
        """Show a message in its final form: Markdown, figures, failure."""
        self._forget_pending(item.id)
        self._model.replace_item(item)

    def remove_item(self, message_id: int) -> None:
        """Take a message out of the view."""
        self._forget_pending(message_id)
        self._model.remove(message_id)

    def show_placeholder(self, widget: QWidget | None) -> None:
        """Show `widget` instead of messages; None shows the messages again."""
        if self._placeholder is not None and self._placeholder is not widget:
            self._stack.removeWidget(self._placeholder)
            self._placeholder.hide()
            self._placeholder.setParent(None)
        self._placeholder = widget
        if widget is not None and self._stack.indexOf(widget) < 0:
            self._stack.addWidget(widget)
        self._stack.setCurrentWidget(self._list if widget is None else widget)
        self._show_jump()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._pending:
            self._timer.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_jump()

    def _connect(self) -> None:
        self._looks.changed.connect(self._set_texts)
        self._events.link_clicked.connect(self.link_requested)
        self._events.copied.connect(self.copy_done)
        self._owner.copied.connect(self.copy_done)
        self._list.asked.connect(self._on_asked)
        self._list.edit_accepted.connect(self.edit_requested)
        self._list.version_requested.connect(self.version_requested)
        self._list.widget_made.connect(self._forget_pending)
        self._list.follows_changed.connect(self._show_jump)
        self._jump.clicked.connect(self._on_jump)

    def _set_texts(self) -> None:
        look = self._looks.look
        self._jump.setText(look.text("ui.chat.jump_to_end"))
        self._jump.setAccessibleName(look.text("ui.chat.jump_to_end"))
        self._list.setAccessibleName(look.text("ui.chat.messages"))
        self._place_jump()

    def _forget_pending(self, message_id: int) -> None:
        """Leave out what is on the screen already, as it was drawn from the model."""
        self._pending = [piece for piece in self._pending if piece[0] != message_id]

    def _on_asked(self, message_id: int, what: str) -> None:
        by_id: dict[str, Callable[[int], None]] = {
            WayOut.AGAIN: self.regenerate_requested.emit,
            "delete": self.delete_requested.emit,
            "continue": self.continue_requested.emit,
            "details": self.details_requested.emit,
            "report": self.report_requested.emit,
        }
        for_all: dict[str, Callable[[], None]] = {
            "stop": self.stop_requested.emit,
            WayOut.RELOAD: self.reload_requested.emit,
            WayOut.STEP: self.step_requested.emit,
            WayOut.OTHER: self.pick_requested.emit,
        }
        if what in by_id:
            by_id[what](message_id)
        else:
            for_all[what]()

    def _on_jump(self) -> None:
        self._list.jump_to_end()
        self._list.setFocus()

    def _show_jump(self) -> None:
        is_needed = not self._list.follows and self._placeholder is None
        self._jump.setVisible(is_needed)
        if is_needed:
            self._place_jump()
            self._jump.raise_()

    def _place_jump(self) -> None:
        self._jump.adjustSize()
        size = self._jump.size()
        self._jump.move((self.width() - size.width()) // 2, self.height() - size.height() - 12)


def _joined(pieces: list[tuple[int, PieceKind, str]]) -> list[tuple[int, PieceKind, str]]:
    """Return neighbours of one message and kind as one piece."""
    result: list[tuple[int, PieceKind, list[str]]] = []
    for message_id, kind, text in pieces:
        if result and result[-1][:2] == (message_id, kind):
            result[-1][2].append(text)
        else:
            result.append((message_id, kind, [text]))
    return [(message_id, kind, "".join(texts)) for message_id, kind, texts in result]
