"""A conversation in the window's memory: what is shown, and what the engine is told. No Qt."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.chat.conversation import Conversation, Message, MessageState, history_for_prompt, storable
from app.chat.turn import TurnFigures
from app.chat.writer import ConversationWriter
from app.engine.protocol import ChatMessage, Timings
from app.findings import Finding
from app.ui.views.chat_items import MessageItem, item_of

FIRST_NEW_ID: Final = 1_000_000_000
"""Ids of messages made in this window, above any the store gives; Qt's `int` ends at twice that."""


_Place = tuple[int | None, str]
"""The message before and the role: two messages of one place are two versions."""


@dataclass(frozen=True, slots=True)
class RemovedMessage:
    """A message that was taken out, those that had followed it, and which version was shown."""

    message: Message
    followers: tuple[int, ...]
    end_id: int | None = None


class LiveChat:
    """One conversation. GUI thread; only `writer` belongs to the store's thread.

    Attributes:
        stored_id: The store's id; None until it has one.
    """

    def __init__(
        self,
        writer: ConversationWriter,
        new_ids: Iterator[int],
        conversation: Conversation | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begin an empty conversation, or go on with a stored one.

        Args:
            new_ids: Ids from `FIRST_NEW_ID` up, none of them given twice in this window.
        """
        self.writer = writer
        self.stored_id = conversation.id if conversation is not None else None
        self._clock = clock
        self._messages = {message.id: message for message in conversation.messages} if conversation else {}
        self._end_id = conversation.end_id if conversation is not None else None
        self._new_ids = new_ids
        self._figures: dict[int, TurnFigures] = {}
        self._failures: dict[int, Finding] = {}
        self._removed: dict[int, Message] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing was said yet."""
        return not self._messages

    def message(self, message_id: int) -> Message | None:
        """Return a message; None when it is not of this chat."""
        return self._messages.get(message_id)

    def line(self, end_id: int | None = None) -> tuple[Message, ...]:
        """Return the messages from the first to `end_id`, or to the last of the version shown."""
        messages = sorted(self._messages.values(), key=lambda message: message.id)
        if end_id is None:
            return Conversation(0, None, 0.0, 0.0, tuple(messages), self._end_id).line()
        messages = [message for message in messages if message.id <= end_id]
        return Conversation(0, None, 0.0, 0.0, tuple(messages)).line()

    def items(self) -> tuple[MessageItem, ...]:
        """Return what the chat view shows."""
        versions = versions_of(self._messages.values())
        return tuple(self._item(message, versions) for message in self.line() if message.role != "system")

    def item(self, message_id: int) -> MessageItem:
        """Return one message as it is shown."""
        return self._item(self._messages[message_id], versions_of(self._messages.values()))

    @property
    def end_id(self) -> int | None:
        """Last message of the version shown; None while that is the newest."""
        return self._end_id

    def show_version(self, message_id: int, step: int) -> int | None:
        """Show the version `step` before or after that of a message, with all that followed it last.

        Returns:
            The message that stands in its place now; None when there is no such version.
        """
        versions = versions_of(self._messages.values())[_place_of(self._messages[message_id])]
        index = versions.index(message_id) + step
        if not 0 <= index < len(versions):
            return None
        self._end_at_branch(versions[index])
        return versions[index]

    def end_at(self, message_id: int) -> None:
        """Show the version a message belongs to, with all that followed it last; unknown: the newest."""
        self._end_id = None
        if message_id in self._messages:
            self._end_at_branch(message_id)

    def _end_at_branch(self, message_id: int) -> None:
        self._end_id = self.branch(message_id)[-1].id
        if self._end_id == max(self._messages):
            self._end_id = None

    @property
    def context_tokens(self) -> int | None:
        """Tokens of context the conversation took with its last answer; None where nobody counted."""
        answers = (message for message in reversed(self.line()) if message.role == "assistant")
        known = (context_tokens_of(message.timings) for message in answers)
        return next((tokens for tokens in known if tokens is not None), None)

    def history(self, end_id: int, system_prompt: str) -> tuple[ChatMessage, ...]:
        """Return what the engine reads for an answer to `end_id`.

        Args:
            system_prompt: Goes first, unless the conversation has one of its own; empty for none.
        """
        line = self.line(end_id)
        history = history_for_prompt(Conversation(0, None, 0.0, 0.0, line))
        if not system_prompt.strip() or any(message.role == "system" for message in line):
            return history
        return (ChatMessage("system", storable(system_prompt)), *history)

    def add(
        self, role: str, content: str, parent_id: int | None, state: MessageState = MessageState.COMPLETE
    ) -> Message:
        """Add a message after `parent_id`; it is the newest now."""
        now = self._clock()
        message = Message(
            next(self._new_ids),
            parent_id,
            role,
            storable(content),
            state=state,
            created_at=now,
            updated_at=now,
        )
        self._messages[message.id] = message
        self._end_id = None
        return message

    def put(self, message: Message) -> Message:
        """Keep what a message holds by now; its place stays."""
        known = self._messages.get(message.id)
        if known is not None:
            message = replace(message, parent_id=known.parent_id)
            self._messages[message.id] = message
        return message

    def put_outcome(self, message_id: int, figures: TurnFigures, failure: Finding | None) -> None:
        """Keep what is shown of an answer beside its text, while this window lives."""
        self._figures[message_id] = figures
        if failure is None:
            self._failures.pop(message_id, None)
        else:
            self._failures[message_id] = failure

    def remove(self, message_id: int) -> RemovedMessage:
        """Take a message out; what followed it follows what it followed."""
        message = self._removed[message_id] = self._messages.pop(message_id)
        followers = tuple(m.id for m in self._messages.values() if m.parent_id == message_id)
        for follower in followers:
            self._messages[follower] = replace(self._messages[follower], parent_id=message.parent_id)
        removed = RemovedMessage(message, followers, self._end_id)
        if message_id == self._end_id and message.parent_id in self._messages:
            self._end_at_branch(message.parent_id)
        return removed

    def restore(self, removed: RemovedMessage) -> Message:
        """Undo `remove` and return the message in its place."""
        parent_id = removed.message.parent_id
        while parent_id is not None and parent_id not in self._messages:
            parent_id = self._removed[parent_id].parent_id  # it was taken out, too
        message = replace(removed.message, parent_id=parent_id)
        self._messages[message.id] = message
        for follower in removed.followers:
            if follower in self._messages:
                self._messages[follower] = replace(self._messages[follower], parent_id=message.id)
        self._end_id = removed.end_id
        return message

    def branch(self, message_id: int) -> tuple[Message, ...]:
        """Return a message and all that follows it, in every version, the oldest first."""
        found: dict[int, Message] = {}
        for known_id, message in sorted(self._messages.items()):  # a parent is always older
            if known_id == message_id or message.parent_id in found:
                found[known_id] = message
        return tuple(found.values())

    def _item(self, message: Message, versions: Mapping[_Place, list[int]]) -> MessageItem:
        same = versions[_place_of(message)]
        item = replace(item_of(message), version=same.index(message.id) + 1, version_count=len(same))
        if message.id not in self._figures:
            return item
        return replace(item, figures=self._figures[message.id], failure=self._failures.get(message.id))


def versions_of(messages: Iterable[Message]) -> Mapping[_Place, list[int]]:
    """Return the ids of the messages that stand in one place, the oldest first."""
    versions = defaultdict[_Place, list[int]](list)
    for message in sorted(messages, key=lambda message: message.id):
        versions[_place_of(message)].append(message.id)
    return versions


def _place_of(message: Message) -> _Place:
    return (message.parent_id, message.role)


def context_tokens_of(timings: Timings) -> int | None:
    """Return the tokens of context prompt and answer took; None while nobody counted."""
    if timings.prompt_tokens is None:
        return None
    return timings.prompt_tokens + (timings.cached_tokens or 0) + (timings.predicted_tokens or 0)
