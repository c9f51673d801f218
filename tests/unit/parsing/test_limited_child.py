"""Jobs in a process with limits: every end of it is one answer or one named failure, in time."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import app.__main__
from app.parsing.child import ChildError, ChildLimits, ChildReason, LimitedChild, run_limited
from app.parsing.frames import PARSER_FLAG
from app.parsing.jobs import TEMPLATE_CHECK
from app.paths import source_root

COMMAND = (sys.executable, "-m", "tests.child_jobs")
MIB = 1024**2
LIMITS = ChildLimits(cpu_seconds=1, wall_seconds=20.0, memory_bytes=256 * MIB, answer_bytes=MIB)

linux = pytest.mark.skipif(sys.platform != "linux", reason="POSIX limits and signals")


@pytest.fixture
def child() -> Iterator[LimitedChild]:
    limited = LimitedChild("test", LIMITS, COMMAND)
    yield limited
    limited.close()


def failure(child: LimitedChild, verb: str, argument: Any = None) -> ChildError:
    with pytest.raises(ChildError) as caught:
        child.ask([verb, argument])
    return caught.value


def test_the_program_knows_the_flag() -> None:
    assert app.__main__.PARSER_FLAG == PARSER_FLAG


def test_a_job_of_the_program_runs_in_it() -> None:
    answer = run_limited(TEMPLATE_CHECK, {"source": "{%", "bos": "", "eos": "", "previews": {}})
    assert answer["broken"]["line"] == 1


def test_values_and_bytes_come_through_and_one_process_answers_again(child: LimitedChild) -> None:
    every_byte = bytes(range(256)) * 1000
    assert child.ask(["echo", "你好\ud800"], every_byte) == ["你好\ud800", every_byte.decode("latin-1")]
    assert child.ask(["print", "noise"]) == child.ask(["print", "noise"])


def test_what_a_job_refuses_is_its_own_word_and_the_process_goes_on(child: LimitedChild) -> None:
    first = child.ask(["print", ""])
    refusal = failure(child, "refuse", "no table of pages")
    assert (refusal.reason, refusal.detail) == (ChildReason.REFUSED, "no table of pages")
    assert child.ask(["print", ""]) == first


@linux
def test_a_job_without_end_is_ended_by_its_cpu_limit(child: LimitedChild) -> None:
    assert failure(child, "spin").reason is ChildReason.CPU


def test_a_job_that_only_waits_is_ended_by_the_clock() -> None:
    child = LimitedChild("test", ChildLimits(wall_seconds=1.0), COMMAND)
    began = time.monotonic()
    assert failure(child, "sleep", 60).reason is ChildReason.TIME
    assert time.monotonic() - began < 10.0


def test_a_job_that_takes_too_much_memory_is_told_so_and_the_next_one_runs(child: LimitedChild) -> None:
    assert failure(child, "take", 400 * MIB).reason is ChildReason.MEMORY
    assert child.ask(["take", MIB]) == MIB


def test_an_answer_that_is_too_long_is_not_read(child: LimitedChild) -> None:
    assert failure(child, "say", 2 * MIB).reason is ChildReason.TOO_LONG


def test_a_child_that_dies_says_how(child: LimitedChild) -> None:
    death = failure(child, "exit", 7)
    assert (death.reason, death.detail) == (ChildReason.DIED, "7")


@linux
def test_a_child_that_crashes_says_by_which_signal(child: LimitedChild) -> None:
    assert failure(child, "signal", int(signal.SIGSEGV)).detail == str(-signal.SIGSEGV)


def test_a_job_with_a_bug_is_a_failure_with_its_words(child: LimitedChild) -> None:
    bug = failure(child, "no such verb")
    assert (bug.reason, bug.detail) == (ChildReason.DIED, "RuntimeError: no such verb")


def test_a_program_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    child = LimitedChild("test", LIMITS, [str(tmp_path / "nothing")])
    assert failure(child, "echo").reason is ChildReason.DIED


@linux
def test_a_job_writes_no_file(child: LimitedChild, tmp_path: Path) -> None:
    assert failure(child, "write", str(tmp_path / "file")).reason is ChildReason.DIED
    assert (tmp_path / "file").stat().st_size == 0


def test_a_child_sees_no_key_of_the_person(child: LimitedChild, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("https_proxy", "http://user:secret@proxy")
    assert "secret" not in str(child.ask(["environment", None]))


def test_a_question_that_nobody_waits_for_is_given_up() -> None:
    child = LimitedChild("test", ChildLimits(), COMMAND)
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(ChildError) as caught:
        child.ask(["sleep", 60], is_cancelled=cancelled.is_set)
    assert caught.value.reason is ChildReason.CANCELLED


def test_a_closed_child_leaves_no_process(child: LimitedChild) -> None:
    number = child.ask(["print", ""])
    child.close()
    assert not psutil.pid_exists(number)


@linux
def test_a_child_dies_with_its_parent() -> None:
    program = (
        "import sys, time; from app.parsing.child import *; "
        "child = LimitedChild('test', ChildLimits(), [sys.executable, '-m', 'tests.child_jobs']); "
        "print(child.ask(['print', '']), flush=True); child.ask(['sleep', 60])"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=source_root(), stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout as said:
        number = int(said.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5.0
    while psutil.pid_exists(number) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not psutil.pid_exists(number)
