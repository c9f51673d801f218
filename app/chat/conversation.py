"""A conversation and its messages, as facts."""

from dataclasses import dataclass, field
from enum import StrEnum

from app.engine.protocol import ChatMessage, Timings


class MessageState(StrEnum):
    """How far a message came.

    `PARTIAL`: being written, or its writer died; what is there was saved on the way.
    """

    COMPLETE = "complete"
    PARTIAL = "partial"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        parent_id: The message before it; None for the first. Two messages with one parent are two versions.
        role: `system`, `user` or `assistant`.
        content: What is shown as the message; neither reasoning nor its tags.
        finish_reason: As the engine says (`app/engine/protocol.py`); None unless an engine finished it.
        created_at: Seconds since 1970, UTC; updated_at likewise.
    """

    id: int
    parent_id: int | None
    role: str
    content: str
    reasoning: str = ""
    state: MessageState = MessageState.COMPLETE
    finish_reason: str | None = None
    timings: Timings = field(default_factory=Timings)
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with all its messages, oldest first.

    Attributes:
        title: None until someone gives one.
        end_id: Last message of the version shown; None, or one that is gone, for the newest message.
    """

    id: int
    title: str | None
    created_at: float
    updated_at: float
    messages: tuple[Message, ...] = ()
    end_id: int | None = None

    def line(self) -> tuple[Message, ...]:
        """Return the messages from the first to the last of the version shown, along the parents."""
        by_id = {message.id: message for message in self.messages}
        line: list[Message] = []
        newest = self.messages[-1] if self.messages else None
        message = newest if self.end_id is None else by_id.get(self.end_id, newest)
        while message is not None:
            line.append(message)
            parent_id = message.parent_id
            # a parent is always older; anything else is damage, and must not loop
            message = by_id.get(parent_id) if parent_id is not None and parent_id < message.id else None
        return tuple(reversed(line))


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A row of the list of conversations.

    Attributes:
        title: The given title, else the beginning of the first question; None without either.
    """

    id: int
    title: str | None
    message_count: int
    updated_at: float


def history_for_prompt(conversation: Conversation) -> tuple[ChatMessage, ...]:
    """Return what the engine reads: contents only, without reasoning, no empty message.

    Neighbours of one role, left over when an answer failed, become one: many templates refuse them apart.
    """
    history: list[ChatMessage] = []
    for message in conversation.line():
        if not message.content.strip():
            continue
        if history and history[-1].role == message.role:
            content = f"{history.pop().content}\n\n{message.content}"
        else:
            content = message.content
        history.append(ChatMessage(message.role, content))
    return tuple(history)


def storable(text: str) -> str:
    """Return `text` with lone surrogates replaced, as UTF-8 cannot carry them; everything else is kept."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
