"""What the chat view shows of a conversation, as facts."""

from dataclasses import dataclass

from app.chat.conversation import Message, MessageState
from app.chat.turn import TurnFigures
from app.findings import Finding


@dataclass(frozen=True, slots=True)
class MessageItem:
    """One message as the chat view shows it.

    Attributes:
        role: `user` or `assistant`.
        text: What was written; of an answer still streaming, what came so far.
        finish_reason: As the engine says (`app/engine/protocol.py`); None unless an engine finished it.
        figures: None for messages of the person, and for answers of which nothing is known.
        failure: Why `state` is `FAILED`; None for an answer that failed in an earlier run of the program.
        reasoning_seconds: How long the model thought; None when nobody measured it.
        version: Which of the versions in this place it is, from 1; `version_count` says how many there are.
    """

    id: int
    role: str
    text: str
    reasoning: str = ""
    state: MessageState = MessageState.COMPLETE
    finish_reason: str | None = None
    figures: TurnFigures | None = None
    is_streaming: bool = False
    failure: Finding | None = None
    reasoning_seconds: float | None = None
    version: int = 1
    version_count: int = 1

    @property
    def is_user(self) -> bool:
        """The person wrote it."""
        return self.role == "user"

    @property
    def can_continue(self) -> bool:
        """The answer ended before the model was done with it."""
        if self.is_user or self.is_streaming:
            return False
        return self.state is not MessageState.COMPLETE or self.finish_reason == "length"


def item_of(message: Message) -> MessageItem:
    """Return a stored message as it is shown; speeds are those the engine's record gives."""
    timings = message.timings
    known = (timings.prompt_tokens, timings.prompt_ms, timings.predicted_tokens, timings.predicted_ms)
    figures = None
    if message.role == "assistant" and any(value is not None for value in known):
        figures = TurnFigures(timings, None, timings.predicted_tokens_per_second)
    return MessageItem(
        id=message.id,
        role=message.role,
        text=message.content,
        reasoning=message.reasoning,
        state=message.state,
        finish_reason=message.finish_reason,
        figures=figures,
    )
