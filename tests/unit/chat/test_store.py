"""The conversation store keeps what it was given, through crashes, damage and full disks."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.chat import database
from app.chat.conversation import MessageState, history_for_prompt, storable
from app.chat.database import check_database
from app.chat.schema import MIGRATIONS, migrate
from app.chat.store import DELETED_KEPT_SECONDS, ConversationStore
from app.engine.protocol import ChatMessage, Timings
from app.findings import FindingCode, FindingError, Severity
from app.paths import source_root
from tests.small_disks import full_disk, read_only_disk


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "谈话 记录.sqlite3"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(file: Path, clock: Clock) -> Iterator[ConversationStore]:
    store = ConversationStore(file, clock)
    yield store
    store.close()


def test_messages_come_back_as_they_were_given(store: ConversationStore) -> None:
    conversation_id = store.create("标题")
    question = store.append(conversation_id, "user", "你好\0\n")
    answer = store.append(conversation_id, "assistant", state=MessageState.PARTIAL)
    answer = replace(
        answer,
        content="Hi",
        reasoning="hm",
        state=MessageState.COMPLETE,
        finish_reason="stop",
        timings=Timings(3, 1.5, 2, 4.0),
    )
    store.update(answer)
    conversation = store.read(conversation_id)
    assert conversation is not None
    assert conversation.title == "标题"
    assert conversation.messages == (question, answer)
    assert answer.parent_id == question.id


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=())))
def test_any_string_can_be_stored(store: ConversationStore, text: str) -> None:
    conversation_id = store.create(text)
    store.append(conversation_id, "user", text)
    conversation = store.read(conversation_id)
    assert conversation is not None
    assert conversation.messages[0].content == conversation.title == storable(text)
    if text.isprintable():
        assert storable(text) == text


def test_a_lone_surrogate_is_replaced_and_a_pair_becomes_its_character() -> None:
    assert storable("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert storable("\ud83d\ude00") == "😀"


def test_the_list_shows_the_last_changed_first_with_a_title_from_the_question(
    store: ConversationStore, clock: Clock
) -> None:
    first = store.create()
    store.append(first, "system", "Be brief.")
    store.append(first, "user", "  What is\nthis?")
    clock.now += 10
    second = store.create("Second")
    assert [(row.id, row.title, row.message_count) for row in store.list()] == [
        (second, "Second", 0),
        (first, "What is", 2),
    ]
    clock.now += 10
    store.append(first, "assistant", "That.")
    assert [row.id for row in store.list()] == [first, second]


def test_renaming_does_not_reorder(store: ConversationStore, clock: Clock) -> None:
    first, clock.now = store.create(), clock.now + 10
    second = store.create()
    store.rename(first, "New")
    assert [(row.id, row.title) for row in store.list()] == [(second, None), (first, "New")]


def test_a_deletion_can_be_undone_and_becomes_final_later(store: ConversationStore, clock: Clock) -> None:
    conversation_id, other = store.create("A"), store.create("B")
    store.append(conversation_id, "user", "kept")
    store.delete(conversation_id)
    assert store.read(conversation_id) is None
    assert [row.id for row in store.list()] == [other]
    store.restore(conversation_id)
    conversation = store.read(conversation_id)
    assert conversation is not None
    assert [message.content for message in conversation.messages] == ["kept"]

    store.delete(conversation_id)
    clock.now += DELETED_KEPT_SECONDS + 1
    store.delete(other)
    store.restore(conversation_id)
    assert store.list() == ()


def test_the_line_follows_parents_so_another_version_leaves_the_first_out(store: ConversationStore) -> None:
    conversation_id = store.create()
    question = store.append(conversation_id, "user", "Q")
    store.append(conversation_id, "assistant", "first")
    store.append(conversation_id, "assistant", "second", parent_id=question.id)
    conversation = store.read(conversation_id)
    assert conversation is not None
    assert [message.content for message in conversation.line()] == ["Q", "second"]


def test_neither_reasoning_nor_tags_nor_empty_messages_go_back_into_the_prompt(
    store: ConversationStore,
) -> None:
    conversation_id = store.create()
    store.append(conversation_id, "system", "S")
    store.append(conversation_id, "user", "Q1")
    failed = store.append(conversation_id, "assistant", state=MessageState.PARTIAL)
    store.update(replace(failed, reasoning="only thought", state=MessageState.FAILED))
    store.append(conversation_id, "user", "Q2")
    answer = store.append(conversation_id, "assistant", "A2")
    store.update(replace(answer, reasoning="secret"))
    conversation = store.read(conversation_id)
    assert conversation is not None
    assert history_for_prompt(conversation) == (
        ChatMessage("system", "S"),
        ChatMessage("user", "Q1\n\nQ2"),
        ChatMessage("assistant", "A2"),
    )


def test_an_empty_database_of_version_0_is_brought_up_to_date(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    store = ConversationStore(file)
    store.create("works")
    store.close()
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_later_migration_keeps_the_rows_and_a_failing_one_changes_nothing(
    store: ConversationStore, file: Path
) -> None:
    store.create("old")
    store.close()
    connection = sqlite3.connect(file, isolation_level=None)
    good = "ALTER TABLE conversations ADD COLUMN colour TEXT"
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (*MIGRATIONS, f"{good}; SELECT * FROM no_such_table"))
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    migrate(connection, (*MIGRATIONS, good))
    assert connection.execute("SELECT title, colour FROM conversations").fetchall() == [("old", None)]
    connection.close()


def test_a_database_of_a_newer_program_is_left_alone(store: ConversationStore, file: Path) -> None:
    store.close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(FindingError) as caught:
        ConversationStore(file)
    assert caught.value.finding.code is FindingCode.STORE_TOO_NEW
    assert caught.value.finding.values["version"] == 99
    assert file.read_bytes() == before


def test_two_programs_write_at_a_time(store: ConversationStore, file: Path) -> None:
    other = ConversationStore(file)
    ids = [store.create("a"), other.create("b")]

    def write(writer: ConversationStore, conversation_id: int) -> None:
        for number in range(20):
            writer.append(conversation_id, "user", str(number))

    threads = [
        threading.Thread(target=write, args=(writer, conversation_id))
        for writer in (store, other)
        for conversation_id in ids
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.message_count for row in other.list()] == [40, 40]
    other.close()


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from app.chat.conversation import MessageState
from app.chat.store import ConversationStore
store = ConversationStore(Path(sys.argv[1]))
conversation_id = store.create("c")
store.append(conversation_id, "user", "Q")
answer = store.append(conversation_id, "assistant", state=MessageState.PARTIAL)
number = 0
while True:
    number += 1
    answer = replace(answer, content=answer.content + f"{number} ")
    store.update(answer)
    print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_it_had_saved(file: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, cwd=source_root()
    )
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) >= 30:
            break
    writer.kill()
    saved = [int(line) for line in writer.stdout.read().split()]
    writer.stdout.close()
    writer.wait()
    store = ConversationStore(file)
    assert store.findings == ()
    conversation = store.read(store.list()[0].id)
    store.close()
    assert conversation is not None
    answer = conversation.messages[-1]
    numbers = [int(number) for number in answer.content.split()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= (saved[-1] if saved else 30)
    assert answer.state is MessageState.PARTIAL


@pytest.mark.parametrize("damage", ["garbage", "page", "cut", "schema"])
def test_a_damaged_database_is_set_aside_and_a_new_one_begun(file: Path, damage: str) -> None:
    store = ConversationStore(file)
    conversation_id = store.create("old")
    for number in range(200):
        store.append(conversation_id, "user", f"message {number} " * 20)
    store.close()
    content = bytearray(file.read_bytes())
    if damage == "garbage":
        content[:] = b"<html>not a database</html>" * 500
    elif damage == "page":
        content[4096:16384] = b"\xff" * 12288
    elif damage == "schema":  # SQLite's complaint quotes it, and Python cannot decode the complaint
        content[:] = content.replace(b"CREATE TABLE messages", b"CREATE \xfc\xfcBLE messages")
    else:
        del content[len(content) // 2 :]
    file.write_bytes(content)

    store = ConversationStore(file)
    (finding,) = store.findings
    assert finding.code is FindingCode.STORE_UNREADABLE
    assert Path(str(finding.values["kept_as"])).read_bytes() == content
    assert store.list() == ()
    store.create("new")
    store.close()
    store = ConversationStore(file)
    assert store.findings == ()
    assert [row.title for row in store.list()] == ["new"]
    store.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), noise=st.binary(min_size=1, max_size=64))
def test_damage_anywhere_gives_a_finding_or_text_and_never_another_error(
    tmp_path: Path, position: float, noise: bytes
) -> None:
    file = tmp_path / "fuzz.sqlite3"
    for leftover in tmp_path.glob("fuzz*"):
        leftover.unlink()
    store = ConversationStore(file)
    conversation_id = store.create("old")
    store.append(conversation_id, "user", "Q" * 3000)
    store.close()
    content = bytearray(file.read_bytes())
    start = int(position * len(content))
    content[start : start + len(noise)] = noise
    file.write_bytes(content)
    try:
        store = ConversationStore(file)
    except FindingError:
        return
    try:
        for row in store.list():
            store.read(row.id)
        store.create("new")
    except FindingError:
        pass
    finally:
        store.close()


def test_a_full_disk_is_a_finding_and_loses_nothing_saved(tmp_path: Path) -> None:
    with full_disk(tmp_path) as disk:
        file = disk.folder / "chats.sqlite3"
        store = ConversationStore(file)
        conversation_id = store.create("kept")
        store.append(conversation_id, "user", "kept")
        answer = store.append(conversation_id, "assistant", "kept too", state=MessageState.PARTIAL)
        disk.fill()
        with pytest.raises(FindingError) as caught:
            store.update(replace(answer, content="x" * 4_000_000))
        assert caught.value.finding.code is FindingCode.DISK_FULL
        conversation = store.read(conversation_id)
        assert conversation is not None
        assert [message.content for message in conversation.messages] == ["kept", "kept too"]
        disk.empty()
        store.update(replace(answer, content="saved after all"))
        store.close()
        store = ConversationStore(file)
        conversation = store.read(conversation_id)
        store.close()
        assert conversation is not None
        assert conversation.messages[-1].content == "saved after all"


def test_a_database_limit_is_a_full_disk_as_well(store: ConversationStore) -> None:
    connection = store._database._open()
    connection.execute("PRAGMA max_page_count = 20")
    conversation_id = store.create()
    with pytest.raises(FindingError) as caught:
        store.append(conversation_id, "user", "x" * 500_000)
    assert caught.value.finding.code is FindingCode.DISK_FULL
    assert store.append(conversation_id, "user", "small").content == "small"


def test_a_folder_that_cannot_be_written_is_a_finding(tmp_path: Path) -> None:
    with read_only_disk(tmp_path) as folder, pytest.raises(FindingError) as caught:
        ConversationStore(folder / "chats.sqlite3")
    assert caught.value.finding.code is FindingCode.STORE_READ_ONLY


def test_a_folder_in_place_of_the_file_is_a_finding(file: Path) -> None:
    file.mkdir()
    with pytest.raises(FindingError) as caught:
        ConversationStore(file)
    assert caught.value.finding.code is FindingCode.NOT_A_FILE


def test_a_store_that_another_program_holds_says_so_and_takes_the_next_save(
    store: ConversationStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    blocker = sqlite3.connect(file, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    late = ConversationStore(file)
    assert [(f.code, f.severity) for f in late.findings] == [(FindingCode.STORE_BUSY, Severity.WARNING)]
    with pytest.raises(FindingError) as caught:
        late.create()
    assert caught.value.finding.code is FindingCode.STORE_BUSY
    blocker.execute("ROLLBACK")
    blocker.close()
    conversation_id = late.create()
    late.append(conversation_id, "user", "kept")
    late.close()
    kept = store.read(conversation_id)
    assert kept is not None and kept.messages[0].content == "kept"


def test_looking_at_a_store_changes_nothing(file: Path) -> None:
    assert check_database(file) == ()
    store = ConversationStore(file)
    store.create()
    assert check_database(file) == ()
    store.close()
    before = {path: path.stat().st_mtime_ns for path in file.parent.iterdir()}
    assert check_database(file) == ()
    assert {path: path.stat().st_mtime_ns for path in file.parent.iterdir()} == before


def test_a_store_that_is_no_store_is_found_by_looking(file: Path) -> None:
    file.mkdir()
    assert [f.code for f in check_database(file)] == [FindingCode.NOT_A_FILE]
    with pytest.raises(FindingError) as caught:
        ConversationStore(file)
    assert caught.value.finding.code is FindingCode.NOT_A_FILE
    file.rmdir()
    file.write_bytes(b"no database at all, but long enough to be read as one" * 20)
    assert [f.code for f in check_database(file)] == [FindingCode.STORE_UNREADABLE]
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert [f.code for f in check_database(file)] == [FindingCode.STORE_TOO_NEW]


def test_the_version_shown_is_kept_until_something_is_added(store: ConversationStore) -> None:
    conversation_id = store.create()
    question = store.append(conversation_id, "user", "one")
    first = store.append(conversation_id, "assistant", "first", parent_id=question.id)
    store.append(conversation_id, "assistant", "second", parent_id=question.id)
    store.set_end(conversation_id, first.id)
    assert line_of(store, conversation_id) == ["one", "first"]
    store.append(conversation_id, "user", "two", parent_id=first.id)
    assert line_of(store, conversation_id) == ["one", "first", "two"]


def test_an_end_that_is_gone_leads_to_the_newest_message(store: ConversationStore) -> None:
    conversation_id = store.create()
    question = store.append(conversation_id, "user", "one")
    first = store.append(conversation_id, "assistant", "first", parent_id=question.id)
    store.append(conversation_id, "assistant", "second", parent_id=question.id)
    store.set_end(conversation_id, first.id)
    store.delete_message(first.id)
    assert line_of(store, conversation_id) == ["one", "second"]
    store.set_end(conversation_id, None)
    assert line_of(store, conversation_id) == ["one", "second"]


def test_a_store_of_the_first_version_gets_its_new_column(file: Path) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    migrate(connection, MIGRATIONS[:1])
    connection.execute("INSERT INTO conversations (title, created_at, updated_at) VALUES ('old', 1, 1)")
    connection.close()
    store = ConversationStore(file)
    try:
        assert [summary.title for summary in store.list()] == ["old"]
        store.set_end(store.list()[0].id, None)
    finally:
        store.close()


def line_of(store: ConversationStore, conversation_id: int) -> list[str]:
    conversation = store.read(conversation_id)
    assert conversation is not None
    return [message.content for message in conversation.line()]
