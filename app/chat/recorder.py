"""A conversation while it goes on: in memory, and in the store as long as that takes it."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

from app.chat.conversation import Conversation, Message, MessageState, storable
from app.chat.store import ConversationStore
from app.findings import FindingError


class ConversationRecorder:
    """Holds one conversation. What the store refuses is kept here and offered to it again at each save."""

    def __init__(self, store: ConversationStore | None, clock: Callable[[], float] = time.time) -> None:
        """Begin an empty conversation; the store hears of it with the first message.

        Args:
            store: None keeps it in memory only.
        """
        self._store = store
        self._clock = clock
        self._conversation = Conversation(0, None, clock(), clock())
        self._stored_id: int | None = None
        self._stored: list[Message] = []

    @property
    def conversation(self) -> Conversation:
        """The conversation as it is now; ids are its own, not the store's."""
        return self._conversation

    @property
    def conversation_id(self) -> int | None:
        """The store's id; None while it has none."""
        return self._stored_id

    def add(self, role: str, content: str = "", *, state: MessageState = MessageState.COMPLETE) -> Message:
        """Add a message after the newest one. Never fails: `save` tells when the store does."""
        messages = self._conversation.messages
        parent_id = messages[-1].id if messages else None
        now = self._clock()
        message = Message(
            len(messages) + 1, parent_id, role, storable(content), state=state, created_at=now, updated_at=now
        )
        self._conversation = replace(self._conversation, messages=(*messages, message), updated_at=now)
        with contextlib.suppress(FindingError):  # the answer's own save meets the same and says so
            self._store_missing()
        return message

    def save(self, message: Message) -> None:
        """Keep what `message` holds by now.

        Raises:
            FindingError: the store did not take it.
        """
        messages = tuple(
            message if known.id == message.id else known for known in self._conversation.messages
        )
        self._conversation = replace(self._conversation, messages=messages, updated_at=self._clock())
        self._store_missing()
        if self._store is not None:
            self._store.update(replace(message, id=self._stored[message.id - 1].id))

    def _store_missing(self) -> None:
        if self._store is None:
            return
        if self._stored_id is None:
            self._stored_id = self._store.create()
        for message in self._conversation.messages[len(self._stored) :]:
            stored = self._store.append(self._stored_id, message.role, message.content, state=message.state)
            self._stored.append(stored)
