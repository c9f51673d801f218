"""Child processes that end with their parent, take what they started along, and leave no zombie."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from app.processes.activity import Activity, ProcessStat, descendants, group_activity, still_runs
from app.processes.windows_job import Job

Stream = int | IO[bytes] | None

_PR_SET_PDEATHSIG: Final = 1
_SIGKILL: Final = 9
_CREATE_NO_WINDOW: Final = 0x08000000
_LONGEST_NAP_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class ChildStreams:
    """Where a child's three streams go: `subprocess.PIPE`, `DEVNULL`, a file, or None to inherit."""

    stdin: Stream = subprocess.DEVNULL
    stdout: Stream = subprocess.PIPE
    stderr: Stream = subprocess.PIPE


class ChildProcess(subprocess.Popen[bytes]):
    """A child; one that leads a process group ends with the whole group.

    The group is killed between the leader's end and its reaping: until it is reaped, its number is
    nobody else's.
    """

    def __init__(self, argv: Sequence[str], *, leads_group: bool, **choices: Any) -> None:
        """Start it; `choices` are those of `Popen`.

        Raises:
            OSError: the program cannot be started.
        """
        self._reaping = threading.Lock()
        self._leads_group = leads_group and sys.platform != "win32"
        super().__init__(list(argv), start_new_session=self._leads_group, **choices)
        self._job = Job(self) if sys.platform == "win32" else None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self._leads_group and self.returncode is None and not self._has_ended():
            return None
        return self._reap()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and end what is left of its group.

        Raises:
            subprocess.TimeoutExpired: it runs on.
        """
        if not self._leads_group:
            return super().wait(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        nap_seconds = 0.0005
        while self.returncode is None and not self._has_ended(blocks=deadline is None):
            left = 0.0 if deadline is None else deadline - time.monotonic()
            if left <= 0.0:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            nap_seconds = min(nap_seconds * 2, left, _LONGEST_NAP_SECONDS)
            time.sleep(nap_seconds)
        code = self._reap()
        return super().wait() if code is None else code

    def kill_all(self) -> None:
        """Kill it at once with what it started; the caller reaps it."""
        if self._job is not None:
            self._job.kill()
        elif self._leads_group:
            with self._reaping:
                if self.returncode is None:
                    _kill_group(self.pid)
        else:
            children = descendants(self.pid) if self.returncode is None else []
            self.kill()
            _kill_each(children)

    def limit(self, memory_bytes: int, cpu_seconds: int) -> None:
        """Limit its memory, and the CPU time it may take from now on.

        Windows only: elsewhere a child must take its limits itself.
        """
        if self._job is not None:
            self._job.limit(memory_bytes, cpu_seconds)

    def activity(self) -> Activity | None:
        """Return what it and its group have done so far; None when the system does not say."""
        return self._job.activity() if self._job is not None else group_activity(self.pid)

    def _has_ended(self, *, blocks: bool = False) -> bool:
        """Say whether it has ended, without reaping it."""
        if sys.platform == "win32":
            return super().poll() is not None
        options = os.WEXITED | os.WNOWAIT | (0 if blocks else os.WNOHANG)
        try:
            return os.waitid(os.P_PID, self.pid, options) is not None
        except ChildProcessError:  # reaped by another thread
            return True

    def _reap(self) -> int | None:
        with self._reaping:
            if self._leads_group and self.returncode is None:
                _kill_group(self.pid)
            return super().poll()


def start_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    streams: ChildStreams,
    die_with_parent: bool,
    cwd: Path | None = None,
    leads_group: bool | None = None,
) -> ChildProcess:
    """Start a child without a console window.

    Args:
        die_with_parent: True for a worker's own child: it dies with the worker (Linux: parent-death
            signal, so start it from the thread that lives as long as the process; Windows: job object).
            False starts a child out of reach of Ctrl-C in the terminal, that watches its stdin to see
            its parent go.
        leads_group: Whether it leads a process group of its own, which ends when it does; None for
            "when it does not die with its parent". Without one it belongs to its parent's group.

    Raises:
        OSError: the program cannot be started.
    """
    tie = _PdeathSignal() if die_with_parent and sys.platform == "linux" else None
    return ChildProcess(
        argv,
        leads_group=not die_with_parent if leads_group is None else leads_group,
        stdin=streams.stdin,
        stdout=streams.stdout,
        stderr=streams.stderr,
        env=dict(env),
        cwd=cwd,
        creationflags=_CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        preexec_fn=tie,
    )


def end_child(process: ChildProcess, timeout_seconds: float = 2.0) -> int:
    """End a child and reap it: asked first, killed after the timeout, what it started with it.

    Its pipes stay open: whoever reads them sees their end. Returns its exit code.
    """
    if process.poll() is None:
        children = descendants(process.pid)  # a script that started the engine may end without it
        process.terminate()
        try:
            process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            process.kill_all()
        _kill_each(children)
    return process.wait()


def kill_own_group() -> None:
    """Kill this process and every child of its group, when it leads one; else return.

    The worker's last act: no handler, no buffer, no thread of it or of a child runs after this.
    """
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)


def _kill_group(leader: int) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _kill_each(processes: Sequence[ProcessStat]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if still_runs(process):
                os.kill(process.pid, _SIGKILL)


class _PdeathSignal:
    """Run in the child between fork and exec; everything it needs is looked up before the fork."""

    def __init__(self) -> None:
        self._prctl = ctypes.CDLL(None).prctl
        self._parent = os.getpid()

    def __call__(self) -> None:
        self._prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != self._parent:  # it died before the line above took effect
            os._exit(1)
