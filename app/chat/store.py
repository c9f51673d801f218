"""Conversations on disk: what can be done with them."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from app.chat.conversation import Conversation, ConversationSummary, Message, MessageState, storable
from app.chat.database import ChatDatabase
from app.engine.protocol import Timings

DELETED_KEPT_SECONDS: Final = 30 * 24 * 3600
"""How long a deletion can be undone."""

_TITLE_LENGTH: Final = 80

_CONVERSATION: Final = (
    "SELECT id, title, created_at, updated_at, end_id FROM conversations WHERE id = ? AND deleted_at IS NULL"
)
_MESSAGES: Final = (
    "SELECT id, parent_id, role, content, reasoning, state, finish_reason, timings, created_at, updated_at"
    " FROM messages WHERE conversation_id = ? ORDER BY id"
)
_SUMMARIES: Final = """
    SELECT c.id,
        coalesce(c.title, (SELECT substr(m.content, 1, 200) FROM messages m
            WHERE m.conversation_id = c.id AND m.role = 'user' ORDER BY m.id LIMIT 1)),
        (SELECT count(*) FROM messages m WHERE m.conversation_id = c.id),
        c.updated_at
    FROM conversations c WHERE c.deleted_at IS NULL ORDER BY c.updated_at DESC, c.id DESC
"""
_INSERT_MESSAGE: Final = """
    INSERT INTO messages (conversation_id, parent_id, role, content, state, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE_MESSAGE: Final = """
    UPDATE messages SET content = ?, reasoning = ?, state = ?, finish_reason = ?, timings = ?, updated_at = ?
    WHERE id = ?
"""
_RESTORE_MESSAGE: Final = """
    INSERT OR IGNORE INTO messages
        (id, conversation_id, parent_id, role, content, state, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_DELETE_IF_EMPTY: Final = """
    UPDATE conversations SET deleted_at = ? WHERE id = ? AND title IS NULL AND deleted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = conversations.id)
"""
_TOUCH_NEW: Final = "UPDATE conversations SET updated_at = ?, end_id = NULL WHERE id = ?"
_TOUCH_BY_MESSAGE: Final = """
    UPDATE conversations SET updated_at = ?
    WHERE id = (SELECT conversation_id FROM messages WHERE id = ?)
