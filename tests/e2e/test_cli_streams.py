"""Streams that are closed, full or without a reader: no traceback, a status that fits, no stray file."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from app.paths import source_root

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="redirections of a POSIX shell")

TINY = source_root() / "resources" / "selftest" / "tiny-moe.gguf"
INSPECT = f"inspect {shlex.quote(str(TINY))}"
CHAT = f"chat {shlex.quote(str(TINY))} --engine echo --prompt hello"
TALK = f"chat {shlex.quote(str(TINY))} --engine echo"
NOWHERE = (">&-", ">/dev/full")


def shell(rest: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `moxie` through a shell."""
    command = f"{shlex.quote(sys.executable)} -m app {rest}"
    done = subprocess.run(
        ["bash", "-c", command], input=given, capture_output=True, cwd=source_root(), timeout=120, check=False
    )
    assert b"Traceback" not in done.stderr + done.stdout
    assert b"Exception ignored" not in done.stderr
    return done


@pytest.mark.parametrize("where", NOWHERE)
@pytest.mark.parametrize(
    "what",
    [
        INSPECT,
        f"{INSPECT} --json",
        "doctor",
        "engines list",
        f"plan {TINY} --ram 1GiB",
        CHAT,
        f"{CHAT} --json",
    ],
)
def test_results_that_reach_nobody_are_a_failure_with_a_reason(what: str, where: str) -> None:
    done = shell(f"{what} {where}")
    assert done.returncode == 1
    assert b"standard output" in done.stderr


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("what", [INSPECT, f"{CHAT} --json"])
def test_progress_that_reaches_nobody_harms_nothing(what: str, where: str) -> None:
    done = shell(f"{what} {where}")
    assert done.returncode == 0
    assert done.stdout


def test_without_any_stream_nothing_of_ours_takes_their_place(data_home: Path) -> None:
    assert shell(f"{CHAT} <&- >&- 2>&-").returncode == 1
    shown = json.loads(shell(f"{CHAT} --json").stdout)
    assert shown["conversation_id"] == 2  # the first one was saved whole
    assert (data_home / "chats.sqlite3").read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("where", ["<&-", "</dev/null"])
def test_a_conversation_without_input_ends_at_once(where: str) -> None:
    assert shell(f"{TALK} {where}").returncode == 0


def test_input_that_is_no_text_is_a_question_like_any_other() -> None:
    done = shell(TALK, b"\xff\xfe?\n/quit\n")
    assert done.returncode == 0
    assert done.stdout


def test_a_reader_that_leaves_is_no_fault() -> None:
    assert b"standard output" not in shell(f"{INSPECT} | head -c 1").stderr


def test_help_that_reaches_nobody_ends_quietly() -> None:
    assert shell("inspect --help >&-").returncode in (0, 1)
    assert shell("inspect --help >/dev/full").returncode in (0, 1, 120)
