"""The chat controller over the echo engine and a real store."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.conversation import MessageState
from app.chat.store import ConversationStore
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.ui.model_view import ModelPhase
from tests.controller_setup import ChatDesk, kill_worker, workers, write_model


def slow(words: int) -> str:
    """Return a question that is answered with so many words, 20 ms each."""
    return "/slow " + " ".join(["word"] * words)


def said_slowly(words: int) -> str:
    """Return the answer to it."""
    return slow(words).removeprefix("/slow ")


SLOW = slow(400)


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path) -> Iterator[ChatDesk]:
    desk = ChatDesk(qtbot, tmp_path / "home")
    desk.chat.start()
    yield desk
    desk.close()


@pytest.fixture
def ready(desk: ChatDesk, tmp_path: Path) -> ChatDesk:
    desk.load(write_model(tmp_path))
    return desk


def stored(desk: ChatDesk) -> list[list[tuple[str, str, MessageState]]]:
    """Return the lines of all conversations as another program would read them."""
    desk.saved()
    store = ConversationStore(desk.file)
    try:
        found = [store.read(summary.id) for summary in store.list()]
        return [[(m.role, m.content, m.state) for m in c.line()] for c in found if c is not None]
    finally:
        store.close()


def wait_for_text(desk: ChatDesk) -> None:
    desk.wait(lambda: any(len(text) > 20 for text in desk.streamed.values()))


def test_a_question_is_answered_and_both_are_stored(ready: ChatDesk) -> None:
    ready.ask("Hello 世界")
    assert ready.shown == [("user", "Hello 世界"), ("assistant", "Hello 世界")]
    assert ready.streamed == {ready.last.id: "Hello 世界"}
    assert not ready.last.is_streaming
    assert ready.last.figures is not None
    assert ready.last.figures.tokens_per_second is not None
    complete = MessageState.COMPLETE
    assert stored(ready) == [[("user", "Hello 世界", complete), ("assistant", "Hello 世界", complete)]]
    assert ready.titles == ["Hello 世界"]
    assert ready.chat.current_id == ready.ids[0]


def test_nothing_is_stored_before_the_first_message(ready: ChatDesk) -> None:
    ready.chat.new_chat()
    ready.chat.new_chat()
    assert stored(ready) == []
    assert ready.titles == []


def test_what_was_said_before_goes_along(ready: ChatDesk) -> None:
    ready.preferences.set_system_prompt("Be brief.")
    ready.ask("one")
    ready.ask("two")
    history = ready.chat._current.history(ready.last.id - 1, "Be brief.")
    assert [(m.role, m.content) for m in history] == [
        ("system", "Be brief."),
        ("user", "one"),
        ("assistant", "one"),
        ("user", "two"),
    ]
    assert ready.last.figures is not None
    assert ready.last.figures.timings.prompt_tokens == 5  # "Be", "brief.", "one", "one", "two"


def test_without_a_model_the_message_comes_back_with_a_hint(desk: ChatDesk) -> None:
    assert not desk.chat.send("too early")
    assert desk.hints == ["ui.chat.hint.no_model"]
    assert desk.returned == ["too early"]
    assert desk.items == {}


def test_a_blank_message_is_no_message(ready: ChatDesk) -> None:
    assert not ready.chat.send(" \n\t")
    assert (ready.items, ready.returned, ready.hints) == ({}, [], [])


def test_messages_typed_while_loading_are_shown_and_answered_when_ready(
    desk: ChatDesk, tmp_path: Path
) -> None:
    desk.engine.overrides = (("echo.load_seconds", 0.3),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    assert desk.chat.send("waited")
    assert desk.chat.send("patiently")
    assert desk.chat.queued_text == "waited\n\npatiently"
    assert desk.shown == [("user", "waited"), ("user", "patiently")]
    desk.wait(lambda: len(desk.items) == 3 and not desk.last.is_streaming)
    assert desk.last.text == "waited\n\npatiently"  # the engine says back what it was asked
    assert desk.chat.queued_text is None
    assert desk.queued == ["waited", "waited\n\npatiently", None]
    assert desk.returned == []
    assert [text for _, text, _ in stored(desk)[0]] == ["waited", "patiently", "waited\n\npatiently"]


def test_a_message_to_a_planned_model_loads_it_and_is_answered(desk: ChatDesk, tmp_path: Path) -> None:
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.chat.send("go")
    assert desk.view.phase is ModelPhase.LOADING
    assert desk.chat.queued_text == "go"
    desk.wait(lambda: desk.shown == [("user", "go"), ("assistant", "go")])
    assert (desk.returned, desk.hints) == ([], [])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_message_to_a_model_that_failed_comes_back(ready: ChatDesk) -> None:
    kill_worker()
    ready.wait_for_phase(ModelPhase.FAILED)
    assert not ready.chat.send("stay")
    assert ready.returned == ["stay"]
    assert ready.hints == ["ui.chat.hint.failed"]
    assert ready.view.phase is ModelPhase.FAILED


def test_a_message_typed_while_an_answer_comes_is_answered_after_it(ready: ChatDesk) -> None:
    ready.chat.send(slow(20))
    ready.chat.send("next")
    assert [role for role, _ in ready.shown] == ["user", "assistant", "user"]
    ready.wait(lambda: len(ready.items) == 4 and not ready.last.is_streaming)
    assert [text for _, text in ready.shown] == [slow(20), said_slowly(20), "next", "next"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_message_that_waits_comes_back_when_the_engine_dies(ready: ChatDesk) -> None:
    ready.chat.send(SLOW)
    wait_for_text(ready)
    ready.chat.send("next")
    kill_worker()
    ready.wait_for_phase(ModelPhase.FAILED)
    assert ready.returned == ["next"]
    assert [role for role, _ in ready.shown] == ["user", "assistant"]


def test_messages_that_wait_in_two_chats_are_both_answered(desk: ChatDesk, tmp_path: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 0.3),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.chat.send("one")
    desk.chat.new_chat()
    assert desk.chat.queued_text is None
    desk.chat.send("two")
    desk.wait(lambda: desk.shown == [("user", "two"), ("assistant", "two")])
    desk.answered()
    lines = [[text for _, text, _ in line] for line in stored(desk)]
    assert sorted(lines) == [["one", "one"], ["two", "two"]]


def test_a_message_that_waits_and_is_deleted_is_not_sent(desk: ChatDesk, tmp_path: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 0.3),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.chat.send("never mind")
    desk.chat.delete_message(desk.last.id)
    desk.answered()
    assert desk.items == {}
    assert not desk.phases.count(ModelPhase.GENERATING)


def test_a_queued_message_comes_back_when_the_load_is_cancelled(desk: ChatDesk, tmp_path: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 60.0),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.chat.send("in vain")
    desk.model.cancel_load()
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.returned == ["in vain"]
    assert desk.queued[-1] is None
    assert desk.items == {}


def test_a_new_chat_goes_when_its_only_message_is_taken_back(desk: ChatDesk, tmp_path: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 60.0),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.chat.send("in vain")
    desk.wait(lambda: desk.titles == ["in vain"])
    desk.model.cancel_load()
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.wait(lambda: desk.ids == [])
    desk.engine.overrides = ()
    desk.chat.send("in earnest")
    desk.wait(lambda: desk.shown == [("user", "in earnest"), ("assistant", "in earnest")])
    desk.wait(lambda: desk.titles == ["in earnest"])
    assert desk.chat.current_id == desk.ids[0]
    assert [text for _, text, _ in stored(desk)[0]] == ["in earnest", "in earnest"]


def test_what_waited_in_another_chat_comes_back_when_that_is_opened(desk: ChatDesk, tmp_path: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 60.0),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.chat.send("one")
    desk.chat.send("and a half")
    desk.wait(lambda: desk.titles == ["one"])
    (first,) = desk.ids
    desk.chat.new_chat()
    desk.chat.send("two")
    desk.wait(lambda: len(desk.ids) == 2)
    desk.model.cancel_load()
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.returned == ["two"]
    desk.wait(lambda: desk.ids == [first])
    desk.chat.open_chat(first)
    assert desk.returned == ["two", "one\n\nand a half"]
    assert desk.items == {}
    desk.wait(lambda: desk.ids == [])


def test_stop_takes_a_queued_message_back(desk: ChatDesk, tmp_path: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 60.0),)
    desk.model.pick(write_model(tmp_path))
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.chat.send("changed my mind")
    desk.chat.stop()
    assert desk.returned == ["changed my mind"]
    assert desk.chat.queued_text is None


def test_a_stopped_answer_keeps_what_came(ready: ChatDesk) -> None:
    ready.chat.send(SLOW)
    wait_for_text(ready)
    ready.chat.stop()
    ready.answered()
    assert ready.last.state is MessageState.CANCELLED
    assert ready.last.text == ready.streamed[ready.last.id]
    assert stored(ready)[0][-1] == ("assistant", ready.last.text, MessageState.CANCELLED)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_engine_killed_in_mid_answer_costs_nothing_that_was_said(ready: ChatDesk) -> None:
    ready.chat.send(SLOW)
    wait_for_text(ready)
    kill_worker()
    ready.wait_for_phase(ModelPhase.FAILED)
    answer = ready.last
    assert answer.state is MessageState.FAILED
    assert answer.text.startswith("word word")
    assert answer.failure is not None
    assert answer.failure.code is FindingCode.ENGINE_KILLED
    assert stored(ready)[0][-1] == ("assistant", answer.text, MessageState.FAILED)
    ready.model.load()
    ready.answered()
    ready.ask("and on")
    assert ready.last.text == "and on"


def test_an_answer_goes_on_while_another_chat_is_shown(ready: ChatDesk) -> None:
    ready.ask("first chat")
    ready.chat.new_chat()
    ready.chat.send(slow(60))
    wait_for_text(ready)
    ready.wait(lambda: ready.chat.current_id is not None)
    streaming = ready.chat.current_id
    answer_id = ready.last.id
    ready.wait(lambda: len(ready.ids) == 2)
    assert streaming is not None
    ready.chat.open_chat(next(known for known in ready.ids if known != streaming))
    ready.wait(lambda: ready.shown == [("user", "first chat"), ("assistant", "first chat")])
    seen = ready.streamed[answer_id]
    ready.chat.open_chat(streaming)
    assert ready.last.is_streaming
    assert ready.last.text.startswith(seen)
    ready.answered()
    assert ready.last.text == said_slowly(60)
    assert len(ready.items) == 2
    assert stored(ready)[0][-1][1] == ready.last.text


def test_an_answer_ends_unseen_and_is_there_when_its_chat_is_opened(ready: ChatDesk) -> None:
    ready.chat.send(slow(20))
    ready.wait(lambda: ready.chat.current_id is not None)
    answered_in = ready.chat.current_id
    assert answered_in is not None
    ready.chat.new_chat()
    assert ready.items == {}
    ready.answered()
    assert ready.items == {}
    ready.chat.open_chat(answered_in)
    ready.wait(lambda: len(ready.items) == 2)
    assert ready.last.text == said_slowly(20)
    assert ready.last.state is MessageState.COMPLETE


def test_a_message_sent_in_another_chat_meanwhile_waits_there(ready: ChatDesk) -> None:
    ready.chat.send(slow(20))
    ready.chat.new_chat()
    assert ready.chat.send("second")
    assert ready.shown == [("user", "second")]
    ready.wait(lambda: ready.shown == [("user", "second"), ("assistant", "second")])
    ready.answered()
    assert sorted(len(line) for line in stored(ready)) == [2, 2]


def test_answering_again_is_another_version_under_the_same_question(ready: ChatDesk) -> None:
    ready.ask("one")
    first = ready.last
    ready.ask("two")
    ready.chat.regenerate(first.id)
    ready.answered()
    assert ready.shown == [("user", "one"), ("assistant", "one")]
    assert ready.last.id != first.id
    ready.saved()
    ready.chat.new_chat()
    ready.chat.open_chat(ready.ids[0])
    ready.wait(lambda: len(ready.items) == 2)
    assert ready.shown == [("user", "one"), ("assistant", "one")]


def test_a_changed_question_is_asked_anew_even_the_first(ready: ChatDesk) -> None:
    ready.ask("one")
    question = next(iter(ready.items))
    ready.chat.edit(question, "uno")
    ready.answered()
    assert ready.shown == [("user", "uno"), ("assistant", "uno")]
    assert [text for _, text, _ in stored(ready)[0]] == ["uno", "uno"]


def test_what_another_answer_hid_comes_back(ready: ChatDesk) -> None:
    ready.ask("one")
    first = ready.last
    ready.ask("two")
    before = list(ready.items.items())
    ready.chat.regenerate(first.id)
    ready.answered()
    assert len(ready.items) == 2
    ready.undos[-1]()
    assert list(ready.items.items()) == before
    assert ready.returned == []
    assert [text for _, text, _ in stored(ready)[0]] == ["one", "one", "two", "two"]


def test_what_a_changed_question_hid_comes_back_even_while_it_is_answered(ready: ChatDesk) -> None:
    ready.ask("one")
    question = next(iter(ready.items))
    ready.ask("two")
    before = list(ready.items.items())
    ready.chat.edit(question, SLOW)
    wait_for_text(ready)
    assert ready.chat.send("and then")
    ready.undos[-1]()
    ready.wait(lambda: list(ready.items.items()) == before)
    ready.answered()
    assert list(ready.items.items()) == before
    assert ready.returned == [f"{SLOW}\n\nand then"]  # nothing that was written is lost
    assert ready.chat.queued_text is None
    assert [text for _, text, _ in stored(ready)[0]] == ["one", "one", "two", "two"]


def test_an_answer_can_be_continued_in_the_same_message(ready: ChatDesk) -> None:
    ready.chat.send(slow(200))
    wait_for_text(ready)
    ready.chat.stop()
    ready.answered()
    before = ready.last
    ready.chat.continue_answer(before.id)
    assert ready.last.is_streaming
    ready.answered()
    assert ready.last.id == before.id
    assert ready.last.text.startswith(before.text)
    assert len(ready.last.text) > len(before.text)
    assert ready.last.state is MessageState.COMPLETE
    assert stored(ready)[0][-1][1] == ready.last.text
    assert len(ready.items) == 2


def test_a_deleted_message_comes_back(ready: ChatDesk) -> None:
    ready.ask("one")
    ready.ask("two")
    before = list(ready.items.items())
    question = list(ready.items)[2]
    ready.chat.delete_message(question)
    assert [text for _, text in ready.shown] == ["one", "one", "two"]
    assert [text for _, text, _ in stored(ready)[0]] == ["one", "one", "two"]
    ready.undos[-1]()
    assert list(ready.items.items()) == before
    assert [text for _, text, _ in stored(ready)[0]] == ["one", "one", "two", "two"]


def test_undo_while_an_answer_comes_shows_the_chat_that_is_being_answered(ready: ChatDesk) -> None:
    ready.ask("one")
    ready.wait(lambda: bool(ready.ids))
    (chat_id,) = ready.ids
    ready.chat.delete_message(next(iter(ready.items)))
    ready.chat.new_chat()
    ready.chat.open_chat(chat_id)
    ready.wait(lambda: [text for _, text in ready.shown] == ["one"])
    ready.chat.send(slow(40))
    wait_for_text(ready)
    ready.undos[-1]()
    ready.saved()
    assert ready.last.is_streaming
    ready.answered()
    assert [text for _, text in ready.shown] == ["one", "one", slow(40), said_slowly(40)]
    ready.ask("next")
    history = ready.chat._current.history(ready.last.id - 1, "")
    assert [m.content for m in history] == ["one", "one", slow(40), said_slowly(40), "next"]
    assert [text for _, text, _ in stored(ready)[0]] == [
        "one",
        "one",
        slow(40),
        said_slowly(40),
        "next",
        "next",
    ]


def test_a_chat_goes_with_its_last_message_and_comes_back_with_it(ready: ChatDesk) -> None:
    ready.ask("one")
    ready.wait(lambda: bool(ready.ids))
    for message_id in list(ready.items):
        ready.chat.delete_message(message_id)
    assert ready.items == {}
    ready.wait(lambda: ready.ids == [])
    assert ready.chat.current_id is None
    for undo in reversed(ready.undos):
        undo()
    ready.wait(lambda: ready.titles == ["one"])
    assert ready.chat.current_id == ready.ids[0]
    assert [text for _, text, _ in stored(ready)[0]] == ["one", "one"]
    assert ready.shown == [("user", "one"), ("assistant", "one")]


def test_messages_deleted_one_after_the_other_come_back_in_any_order(ready: ChatDesk) -> None:
    for text in ("one", "two"):
        ready.ask(text)
    for message_id in list(ready.items)[1:3]:
        ready.chat.delete_message(message_id)
    assert [text for _, text in ready.shown] == ["one", "two"]
    for undo in reversed(ready.undos):
        undo()
    assert [text for _, text, _ in stored(ready)[0]] == ["one", "one", "two", "two"]
    assert ready.failures == []


def test_deleting_a_version_brings_the_older_one_back(ready: ChatDesk) -> None:
    ready.ask("one")
    older = ready.last.id
    ready.chat.regenerate(older)
    ready.answered()
    ready.chat.delete_message(ready.last.id)
    assert ready.last.id == older


def test_a_deleted_chat_comes_back_and_is_shown_again(ready: ChatDesk) -> None:
    ready.ask("one")
    ready.wait(lambda: ready.titles == ["one"])
    (chat_id,) = ready.ids
    ready.chat.delete_chat(chat_id)
    assert ready.items == {}
    ready.wait(lambda: ready.titles == [])
    ready.undos[-1]()
    ready.wait(lambda: ready.titles == ["one"] and len(ready.items) == 2)
    assert ready.chat.current_id == chat_id


def test_a_chat_that_is_deleted_while_it_is_answered_stops(ready: ChatDesk) -> None:
    ready.chat.send(SLOW)
    ready.wait(lambda: bool(ready.ids))
    ready.chat.delete_chat(ready.ids[0])
    ready.answered()
    ready.wait(lambda: ready.titles == [])
    assert stored(ready) == []


def test_a_chat_is_renamed(ready: ChatDesk) -> None:
    ready.ask("one")
    ready.wait(lambda: ready.titles == ["one"])
    ready.chat.rename_chat(ready.ids[0], "  ")
    ready.chat.rename_chat(ready.ids[0], "Numbers")
    ready.wait(lambda: ready.titles == ["Numbers"])


def test_a_store_that_cannot_be_opened_costs_the_store_only(qtbot: QtBot, tmp_path: Path) -> None:
    finding = error(FindingCode.STORE_TOO_NEW, path="chats.sqlite3", version=99)

    def refuse() -> ConversationStore:
        raise FindingError(finding)

    desk = ChatDesk(qtbot, tmp_path / "home", refuse)
    desk.chat.start()
    desk.load(write_model(tmp_path))
    desk.ask("one")
    desk.ask("two")
    assert [text for _, text in desk.shown] == ["one", "one", "two", "two"]
    desk.saved()
    (told,) = desk.failures
    assert isinstance(told, Finding)
    assert (told.code, told.severity) == (FindingCode.STORE_TOO_NEW, Severity.WARNING)
    desk.close()


def test_what_the_store_refused_is_saved_once_it_takes_it(qtbot: QtBot, tmp_path: Path) -> None:
    home = tmp_path / "home"
    is_full = threading.Event()
    is_full.set()

    def open_store() -> ConversationStore:
        if is_full.is_set():
            raise FindingError(error(FindingCode.DISK_FULL, path="chats.sqlite3"))
        return ConversationStore(home / "chats.sqlite3")

    desk = ChatDesk(qtbot, home, open_store)
    desk.load(write_model(tmp_path))
    desk.ask("one")
    desk.saved()
    assert len(desk.failures) == 1
    is_full.clear()
    desk.ask("two")
    assert [text for _, text, _ in stored(desk)[0]] == ["one", "one", "two", "two"]
    desk.close()


def test_closing_in_mid_answer_keeps_what_came(qtbot: QtBot, tmp_path: Path) -> None:
    desk = ChatDesk(qtbot, tmp_path / "home")
    desk.load(write_model(tmp_path))
    desk.chat.send(SLOW)
    wait_for_text(desk)
    desk.close()
    assert workers() == []
    store = ConversationStore(desk.file)
    conversation = store.read(store.list()[0].id)
    store.close()
    assert conversation is not None
    answer = conversation.line()[-1]
    assert answer.state is MessageState.CANCELLED
    assert answer.content.startswith("word word")


def test_an_answer_is_saved_while_it_comes(ready: ChatDesk) -> None:
    ready.chat.send(SLOW)
    ready.qtbot.waitUntil(lambda: _partial_text(ready.file) != "", timeout=5000)
    assert ready.last.is_streaming


def _partial_text(file: Path) -> str:
    store = ConversationStore(file)
    try:
        conversations = [store.read(summary.id) for summary in store.list()]
    finally:
        store.close()
    lines = [conversation.line() for conversation in conversations if conversation is not None]
    last = lines[0][-1] if lines and lines[0] else None
    return last.content if last is not None and last.state is MessageState.PARTIAL else ""
