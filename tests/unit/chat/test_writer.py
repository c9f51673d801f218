"""A conversation held elsewhere reaches the store, whatever the store refused meanwhile."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.chat.conversation import Conversation, Message, MessageState
from app.chat.store import ConversationStore
from app.chat.writer import ConversationWriter
from app.engine.protocol import Timings
from app.findings import FindingCode, FindingError, error

FIRST = 1_000_000_000
QUESTION = Message(FIRST, None, "user", "Q")
ANSWER = Message(
    FIRST + 1, FIRST, "assistant", "A", "thought", MessageState.COMPLETE, "stop", Timings(prompt_tokens=3)
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    store = ConversationStore(tmp_path / "chats.sqlite3")
    yield store
    store.close()


def line(store: ConversationStore, conversation_id: int) -> list[Message]:
    conversation = store.read(conversation_id)
    assert conversation is not None
    return list(conversation.line())


def contents(store: ConversationStore, conversation_id: int) -> list[str]:
    return [message.content for message in line(store, conversation_id)]


def failing_at_first(store: ConversationStore, times: int) -> Callable[[], ConversationStore]:
    left = [times]

    def source() -> ConversationStore:
        if left[0]:
            left[0] -= 1
            raise FindingError(error(FindingCode.DISK_FULL, path="x"))
        return store

    return source


def test_the_store_hears_of_a_conversation_with_its_first_message(store: ConversationStore) -> None:
    writer = ConversationWriter(lambda: store)
    assert store.list() == ()
    conversation_id = writer.put(QUESTION)
    assert writer.put(ANSWER) == conversation_id
    question, answer = line(store, conversation_id)
    assert (question.content, answer.content, answer.reasoning) == ("Q", "A", "thought")
    assert (answer.finish_reason, answer.timings.prompt_tokens) == ("stop", 3)


def test_a_message_is_written_once_and_then_changed(store: ConversationStore) -> None:
    writer = ConversationWriter(lambda: store)
    conversation_id = writer.put(QUESTION)
    for text in ("A", "AB", "ABC"):
        writer.put(replace(ANSWER, content=text))
    assert contents(store, conversation_id) == ["Q", "ABC"]


def test_what_was_refused_goes_first_the_next_time(store: ConversationStore) -> None:
    writer = ConversationWriter(failing_at_first(store, 2))
    for message in (QUESTION, ANSWER):
        with pytest.raises(FindingError):
            writer.put(message)
    conversation_id = writer.put(replace(ANSWER, content="whole"))
    assert contents(store, conversation_id) == ["Q", "whole"]


def test_another_version_of_the_first_message_follows_nothing(store: ConversationStore) -> None:
    writer = ConversationWriter(lambda: store)
    writer.put(QUESTION)
    writer.put(ANSWER)
    conversation_id = writer.put(Message(FIRST + 2, None, "user", "Q2"))
    assert contents(store, conversation_id) == ["Q2"]


def test_a_stored_conversation_goes_on_under_its_own_ids(store: ConversationStore) -> None:
    conversation_id = store.create()
    store.append(conversation_id, "user", "old")
    conversation = store.read(conversation_id)
    assert isinstance(conversation, Conversation)
    writer = ConversationWriter(lambda: store, conversation)
    assert writer.put(replace(QUESTION, parent_id=conversation.messages[0].id)) == conversation_id
    assert contents(store, conversation_id) == ["old", "Q"]


def test_a_deletion_is_undone_with_everything_the_message_held(store: ConversationStore) -> None:
    writer = ConversationWriter(lambda: store)
    conversation_id = writer.put(QUESTION)
    writer.put(ANSWER)
    writer.put(Message(FIRST + 2, ANSWER.id, "user", "Q2"))
    before = line(store, conversation_id)
    writer.delete(ANSWER.id)
    assert contents(store, conversation_id) == ["Q", "Q2"]
    writer.restore(ANSWER)
    after = line(store, conversation_id)
    assert [replace(m, updated_at=0, created_at=0) for m in after] == [
        replace(m, updated_at=0, created_at=0) for m in before
    ]


def test_the_first_message_can_be_deleted_and_what_follows_stays(store: ConversationStore) -> None:
    writer = ConversationWriter(lambda: store)
    conversation_id = writer.put(QUESTION)
    writer.put(ANSWER)
    writer.delete(QUESTION.id)
    assert contents(store, conversation_id) == ["A"]
    writer.restore(QUESTION)
    assert contents(store, conversation_id) == ["Q", "A"]


def test_a_message_the_store_never_got_can_be_deleted_and_restored(store: ConversationStore) -> None:
    writer = ConversationWriter(failing_at_first(store, 1))
    with pytest.raises(FindingError):
        writer.put(QUESTION)
    writer.delete(QUESTION.id)
    writer.restore(QUESTION)
    assert [summary.title for summary in store.list()] == ["Q"]


def test_a_message_that_somebody_else_deleted_is_deleted_all_the_same(store: ConversationStore) -> None:
    writer = ConversationWriter(lambda: store)
    conversation_id = writer.put(QUESTION)
    store.delete_message(line(store, conversation_id)[0].id)
    writer.delete(QUESTION.id)
    assert store.list() == ()
