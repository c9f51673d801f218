"""`moxie chat` as a person runs it: a process of its own, the echo engine in another one."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.chat.conversation import Message, MessageState
from app.chat.store import ConversationStore
from app.library.default_model import FILE_NAME
from app.paths import HOME_VARIABLE, resource_path, source_root
from tests.small_disks import full_disk

TINY = str(resource_path("selftest", "tiny-moe.gguf"))
TIMEOUT_SECONDS = 60
CONTRACT = {
    "text",
    "reasoning",
    "finish_reason",
    "timings",
    "asked",
    "applied",
    "buffers",
    "findings",
}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "app", "chat", *args]


def moxie(*args: str, text: str = "", home: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ if home is None else {**os.environ, HOME_VARIABLE: str(home)}
    return subprocess.run(
        command(*args),
        input=text,
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        env=environment,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def echo_json(*args: str) -> tuple[int, dict[str, Any]]:
    done = moxie(TINY, "--engine", "echo", "--json", *args)
    assert "Traceback" not in done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document


def codes(document: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in document["findings"]]


def stored_answer(home: Path) -> Message:
    store = ConversationStore(home / "chats.sqlite3")
    conversation = store.read(store.list()[0].id)
    store.close()
    assert conversation is not None
    return conversation.messages[-1]


def test_an_answer_goes_to_stdout_and_everything_else_to_stderr(data_home: Path) -> None:
    done = moxie(TINY, "--engine", "echo", "--prompt", "Hello 世界")
    assert done.returncode == 0
    assert done.stdout == "Hello 世界\n"
    assert "Plan:" in done.stderr
    assert "tokens per second" in done.stderr
    answer = stored_answer(data_home)
    assert (answer.content, answer.state, answer.finish_reason) == (
        "Hello 世界",
        MessageState.COMPLETE,
        "stop",
    )


def test_the_other_language_says_the_same_in_its_words() -> None:
    done = moxie(TINY, "--engine", "echo", "--prompt", "Hi", "--lang", "zh_CN")
    assert done.stdout == "Hi\n"
    assert "方案：" in done.stderr
    assert "每秒" in done.stderr


def test_the_json_document_has_every_key_of_the_contract() -> None:
    status, document = echo_json("--prompt", "a b c", "--max-tokens", "2", "--seed", "7", "--moe", "all")
    assert status == 0
    assert document.keys() >= CONTRACT
    assert document["timings"].keys() >= {"prompt_tokens", "prompt_ms", "predicted_tokens", "predicted_ms"}
    assert (document["text"], document["finish_reason"]) == ("a b", "length")
    assert document["timings"]["predicted_tokens"] == 2
    assert document["asked"]["cpu_moe"] is True
    assert document["applied"] == document["asked"]
    assert document["engine"] == "echo"


def test_wishes_reach_the_engine() -> None:
    _, document = echo_json(
        *("--prompt", "x", "--context", "96", "--kv", "q8_0", "--threads", "3", "--no-repack", "--moe", "1")
    )
    asked = document["asked"]
    assert (asked["n_ctx"], asked["type_k"], asked["type_v"]) == (96, "q8_0", "q8_0")
    assert (asked["n_threads"], asked["repack"], asked["n_cpu_moe"]) == (3, False, 1)


@pytest.mark.parametrize(
    ("moe", "cpu_moe", "n_cpu_moe"),
    [("auto", False, 0), ("off", False, 0), ("all", True, 0), ("1", False, 1)],
)
def test_an_rpc_server_takes_all_layers_but_the_experts_that_are_wished_here(
    moe: str, cpu_moe: bool, n_cpu_moe: int
) -> None:
    _, document = echo_json("--prompt", "x", "--rpc", "127.0.0.1:50052", "--moe", moe)
    asked = document["asked"]
    assert asked["rpc_servers"] == ["127.0.0.1:50052"]
    assert (asked["n_gpu_layers"], asked["cpu_moe"], asked["n_cpu_moe"]) == (999, cpu_moe, n_cpu_moe)
    assert "no-gpu-in-plan" not in codes(document)


def test_reasoning_is_told_from_the_answer() -> None:
    _, document = echo_json("--prompt", "<think> two </think> four")
    assert (document["reasoning"], document["text"]) == ("two", "four")
    done = moxie(TINY, "--engine", "echo", "--prompt", "<think> two </think> four")
    assert done.stdout == "four\n"
    assert "Thinking:\ntwo" in done.stderr


def test_a_missing_path_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    for language in ("en", "zh_CN"):
        done = moxie(str(tmp_path / "没有 this.gguf"), "--prompt", "x", "--lang", language)
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1
        assert "没有 this.gguf" in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("--json",),
        ("--prompt", " "),
        ("--prompt", "x", "--moe", "some"),
        ("--prompt", "x", "--temperature", "99"),
        ("--prompt", "x", "--seed", "-1"),
        ("--prompt", "x", "--context", "-1"),
        ("--prompt", "x", "--threads", "many"),
        ("--prompt", "x", "--no-such-option"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_2(args: Sequence[str]) -> None:
    done = moxie(TINY, "--engine", "echo", *args)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_is_no_model_starts_no_engine(tmp_path: Path) -> None:
    page = tmp_path / "model.gguf"
    page.write_text("<!DOCTYPE html><html></html>")
    done = moxie(str(page), "--prompt", "x", "--json", "--engine", "no-such-engine")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert codes(document) == ["not-gguf"]
    assert document["asked"] == {}
    assert document.keys() >= CONTRACT
    done = moxie(str(page), "--prompt", "x")
    assert done.returncode == 1
    assert "Error:" in done.stderr


def test_an_unknown_engine_is_a_finding() -> None:
    done = moxie(TINY, "--engine", "no-such-engine", "--prompt", "x", "--json")
    assert done.returncode == 1
    assert codes(json.loads(done.stdout)) == ["engine-not-found"]


def test_the_default_model_is_taken_and_its_language_is_told(data_home: Path) -> None:
    done = moxie("--engine", "echo", "--prompt", "x", "--json")
    assert done.returncode == 1
    assert codes(json.loads(done.stdout)) == ["default-model-missing"]

    (data_home / "models").mkdir(parents=True, exist_ok=True)
    (data_home / "models" / FILE_NAME).write_bytes(Path(TINY).read_bytes())
    chinese = json.loads(moxie("--engine", "echo", "--prompt", "x", "--json", "--lang", "zh_CN").stdout)
    english = json.loads(moxie("--engine", "echo", "--prompt", "x", "--json").stdout)
    assert "default-model-english-only" in codes(chinese)
    assert "default-model-english-only" not in codes(english)


def test_a_conversation_remembers_and_can_begin_anew(data_home: Path) -> None:
    done = moxie(
        TINY, "--engine", "echo", "--system", "S", text="first 问题\n\n/new\nsecond\nthird\n/quit\nnever\n"
    )
    assert done.returncode == 0
    assert done.stdout == "first 问题\nsecond\nthird\n"
    store = ConversationStore(data_home / "chats.sqlite3")
    rows = store.list()
    assert [(row.title, row.message_count) for row in rows] == [("second", 5), ("first 问题", 3)]
    store.close()


def test_the_end_of_the_input_ends_the_conversation() -> None:
    done = moxie(TINY, "--engine", "echo", text="last")
    assert (done.returncode, done.stdout) == (0, "last\n")


def test_no_save_leaves_no_conversation(data_home: Path) -> None:
    _, document = echo_json("--prompt", "secret", "--no-save")
    assert document["conversation_id"] is None
    assert not (data_home / "chats.sqlite3").exists()


WORDS = " ".join(f"word{number}" for number in range(2000))


def stopped_in_mid_answer(stop: Callable[[subprocess.Popen[str]], None], *args: str) -> tuple[int, str, str]:
    """Start a slow answer, call `stop` once some of it is there, and return status, stdout and stderr."""
    process = subprocess.Popen(
        command(TINY, "--engine", "echo", "--prompt", f"/slow {WORDS}", *args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=source_root(),
    )
    assert process.stdout is not None
    seen = ""
    while "word9" not in seen:
        seen += process.stdout.read(1)
        assert process.poll() is None
    stop(process)
    rest, complaints = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, seen + rest, complaints


def kill_engine(process: subprocess.Popen[str]) -> None:
    for child in psutil.Process(process.pid).children(recursive=True):
        child.kill()


def test_an_engine_killed_in_mid_answer_leaves_the_partial_answer_and_a_finding(data_home: Path) -> None:
    status, shown, complaints = stopped_in_mid_answer(kill_engine)
    assert status == 1
    assert shown.startswith("word0 word1 word2")
    assert "Error:" in complaints
    assert "Traceback" not in complaints
    answer = stored_answer(data_home)
    assert answer.state is MessageState.FAILED
    assert shown == f"{answer.content}\n"


def test_an_engine_that_crashes_is_a_finding_in_the_document() -> None:
    status, document = echo_json("--prompt", "/die SIGSEGV half an answer")
    assert status == 1
    assert document["text"] == "half an answer"
    assert document["finish_reason"] is None
    assert any(code.startswith("engine-") for code in codes(document))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_stops_the_answer_and_keeps_it(data_home: Path) -> None:
    status, shown, complaints = stopped_in_mid_answer(lambda process: process.send_signal(signal.SIGINT))
    assert status == 130
    assert "Traceback" not in complaints
    answer = stored_answer(data_home)
    assert (answer.state, answer.finish_reason) == (MessageState.CANCELLED, "cancelled")
    assert shown == f"{answer.content}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently there")
def test_a_reader_that_goes_away_ends_the_answer_without_complaint_and_keeps_it(data_home: Path) -> None:
    process = subprocess.Popen(
        command(TINY, "--engine", "echo", "--prompt", f"/slow {WORDS}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=source_root(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(5) == "word0"
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert process.wait(TIMEOUT_SECONDS) == 1
    assert "Traceback" not in complaints
    assert "BrokenPipe" not in complaints
    answer = stored_answer(data_home)
    assert answer.state is MessageState.CANCELLED
    assert answer.content.startswith("word0 word1")


def test_a_killed_program_leaves_what_was_saved_on_the_way(data_home: Path) -> None:
    def kill_once_saved(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        connection = sqlite3.connect(data_home / "chats.sqlite3")
        while not connection.execute("SELECT content FROM messages WHERE role = 'assistant'").fetchone()[0]:
            process.stdout.read(1)
        connection.close()
        process.kill()

    stopped_in_mid_answer(kill_once_saved)
    answer = stored_answer(data_home)
    assert answer.state is MessageState.PARTIAL
    assert answer.content.startswith("word0 word1 word2")


def test_a_full_disk_does_not_swallow_the_answer(tmp_path: Path) -> None:
    with full_disk(tmp_path) as disk:
        assert moxie(TINY, "--engine", "echo", "--prompt", "kept", home=disk.folder).returncode == 0
        disk.fill()
        question = "x" * 50_000
        done = moxie(TINY, "--engine", "echo", "--prompt", question, home=disk.folder)
        disk.empty()
        assert done.stdout == f"{question}\n"
        assert "Warning:" in done.stderr
        assert "full" in done.stderr
        assert "Traceback" not in done.stderr
        assert stored_answer(disk.folder).content == "kept"
        assert done.returncode == 0


def test_a_damaged_store_is_set_aside_and_the_chat_goes_on(data_home: Path) -> None:
    data_home.mkdir(parents=True, exist_ok=True)
    (data_home / "chats.sqlite3").write_bytes(b"not a database" * 100)
    status, document = echo_json("--prompt", "x")
    assert status == 0
    assert "store-unreadable" in codes(document)
    assert stored_answer(data_home).content == "x"
