"""A conversation goes on when the store does not, and is saved as soon as that works again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.chat.conversation import MessageState, history_for_prompt
from app.chat.recorder import ConversationRecorder
from app.chat.store import ConversationStore
from app.engine.protocol import ChatMessage
from app.findings import FindingCode, FindingError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    store = ConversationStore(tmp_path / "chats.sqlite3")
    yield store
    store.close()


def limit_pages(store: ConversationStore, pages: int) -> None:
    store._database._open().execute(f"PRAGMA max_page_count = {pages}")


def test_messages_reach_the_store_as_they_are_added(store: ConversationStore) -> None:
    recorder = ConversationRecorder(store)
    assert recorder.conversation_id is None
    recorder.add("user", "Q")
    answer = recorder.add("assistant", state=MessageState.PARTIAL)
    recorder.save(replace(answer, content="A", reasoning="R", state=MessageState.COMPLETE))
    assert recorder.conversation_id is not None
    stored = store.read(recorder.conversation_id)
    assert stored is not None
    assert [(m.role, m.content, m.reasoning) for m in stored.line()] == [
        ("user", "Q", ""),
        ("assistant", "A", "R"),
    ]
    assert history_for_prompt(recorder.conversation) == (
        ChatMessage("user", "Q"),
        ChatMessage("assistant", "A"),
    )


def test_an_empty_conversation_leaves_nothing_in_the_store(store: ConversationStore) -> None:
    ConversationRecorder(store)
    assert store.list() == ()


def test_without_a_store_it_is_kept_in_memory() -> None:
    recorder = ConversationRecorder(None)
    answer = recorder.add("assistant")
    recorder.save(replace(answer, content="A"))
    assert recorder.conversation_id is None
    assert recorder.conversation.messages[0].content == "A"


def test_what_the_store_refused_is_saved_later(store: ConversationStore) -> None:
    limit_pages(store, 12)
    recorder = ConversationRecorder(store)
    recorder.add("user", "Q" * 100_000)
    answer = replace(recorder.add("assistant", state=MessageState.PARTIAL), content="A")
    with pytest.raises(FindingError) as caught:
        recorder.save(answer)
    assert caught.value.finding.code is FindingCode.DISK_FULL
    assert history_for_prompt(recorder.conversation)[0].content == "Q" * 100_000
    limit_pages(store, 10_000)
    recorder.save(replace(answer, state=MessageState.COMPLETE))
    stored = store.read(store.list()[0].id)
    assert stored is not None
    assert [len(message.content) for message in stored.line()] == [100_000, 1]