"""


class ConversationStore:
    """All conversations of a person, in one file. Any thread, and several programs at a time.

    Every method raises `FindingError` as `ChatDatabase` does; what was saved before stays saved.

    Attributes:
        findings: What opening met, as `ChatDatabase` says.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        """Open or create the store.

        Args:
            clock: Seconds since 1970.
        """
        self._clock = clock
        self._database = ChatDatabase(file)
        self.findings = self._database.findings

    def create(self, title: str | None = None) -> int:
        """Start a conversation and return its id."""
        now = self._clock()
        values = (None if title is None else storable(title), now, now)
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO conversations (title, created_at, updated_at) VALUES (?, ?, ?)", values
            )
        return int(cursor.lastrowid or 0)

    def list(self) -> tuple[ConversationSummary, ...]:
        """Return all conversations that are not deleted, the last changed first."""
        return tuple(
            ConversationSummary(conversation_id, _title(text), message_count, updated_at)
            for conversation_id, text, message_count, updated_at in self._database.rows(_SUMMARIES)
        )

    def read(self, conversation_id: int) -> Conversation | None:
        """Return a conversation; None when there is none of this id, or it is deleted."""
        messages = tuple(_message(row) for row in self._database.rows(_MESSAGES, conversation_id))
        for found_id, title, created, updated, end_id in self._database.rows(_CONVERSATION, conversation_id):
            end_id = end_id if isinstance(end_id, int) else None
            return Conversation(found_id, title, created, updated, messages, end_id)
        return None

    def append(
        self,
        conversation_id: int,
        role: str,
        content: str = "",
        *,
        parent_id: int | None = None,
        is_first: bool = False,
        state: MessageState = MessageState.COMPLETE,
    ) -> Message:
        """Add a message; the version it belongs to is the one shown from now on.

        Args:
            parent_id: The message it follows; None means the newest one.
            is_first: It follows none: another version of the conversation's beginning.
        """
        now = self._clock()
        text = storable(content)
        with self._database.transaction(text) as connection:
            if parent_id is None and not is_first:
                newest = "SELECT max(id) FROM messages WHERE conversation_id = ?"
                parent_id = connection.execute(newest, (conversation_id,)).fetchone()[0]
            values = (conversation_id, parent_id, role, text, state.value, now, now)
            message_id = int(connection.execute(_INSERT_MESSAGE, values).lastrowid or 0)
            connection.execute(_TOUCH_NEW, (now, conversation_id))
        return Message(message_id, parent_id, role, text, state=state, created_at=now, updated_at=now)

    def update(self, message: Message) -> None:
        """Save what a message holds by now: while it is being written, and at its end."""
        now = self._clock()
        texts = (storable(message.content), storable(message.reasoning))
        timings = json.dumps(asdict(message.timings))
        values = (*texts, message.state.value, message.finish_reason, timings, now, message.id)
        with self._database.transaction(*texts) as connection:
            connection.execute(_UPDATE_MESSAGE, values)
            connection.execute(_TOUCH_BY_MESSAGE, (now, message.id))

    def delete_message(self, message_id: int) -> tuple[int, ...]:
        """Take one message out; what followed it follows what it followed.

        Returns:
            The ids of those that followed, for `restore_message`.
        """
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT parent_id FROM messages WHERE id = ?", (message_id,)
            ).fetchone()
            if found is None:
                return ()
            followers = connection.execute("SELECT id FROM messages WHERE parent_id = ?", (message_id,))
            ids = tuple(int(row[0]) for row in followers.fetchall())
            connection.execute(
                "UPDATE messages SET parent_id = ? WHERE parent_id = ?", (found[0], message_id)
            )
            connection.execute("DELETE FROM messages WHERE id = ?", (message_id,))
        return ids

    def restore_message(self, conversation_id: int, message: Message, followers: tuple[int, ...]) -> None:
        """Undo `delete_message`, under the same id."""
        now = self._clock()
        row = (
            *(message.id, conversation_id, message.parent_id, message.role, storable(message.content)),
            *(message.state.value, message.created_at, now),
        )
        with self._database.transaction(message.content) as connection:
            connection.execute(_RESTORE_MESSAGE, row)
            for follower in followers:
                connection.execute("UPDATE messages SET parent_id = ? WHERE id = ?", (message.id, follower))
        self.update(message)

    def set_end(self, conversation_id: int, message_id: int | None) -> None:
        """Show the version that ends with this message; None shows the one with the newest."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE conversations SET end_id = ? WHERE id = ?", (message_id, conversation_id)
            )

    def rename(self, conversation_id: int, title: str) -> None:
        """Give a conversation a title."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE conversations SET title = ? WHERE id = ?", (storable(title), conversation_id)
            )

    def delete(self, conversation_id: int) -> None:
        """Take a conversation off the list; `restore` undoes it for `DELETED_KEPT_SECONDS`."""
        now = self._clock()
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM conversations WHERE deleted_at < ?", (now - DELETED_KEPT_SECONDS,)
            )
            connection.execute("UPDATE conversations SET deleted_at = ? WHERE id = ?", (now, conversation_id))

    def delete_if_empty(self, conversation_id: int) -> bool:
        """Take a chat without message and title off the list, and say whether it was one; see `restore`."""
        with self._database.transaction() as connection:
            cursor = connection.execute(_DELETE_IF_EMPTY, (self._clock(), conversation_id))
        return cursor.rowcount > 0

    def restore(self, conversation_id: int) -> None:
        """Undo `delete`."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE conversations SET deleted_at = NULL WHERE id = ?", (conversation_id,))

    def close(self) -> None:
        """Let go of the file. Closing twice is harmless."""
        self._database.close()


def _title(text: str | None) -> str | None:
    first_line = (text or "").strip().partition("\n")[0]
    return first_line[:_TITLE_LENGTH] or None


def _message(row: tuple[Any, ...]) -> Message:
    message_id, parent_id, role, content, reasoning, state, finish_reason, timings, created, updated = row
    return Message(
        message_id,
        parent_id,
        str(role),
        str(content),  # damage can make a number of it, and a number has no text methods
        str(reasoning),
        _state(state),
        finish_reason,
        _timings(timings),
        created,
        updated,
    )


def _state(name: str) -> MessageState:
    try:
        return MessageState(name)
    except ValueError:  # a newer program's word: whatever it means, the text is there
        return MessageState.PARTIAL


def _timings(text: str) -> Timings:
    try:
        return Timings(**json.loads(text))
    except (ValueError, TypeError):  # likewise
        return Timings()
