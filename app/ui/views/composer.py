"""The box where the person writes."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource


class Composer(QWidget):
    """Text, send or stop, and how full the context is.

    Signals:
        send_requested: what was written, without blanks around it; the box is empty then.
        stop_requested: the running answer is to end.
        text_edited: the text is another one now.
    """

    send_requested = Signal(str)
    stop_requested = Signal()
    text_edited = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks

    def show_view(self, view: ModelView) -> None:
        """Take the state of the model: what the button does and what the empty box says."""

    def set_context_use(self, used_tokens: int | None, total_tokens: int | None) -> None:
        """Show how full the context is; None where it is not known."""

    def set_last_message(self, text: str) -> None:
        """Take what Up in the empty box brings back."""

    def set_text(self, text: str) -> None:
        """Replace what is written."""

    def text(self) -> str:
        """Return what is written."""
        return ""
