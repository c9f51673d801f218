"""The conversation: messages over each other, streamed text, and what can be done with each message."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.chat.reasoning import PieceKind
from app.ui.theme.look import LookSource
from app.ui.views.chat_items import MessageItem


class ChatView(QWidget):
    """Shows one conversation.

    Signals:
        regenerate_requested: id of the answer.
        edit_requested: id of the person's message, new text.
        delete_requested: id.
        continue_requested: id of the answer.
        stop_requested: the streaming answer is to end.
        reload_requested: the model is to be loaded again after a failure.
        details_requested: id of the failed answer.
        link_requested: an http, https or mailto address that was clicked.
        copy_done: something is in the clipboard now.
    """

    regenerate_requested = Signal(int)
    edit_requested = Signal(int, str)
    delete_requested = Signal(int)
    continue_requested = Signal(int)
    stop_requested = Signal()
    reload_requested = Signal()
    details_requested = Signal(int)
    link_requested = Signal(str)
    copy_done = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks

    def show_items(self, items: tuple[MessageItem, ...]) -> None:
        """Show another conversation, from its end."""

    def append_item(self, item: MessageItem) -> None:
        """Add a message; an answer comes with `is_streaming`, and its text follows in pieces."""

    def stream_text(self, message_id: int, kind: PieceKind, text: str) -> None:
        """Take a piece of a streaming answer; it is painted within 33 ms."""

    def finish_item(self, item: MessageItem) -> None:
        """Show a message in its final form: Markdown, figures, failure."""

    def remove_item(self, message_id: int) -> None:
        """Take a message out of the view."""

    def show_placeholder(self, widget: QWidget | None) -> None:
        """Show `widget` instead of messages; None shows the messages again."""
