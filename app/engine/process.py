"""Child processes that end with their parent, open no console window and leave no zombie."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

Stream = int | IO[bytes] | None

_PR_SET_PDEATHSIG: Final = 1
_SIGKILL: Final = 9
_CREATE_NO_WINDOW: Final = 0x08000000
_JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE: Final = 0x2000
_JOB_OBJECT_EXTENDED_LIMIT_INFORMATION: Final = 9


@dataclass(frozen=True, slots=True)
class ChildStreams:
    """Where a child's three streams go: `subprocess.PIPE`, `DEVNULL`, a file, or None to inherit."""

    stdin: Stream = subprocess.DEVNULL
    stdout: Stream = subprocess.PIPE
    stderr: Stream = subprocess.PIPE


def start_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    streams: ChildStreams,
    die_with_parent: bool,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child without a console window.

    Args:
        die_with_parent: True for a worker's own child: it joins the worker's process group and dies
            with it (Linux: parent-death signal, so start it from the thread that lives as long as the
            process; Windows: job object). False starts the leader of a new group, out of reach of
            Ctrl-C in the terminal, that watches its stdin to see its parent go.

    Raises:
        OSError: the program cannot be started.
    """
    tie = _PdeathSignal() if die_with_parent and sys.platform == "linux" else None
    process = subprocess.Popen(
        list(argv),
        stdin=streams.stdin,
        stdout=streams.stdout,
        stderr=streams.stderr,
        env=dict(env),
        cwd=cwd,
        start_new_session=not die_with_parent,
        creationflags=_CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        preexec_fn=tie,
    )
    if sys.platform == "win32":
        _kill_on_close(process)
    return process


def end_child(process: subprocess.Popen[bytes], timeout_seconds: float = 2.0) -> int:
    """End a child and reap it: asked first, killed with its group after the timeout. Returns its exit code.

    Its pipes stay open: whoever reads them sees their end.
    """
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            kill_child(process)
    return process.wait()


def kill_child(process: subprocess.Popen[bytes]) -> None:
    """Kill a child at once, with the group it leads; the caller reaps it."""
    if process.poll() is not None:
        return
    if sys.platform != "win32" and _leads_group(process.pid):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def kill_own_group() -> None:
    """Kill this process and every child of its group, when it leads one; else return.

    The worker's last act: no handler, no buffer, no thread of it or of a child runs after this.
    """
    if sys.platform != "win32" and _leads_group(os.getpid()):
        os.killpg(os.getpid(), signal.SIGKILL)


def _leads_group(pid: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


class _PdeathSignal:
    """Run in the child between fork and exec; everything it needs is looked up before the fork."""

    def __init__(self) -> None:
        self._prctl = ctypes.CDLL(None).prctl
        self._parent = os.getpid()

    def __call__(self) -> None:
        self._prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != self._parent:  # it died before the line above took effect
            os._exit(1)


class BasicLimitInformation(ctypes.Structure):
    """`JOBOBJECT_BASIC_LIMIT_INFORMATION` of winnt.h; widths are exact on every 64-bit system."""

    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class IoCounters(ctypes.Structure):
    """`IO_COUNTERS` of winnt.h."""

    _fields_ = (
        ("ReadOperationCount", ctypes.c_uint64),
        ("WriteOperationCount", ctypes.c_uint64),
        ("OtherOperationCount", ctypes.c_uint64),
        ("ReadTransferCount", ctypes.c_uint64),
        ("WriteTransferCount", ctypes.c_uint64),
        ("OtherTransferCount", ctypes.c_uint64),
    )


class ExtendedLimitInformation(ctypes.Structure):
    """`JOBOBJECT_EXTENDED_LIMIT_INFORMATION` of winnt.h."""

    _fields_ = (
        ("BasicLimitInformation", BasicLimitInformation),
        ("IoInfo", IoCounters),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def _kill_on_close(process: subprocess.Popen[bytes]) -> None:
    """Put the child, and what it will start, into a job that ends with this process.

    The job's handle is never closed by us: Windows closes it when this process ends, however that
    happens, and the job's processes with it. A system that refuses leaves the child to its stdin.
    """
    if sys.platform != "win32":
        return
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel32.CreateJobObjectW.restype = ctypes.c_void_p
    kernel32.CreateJobObjectW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p)
    kernel32.SetInformationJobObject.argtypes = (
        ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32,
    )  # fmt: skip
    kernel32.AssignProcessToJobObject.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    limits = ExtendedLimitInformation()
    limits.BasicLimitInformation.LimitFlags = _JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
    job = kernel32.CreateJobObjectW(None, None)
    kernel32.SetInformationJobObject(
        job, _JOB_OBJECT_EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
    )
    if not kernel32.AssignProcessToJobObject(job, int(process._handle)):  # type: ignore[attr-defined, unused-ignore]  # Popen's own, not in the stubs
        sys.stderr.write(f"no job object for child {process.pid}: {ctypes.get_last_error()}\n")
