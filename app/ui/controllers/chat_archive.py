"""The conversation store, used from one background thread only; its failures become findings here."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import Conversation, ConversationSummary, Message
from app.chat.store import ConversationStore
from app.chat.writer import ConversationWriter
from app.findings import Finding, FindingCode, FindingError, Severity
from app.ui.controllers.live_chat import FIRST_NEW_ID, LiveChat
from app.ui.tasks import SerialTasks
from app.ui.views.chat_items import MessageItem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadChat:
    """A chat out of the store, and what is shown of it."""

    chat: LiveChat
    items: tuple[MessageItem, ...]


class ChatArchive(QObject):
    """Reads and writes in the order it was asked to. GUI thread; nothing here waits but `close`.

    Signals:
        listed: all conversations, a tuple of `ConversationSummary`.
        failed: a `Finding`, a warning: chats go on in memory. Told once until something was saved again.
    """

    listed = Signal(object)
    failed = Signal(object)

    def __init__(self, tasks: SerialTasks, open_store: Callable[[], ConversationStore]) -> None:
        """Open nothing yet.

        Args:
            open_store: Called in the background, again and again until it works.
        """
        super().__init__()
        self._tasks = tasks
        self._open_store = open_store
        self._new_ids = itertools.count(FIRST_NEW_ID)
        self._opened: ConversationStore | None = None  # the background thread's
        self._failure: FindingCode | None = None
        self._has_told_opening = False

    def new_chat(self) -> LiveChat:
        """Return an empty chat; the store hears of it with its first message."""
        return LiveChat(ConversationWriter(self._store), self._new_ids)

    def list(self) -> None:
        """Have the list of conversations told."""
        self._run(self._list, self._on_listed)

    def read(self, conversation_id: int, on_read: Callable[[ReadChat | None], None]) -> None:
        """Read a chat; None when there is none of this id any more."""

        def job() -> ReadChat | None:
            conversation = self._store().read(conversation_id)
            return None if conversation is None else self._read(conversation)

        self._run(job, on_read)

    def put(self, chat: LiveChat, message: Message) -> None:
        """Save what a message holds by now."""
        self._run(partial(chat.writer.put, message), partial(self._on_put, chat))

    def delete_message(self, chat: LiveChat, message_id: int) -> None:
        """Take a message out of the store; the chat goes with its last one, and comes back with the next."""
        self._run(partial(chat.writer.delete, message_id), partial(self._on_deleted, chat))

    def restore_message(self, chat: LiveChat, message: Message) -> None:
        """Undo `delete_message`."""
        self._run(partial(chat.writer.restore, message), partial(self._on_put, chat))

    def put_end(self, chat: LiveChat) -> None:
        """Keep which version of a chat is shown."""
        self._run(partial(chat.writer.set_end, chat.end_id), self._on_saved)

    def rename(self, conversation_id: int, title: str) -> None:
        """Give a conversation a title; the list is told."""
        self._run(lambda: self._store().rename(conversation_id, title), self._on_saved)
        self.list()

    def delete(self, conversation_id: int) -> None:
        """Take a conversation off the list; the list is told."""
        self._run(lambda: self._store().delete(conversation_id), self._on_saved)
        self.list()

    def restore(self, conversation_id: int) -> None:
        """Undo `delete`; the list is told."""
        self._run(lambda: self._store().restore(conversation_id), self._on_saved)
        self.list()

    def close(self, timeout_seconds: float) -> bool:
        """Wait until all is saved and close the store; say whether that came in time."""
        self._run(self._close, None)
        return self._tasks.finish(timeout_seconds)

    # in the background

    def _store(self) -> ConversationStore:
        if self._opened is None:
            self._opened = self._open_store()
        return self._opened

    def _list(self) -> tuple[tuple[ConversationSummary, ...], tuple[Finding, ...]]:
        store = self._store()
        return store.list(), store.findings

    def _read(self, conversation: Conversation) -> ReadChat:
        writer = ConversationWriter(self._store, conversation)
        chat = LiveChat(writer, self._new_ids, conversation)
        return ReadChat(chat, chat.items())  # made here: thousands take longer than the GUI thread has

    def _close(self) -> None:
        store, self._opened = self._opened, None
        if store is not None:
            store.close()

    # back in the GUI thread

    def _run(self, job: Callable[[], T], on_done: Callable[[T], None] | None) -> None:
        self._tasks.run_in_background(job, on_done, self._on_failed)

    def _on_listed(self, found: tuple[tuple[ConversationSummary, ...], tuple[Finding, ...]]) -> None:
        summaries, findings = found
        if not self._has_told_opening:
            self._has_told_opening = True
            for finding in findings:
                self._tell(finding)
        self.listed.emit(summaries)

    def _on_put(self, chat: LiveChat, conversation_id: int) -> None:
        self._failure = None
        if chat.stored_id is None:
            chat.stored_id = conversation_id
            self.list()

    def _on_deleted(self, chat: LiveChat, is_chat_gone: bool) -> None:
        self._failure = None
        if is_chat_gone:
            chat.stored_id = None
            self.list()

    def _on_saved(self, _result: object) -> None:
        self._failure = None

    def _on_failed(self, reason: Exception) -> None:
        if not isinstance(reason, FindingError):
            raise reason
        self._tell(reason.finding)

    def _tell(self, finding: Finding) -> None:
        if finding.code is not self._failure:
            self._failure = finding.code
            self.failed.emit(replace(finding, severity=Severity.WARNING))
