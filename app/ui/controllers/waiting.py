"""What becomes of a message the model cannot answer just now. No Qt."""

from dataclasses import dataclass
from typing import Final

from app.chat.conversation import Message
from app.ui.controllers.live_chat import LiveChat
from app.ui.model_view import ModelPhase, ModelView

_WAITS: Final = frozenset(
    {ModelPhase.LOADING, ModelPhase.WARMING, ModelPhase.GENERATING, ModelPhase.STOPPING}
)
_IN_VAIN: Final = frozenset({ModelPhase.NONE, ModelPhase.CHECKING, ModelPhase.PLANNED, ModelPhase.FAILED})
_HINTS: Final = {
    ModelPhase.NONE: "ui.chat.hint.no_model",
    ModelPhase.CHECKING: "ui.chat.hint.not_loaded",
    ModelPhase.PLANNED: "ui.chat.hint.not_loaded",
    ModelPhase.FAILED: "ui.chat.hint.failed",
    ModelPhase.UNLOADING: "ui.chat.hint.unloading",
}
_BUSY: Final = "ui.chat.hint.busy"


@dataclass(frozen=True, slots=True)
class WaitingQuestion:
    """A question that is in its chat already, and waits for the model."""

    chat: LiveChat
    message_id: int
    text: str


class WaitingQuestions:
    """Questions in the order they came. Those of one chat are answered together."""

    def __init__(self) -> None:
        self._questions: list[WaitingQuestion] = []

    @property
    def chats(self) -> tuple[LiveChat, ...]:
        """Where questions wait."""
        return tuple(question.chat for question in self._questions)

    def add(self, chat: LiveChat, message: Message) -> None:
        """Let a question wait."""
        self._questions.append(WaitingQuestion(chat, message.id, message.content))

    def text_in(self, chat: LiveChat) -> str | None:
        """Return what waits in a chat; None when nothing does."""
        return "\n\n".join(q.text for q in self._questions if q.chat is chat) or None

    def take_next(self) -> WaitingQuestion | None:
        """Return the newest question of the chat that waits longest; nothing waits there any more."""
        if not self._questions:
            return None
        return self.take(self._questions[0].chat)[-1]

    def take(self, chat: LiveChat) -> tuple[WaitingQuestion, ...]:
        """Return the questions of a chat, which wait no more."""
        taken = tuple(question for question in self._questions if question.chat is chat)
        self._questions = [question for question in self._questions if question.chat is not chat]
        return taken

    def forget(self, message_id: int) -> None:
        """Let a question wait no more."""
        self._questions = [q for q in self._questions if q.message_id != message_id]

    def move_from(self, others: "WaitingQuestions") -> None:
        """Take over all of another's."""
        self._questions += others._questions
        others._questions = []


def can_wait(view: ModelView) -> bool:
    """Say whether the model will be ready without anything more being done."""
    return view.phase in _WAITS


def waits_in_vain(view: ModelView) -> bool:
    """Say whether the model will not be ready by itself; unloading may be half a reload."""
    return view.phase in _IN_VAIN


def hint_for(view: ModelView) -> str:
    """Return the key of the sentence that says why nothing is answered, and what helps."""
    if view.phase is ModelPhase.FAILED and view.plan is None:
        return _HINTS[ModelPhase.NONE]
    return _HINTS.get(view.phase, _BUSY)
