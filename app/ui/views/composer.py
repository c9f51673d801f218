"""The box where the person writes."""

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.theme.tokens import LAYOUT
from app.ui.views.message_box import MessageBox
from app.ui.views.round_button import RoundButton
from app.ui.widgets.context_meter import ContextMeter
from app.ui.widgets.layouts import column, row

_OUTSIDE: Final = 16
"""How far the box stands out beside the messages on each side."""


class Composer(QWidget):
    """Text, send or stop, and how full the context is.

    Signals:
        send_requested: what was written, without blanks around it; the box is empty then.
        send_refused: something was written that cannot be sent now; it stays in the box.
        stop_requested: the running answer is to end.
        text_edited: the text is another one now.
    """

    send_requested = Signal(str)
    send_refused = Signal()
    stop_requested = Signal()
    text_edited = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._last_message = ""
        self._frame = _Card()
        self._box = MessageBox(looks)
        self._meter = ContextMeter(looks)
        self._send = RoundButton(looks)
        tools = row(None, self._meter, self._send, gap=8)
        self._frame.setLayout(column(self._box, tools, gap=4, margins=(14, 10, 10, 10)))
        centred = QHBoxLayout(self)
        centred.setContentsMargins(0, 0, 0, 0)
        centred.addWidget(self._frame)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setFocusProxy(self._box)
        self._box.submitted.connect(self._on_submitted)
        self._box.recall_requested.connect(self._on_recall_requested)
        self._box.escaped.connect(self._on_escaped)
        self._box.focus_changed.connect(self._on_focus_changed)
        self._box.textChanged.connect(self._on_text_changed)
        self._frame.pressed.connect(self._box.setFocus)
        self._send.clicked.connect(self._on_button)
        looks.changed.connect(self._on_look_changed)
        self._on_look_changed()

    @property
    def box(self) -> MessageBox:
        """Where the text is written."""
        return self._box

    @property
    def button(self) -> RoundButton:
        """Send, or Stop while the model answers."""
        return self._send

    def show_view(self, view: ModelView) -> None:
        """Take the state of the model: what the button does and what the empty box says."""
        self._view = view
        self._show_state()

    def set_context_use(self, used_tokens: int | None, total_tokens: int | None) -> None:
        """Show how full the context is; None where it is not known."""
        self._meter.show_use(used_tokens, total_tokens)

    def set_last_message(self, text: str) -> None:
        """Take what Up in the empty box brings back; sending sets it too."""
        self._last_message = text

    def set_text(self, text: str) -> None:
        """Replace what is written."""
        self._box.setPlainText(text)
        self._box.moveCursor(self._box.textCursor().MoveOperation.End)

    def text(self) -> str:
        """Return what is written."""
        return self._box.toPlainText()

    def _on_submitted(self) -> None:
        text = self.text().strip()
        if not text:
            return
        if not (self._view.can_send or self._view.can_queue):
            self.send_refused.emit()
            return
        self._last_message = text
        self._box.clear()
        self.send_requested.emit(text)

    def _on_button(self) -> None:
        if self._view.phase is ModelPhase.GENERATING:
            self.stop_requested.emit()
        else:
            self._on_submitted()
        self._box.setFocus()

    def _on_escaped(self) -> None:
        if self._view.can_stop:
            self.stop_requested.emit()

    def _on_recall_requested(self) -> None:
        if self._last_message:
            self._box.replace_text(self._last_message)

    def _on_text_changed(self) -> None:
        self._show_state()
        self.text_edited.emit()

    def _on_focus_changed(self, has_focus: bool) -> None:
        self._frame.setProperty("focused", has_focus)
        restyle(self._frame)

    def _on_look_changed(self) -> None:
        look = self._looks.look
        self._frame.setMaximumWidth(round(LAYOUT["prose_max"] * max(1.0, look.zoom)) + 2 * _OUTSIDE)
        self._box.setAccessibleName(look.text("ui.composer.name"))
        self._show_state()

    def _show_state(self) -> None:
        look, view = self._looks.look, self._view
        self._box.setPlaceholderText(look.text(f"ui.composer.{_placeholder(view)}"))
        self._box.viewport().update()  # Qt repaints a placeholder when it comes or goes, not when it changes
        if view.phase in (ModelPhase.GENERATING, ModelPhase.STOPPING):
            is_stopping = view.phase is ModelPhase.STOPPING
            words = look.text("ui.composer.stopping" if is_stopping else "ui.composer.stop")
            self._send.show_action("stop", "secondary", words, look.text("ui.key.escape"))
            self._send.setEnabled(not is_stopping)
            return
        words = look.text(f"ui.composer.{_button(view)}")
        self._send.show_action("send", "primary", words, look.text("ui.key.enter"))
        # a character that is not white space, found without copying the text each time a key is pressed
        self._send.setEnabled((view.can_send or view.can_queue) and self._box.has_words())

    def sizeHint(self) -> QSize:
        return QSize(LAYOUT["prose_max"], super().sizeHint().height())


class _Card(QFrame):
    """The raised ground; a click on it means the box."""

    pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("surface", "composer")
        self.setProperty("focused", False)
        self.setCursor(Qt.CursorShape.IBeamCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self.pressed.emit()


def _button(view: ModelView) -> str:
    if view.loads_for_message:
        return "load_and_send"
    return "queue" if view.can_queue else "send"


def _placeholder(view: ModelView) -> str:
    if view.loads_for_message:
        return "planned"
    match view.phase:
        case ModelPhase.NONE | ModelPhase.CHECKING:
            return "no_model"
        case ModelPhase.LOADING | ModelPhase.WARMING:
            return "loading"
        case ModelPhase.READY:
            return "ready"
        case ModelPhase.GENERATING | ModelPhase.STOPPING:
            return "generating"
    is_known = view.facts is not None and view.phase in (ModelPhase.PLANNED, ModelPhase.FAILED)
    return "unloadable" if is_known and view.plan is None else "not_loaded"
