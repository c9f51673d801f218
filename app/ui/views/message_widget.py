"""One message on the screen."""

from typing import Any, Final

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication
from PySide6.QtWidgets import QApplication

from app.chat.reasoning import PieceKind
from app.ui.markdown.part import Part, stack
from app.ui.markdown.parts import PartEvents
from app.ui.markdown.selection import SelectionOwner
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.answer_body import AnswerBody
from app.ui.views.chat_items import MessageItem
from app.ui.views.message_editor import MessageEditor
from app.ui.views.message_failure import MessageFailure
from app.ui.views.message_foot import MessageFoot
from app.ui.views.reasoning_fold import ReasoningFold
from app.ui.views.user_bubble import UserBubble

_ABOVE: Final = 14
_GAP: Final = 10
_BELOW: Final = 6
_SPOKEN: Final = 300
"""Characters of a message that its accessible name holds."""


class MessageWidget(Part):
    """Shows one `MessageItem` and asks for what its buttons say.

    Signals:
        height_changed: `fit` gives another height now.
        asked: `stop`, `continue`, `delete`, `details`, `report` or a `WayOut`.
        edit_accepted: the person's new text.
        version_requested: -1 for the version before, 1 for the next.
    """

    height_changed = Signal()
    asked = Signal(str)
    edit_accepted = Signal(str)
    version_requested = Signal(int)

    def __init__(
        self, looks: LookSource, owner: SelectionOwner, events: PartEvents, item: MessageItem
    ) -> None:
        super().__init__()
        self._looks = looks
        self._owner = owner
        self._events = events
        self._item = item
        self._bubble: UserBubble | None = None
        self._body: AnswerBody | None = None
        self._fold: ReasoningFold | None = None
        self._failure: MessageFailure | None = None
        self._view: ModelView | None = None
        self._editor: MessageEditor | None = None
        self._foot = MessageFoot(looks, self)
        self._foot.action_requested.connect(self._on_action)
        self._foot.version_requested.connect(self.version_requested)
        if item.is_user:
            self._bubble = UserBubble(looks, owner, events, self)
            self._bubble.height_changed.connect(self.height_changed)
        else:
            self._body = AnswerBody(looks, owner, events, self)
            self._body.height_changed.connect(self.height_changed)
        self.show_item(item)

    @property
    def item(self) -> MessageItem:
        """What is shown; the text of a streaming answer is not kept up to date here."""
        return self._item

    @property
    def draft(self) -> str | None:
        """What is written in the editor; None when the message is not being changed."""
        return self._editor.text if self._editor is not None else None

    @property
    def is_reasoning_open(self) -> bool:
        """The thoughts are unfolded."""
        return self._fold is not None and self._fold.is_open

    @property
    def is_building(self) -> bool:
        """Part of the text is not drawn yet, so the height will change."""
        return self._body is not None and self._body.is_building

    @property
    def foot(self) -> MessageFoot:
        """The line of figures and actions."""
        return self._foot

    def show_item(self, item: MessageItem) -> None:
        """Show another state of the same message."""
        self._item = item
        look = self._looks.look
        key = "ui.chat.from_you" if item.is_user else "ui.chat.from_model"
        self.setAccessibleName(look.text(key, text=item.text[:_SPOKEN]))
        if self._bubble is not None:
            self._bubble.show_text(item.text)
        if self._body is not None:
            self._show_reasoning(item)
            self._show_answer(self._body, item)
            self._show_failure(item)
        self._foot.show_item(item)
        self.height_changed.emit()

    def show_view(self, view: ModelView | None) -> None:
        """Take the state of the model: it decides what leads on after a failure. None for older messages."""
        self._view = view
        if self._failure is not None:
            self._failure.show_view(view)
            self.height_changed.emit()

    def add_piece(self, kind: PieceKind, text: str, seconds: float | None) -> None:
        """Add streamed text; `seconds` is how long the model has thought."""
        if self._body is None:
            return
        if kind is PieceKind.REASONING:
            self._need_fold().append(text)
            return
        if self._fold is not None:
            self._fold.end_thinking(seconds)
        self._body.append(text)

    @property
    def is_in_use(self) -> bool:
        """The keyboard is in it, or it holds what would be lost: it must not go away."""
        return self._editor is not None or self.has_keyboard

    @property
    def has_keyboard(self) -> bool:
        """Something in it has the focus."""
        focus = QApplication.focusWidget()
        return focus is not None and (focus is self or self.isAncestorOf(focus))

    def leave_selection(self) -> None:
        """Hold no selected text any more, before it goes away."""
        bodies: list[Any] = list(self.findChildren(AnswerBody))
        for body in bodies:
            self._owner.forget(body.selection)

    def open_reasoning(self) -> None:
        """Unfold the thoughts, if there are any."""
        if self._fold is not None:
            self._fold.set_open(is_open=True)

    def start_edit(self, text: str | None = None) -> None:
        """Put an editor in the bubble's place, holding `text` or what was written."""
        if self._bubble is None or self._editor is not None:
            return
        self._editor = MessageEditor(self._looks, self._item.text if text is None else text, self)
        self._editor.accepted.connect(self._on_edit_accepted)
        self._editor.cancelled.connect(self._end_edit)
        self._editor.height_changed.connect(self.height_changed)
        self._editor.show()
        self._bubble.hide()
        self._foot.hide()
        self.height_changed.emit()
        self._editor.start()

    def fit(self, width: int) -> int:
        y = _ABOVE
        if self._bubble is not None and self._editor is None:
            y += self._fit_bubble(self._bubble, width)
        else:
            y = stack(((part, _GAP, 0) for part in self._parts()), width, top=y)
        height = y + _BELOW
        self.resize(width, height)
        return height

    def _fit_bubble(self, bubble: UserBubble, width: int) -> int:
        """Place the bubble on the right and its actions beside its foot."""
        height = bubble.fit(max(80, width - self._foot.actions_width - _GAP))
        bubble.move(width - bubble.width(), _ABOVE)
        foot_width = width - bubble.width() - _GAP
        foot_height = self._foot.fit(foot_width)
        self._foot.move(0, _ABOVE + height - foot_height)
        return height

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._foot.set_hovered(is_hovered=True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._foot.set_hovered(is_hovered=False)

    def _parts(self) -> list[Part]:
        if self._editor is not None:
            return [self._editor]
        found = (self._bubble, self._fold, self._body, self._failure, self._foot)
        return [part for part in found if part is not None and not (part is self._body and self._is_silent())]

    def _is_silent(self) -> bool:
        """An answer of which nothing came takes no room, unless it is about to come."""
        return not self._item.text and not self._item.is_streaming

    def _show_reasoning(self, item: MessageItem) -> None:
        if not item.reasoning:
            if self._fold is not None:
                self._fold.hide()
                self._fold.deleteLater()
                self._fold = None
            return
        fold = self._need_fold()
        if item.is_streaming and not item.text:
            fold.start_stream(item.reasoning)
        else:
            fold.show_reasoning(item.reasoning, item.reasoning_seconds)

    def _need_fold(self) -> ReasoningFold:
        if self._fold is None:
            self._fold = ReasoningFold(self._looks, self._owner, self._events, self)
            self._fold.height_changed.connect(self.height_changed)
            self._fold.start_stream("")
            self._fold.show()
        return self._fold

    def _show_answer(self, body: AnswerBody, item: MessageItem) -> None:
        body.setVisible(not self._is_silent())
        if item.is_streaming:
            body.start_stream(item.text)
        else:
            body.end_stream()
            body.show_markdown(item.text)

    def _show_failure(self, item: MessageItem) -> None:
        if self._failure is not None:
            self._failure.hide()
            self._failure.deleteLater()
            self._failure = None
        if item.failure is None:
            return
        self._failure = MessageFailure(self._looks, item.failure, self._view, self)
        self._failure.asked.connect(self.asked)
        self._failure.show()

    def _on_action(self, name: str) -> None:
        if name == "copy":
            QGuiApplication.clipboard().setText(self._item.text)
            self._events.copied.emit()
        elif name == "edit":
            self.start_edit()
        else:
            self.asked.emit(name)

    def _on_edit_accepted(self, text: str) -> None:
        self._end_edit()
        self.edit_accepted.emit(text)

    def _end_edit(self) -> None:
        if self._editor is None or self._bubble is None:
            return
        self._editor.hide()
        self._editor.deleteLater()
        self._editor = None
        self._bubble.show()
        self._foot.show()
        self.height_changed.emit()
