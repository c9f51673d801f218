"""Writes one conversation that is held elsewhere; what the store refuses is offered to it again."""

from collections.abc import Callable
from dataclasses import replace

from app.chat.conversation import Conversation, Message
from app.chat.store import ConversationStore


class ConversationWriter:
    """Keeps the store in step with a conversation. One thread, the store's.

    Messages come with the ids of whoever holds the conversation; the store's own stay in here.
    Every method raises `FindingError` as the store does; what it did not take is kept and goes first
    the next time.
    """

    def __init__(
        self, store: Callable[[], ConversationStore], conversation: Conversation | None = None
    ) -> None:
        """Begin.

        Args:
            store: Returns the open store, or raises `FindingError`.
            conversation: One the store has, with the store's ids; None for a new one, of which the
                store hears with the first message.
        """
        self._store = store
        self._conversation_id = conversation.id if conversation is not None else None
        self._ids = {message.id: message.id for message in conversation.messages} if conversation else {}
        self._unsaved: dict[int, Message] = {}
        self._followers: dict[int, tuple[int, ...]] = {}
        self._is_gone = False

    def put(self, message: Message) -> int:
        """Save what `message` holds by now and return the conversation's id in the store."""
        self._unsaved[message.id] = message
        store = self._store()
        if self._conversation_id is None:
            self._conversation_id = store.create()
        self._bring_back(store, self._conversation_id)
        for unsaved in tuple(self._unsaved.values()):
            self._write(store, self._conversation_id, unsaved)
            del self._unsaved[unsaved.id]
        return self._conversation_id

    def delete(self, message_id: int) -> bool:
        """Take a message out; say whether the conversation went, too: nothing is left that could be read.

        The next message brings it back.
        """
        self._unsaved.pop(message_id, None)
        stored_id = self._ids.get(message_id)
        if stored_id is not None:
            self._followers[message_id] = self._store().delete_message(stored_id)
        if self._conversation_id is not None and not self._is_gone:
            self._is_gone = self._store().delete_if_empty(self._conversation_id)
        return self._is_gone

    def restore(self, message: Message) -> int:
        """Undo `delete` and return the conversation's id in the store."""
        stored_id = self._ids.get(message.id)
        if stored_id is None or self._conversation_id is None:
            return self.put(message)
        stored = replace(message, id=stored_id, parent_id=self._parent_id(message))
        followers = self._followers.pop(message.id, ())
        store = self._store()
        self._bring_back(store, self._conversation_id)
        store.restore_message(self._conversation_id, stored, followers)
        return self._conversation_id

    def set_end(self, message_id: int | None) -> None:
        """Keep which version is shown: the one that ends with this message, or the newest."""
        if self._conversation_id is not None:
            stored_id = None if message_id is None else self._ids.get(message_id)
            self._store().set_end(self._conversation_id, stored_id)

    def _bring_back(self, store: ConversationStore, conversation_id: int) -> None:
        if self._is_gone:
            store.restore(conversation_id)
            self._is_gone = False

    def _write(self, store: ConversationStore, conversation_id: int, message: Message) -> None:
        stored_id = self._ids.get(message.id)
        if stored_id is None:
            parent_id = self._parent_id(message)
            stored = store.append(
                conversation_id,
                message.role,
                message.content,
                parent_id=parent_id,
                is_first=parent_id is None,
                state=message.state,
            )
            stored_id = self._ids[message.id] = stored.id
            if not (message.reasoning or message.finish_reason or message.timings != stored.timings):
                return
        store.update(replace(message, id=stored_id))

    def _parent_id(self, message: Message) -> int | None:
        return None if message.parent_id is None else self._ids.get(message.parent_id)
