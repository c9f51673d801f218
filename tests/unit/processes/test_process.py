"""Children end when they should; the Windows structures have the widths Windows expects."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from app.processes.children import ChildProcess, ChildStreams, end_child, start_child
from app.processes.windows_job import (
    AccountingInformation,
    BasicLimitInformation,
    ExtendedLimitInformation,
    IoCounters,
)
from tests.session_recorder import gone_within

SILENT = ChildStreams(subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)
SIGKILL = 9
SLEEP = "import time; time.sleep(600)"


def python(code: str, streams: ChildStreams = SILENT, **choices: bool) -> ChildProcess:
    die_with_parent = choices.get("die_with_parent", False)
    return start_child(
        [sys.executable, "-c", code], env=os.environ, streams=streams, die_with_parent=die_with_parent
    )


def test_the_job_structures_are_as_wide_as_winnt_h_says() -> None:
    assert ctypes.sizeof(BasicLimitInformation) == 64
    assert ctypes.sizeof(IoCounters) == 48
    assert ctypes.sizeof(ExtendedLimitInformation) == 144
    assert ctypes.sizeof(AccountingInformation) == 96
    assert BasicLimitInformation.LimitFlags.offset == 16
    assert ExtendedLimitInformation.ProcessMemoryLimit.offset == 112


def test_a_child_asked_to_end_is_reaped() -> None:
    child = python(SLEEP)
    end_child(child)
    assert child.returncode is not None
    assert not psutil.pid_exists(child.pid)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM cannot be ignored there")
def test_a_child_that_ignores_the_request_is_killed() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); "
    child = python(deaf + "time.sleep(600)", ChildStreams(subprocess.DEVNULL, subprocess.PIPE, None))
    assert child.stdout is not None
    with child.stdout as out:
        assert out.readline() == b"deaf\n"
        assert end_child(child, timeout_seconds=0.1) == -SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_killing_a_worker_kills_its_group() -> None:
    family = (
        "import subprocess, sys, time; "
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); "
        "print(child.pid, flush=True); time.sleep(600)"
    )
    worker = python(family, ChildStreams(subprocess.DEVNULL, subprocess.PIPE, None))
    assert worker.stdout is not None
    with worker.stdout as out:
        grandchild = int(out.readline())
    worker.kill_all()
    assert worker.wait() == -SIGKILL
    assert gone_within([grandchild], 5.0)


FAMILY = (
    "import subprocess, sys, time; "
    f"child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); "
    "print(child.pid, flush=True); "
)
"""A program that starts another one, as a wrapper script without `exec` does."""


def start_family(rest: str, **choices: bool) -> tuple[ChildProcess, int]:
    parent = python(FAMILY + rest, ChildStreams(subprocess.DEVNULL, subprocess.PIPE, None), **choices)
    assert parent.stdout is not None
    with parent.stdout as out:
        return parent, int(out.readline())


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
@pytest.mark.parametrize("rest", ["", "os = __import__('os'); os.kill(os.getpid(), 9)"])
def test_whatever_ends_a_leader_ends_its_group(rest: str) -> None:
    leader, child = start_family(rest)
    leader.wait(10)
    assert gone_within([child], 5.0)


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_looking_whether_a_leader_lives_ends_the_group_of_a_dead_one() -> None:
    leader, child = start_family("")
    deadline = time.monotonic() + 10
    while leader.poll() is None:
        assert time.monotonic() < deadline
    assert gone_within([child], 5.0)


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_two_who_wait_for_a_leader_get_the_same_code() -> None:
    leader = python("import sys, time; time.sleep(0.3); sys.exit(7)")
    codes: list[int] = []
    waiting = [threading.Thread(target=lambda: codes.append(leader.wait())) for _ in range(4)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(10)
    assert codes == [7] * 4
    assert leader.poll() == 7


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_waiting_for_a_leader_has_a_limit() -> None:
    leader = python(SLEEP)
    with pytest.raises(subprocess.TimeoutExpired):
        leader.wait(0.05)
    end_child(leader)


@pytest.mark.skipif(sys.platform != "linux", reason="who started whom comes from /proc")
def test_ending_a_wrapper_ends_what_it_started_and_nothing_else() -> None:
    other = python(SLEEP, die_with_parent=True)
    wrapper, child = start_family("time.sleep(600)", die_with_parent=True)
    end_child(wrapper)
    assert gone_within([child], 5.0)
    assert other.poll() is None
    end_child(other)


def test_a_missing_program_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start_child([str(tmp_path / "nothing")], env={}, streams=SILENT, die_with_parent=False)


@pytest.mark.skipif(sys.platform != "linux", reason="parent-death signal")
def test_a_child_dies_with_its_parent_however_that_dies(tmp_path: Path) -> None:
    parent_code = (
        "import os, sys, time; from app.processes.children import *; import subprocess; "
        "null = subprocess.DEVNULL; "
        f"child = start_child([sys.executable, '-c', {SLEEP!r}], env=os.environ, "
        "streams=ChildStreams(null, null, null), die_with_parent=True); "
        "print(child.pid, flush=True); time.sleep(600)"
    )
    parent = python(parent_code, ChildStreams(subprocess.DEVNULL, subprocess.PIPE, None))
    assert parent.stdout is not None
    with parent.stdout as out:
        child_pid = int(out.readline())
    parent.kill()
    parent.wait()
    assert gone_within([child_pid], 5.0)
