"""A Windows job object: the processes in it end with us, or when told, and it counts what they did."""

import ctypes
import subprocess
import sys
from typing import Any, Final

from app.processes.activity import Activity

_LIMIT_PROCESS_TIME: Final = 0x2
_LIMIT_PROCESS_MEMORY: Final = 0x100
_LIMIT_DIE_ON_UNHANDLED_EXCEPTION: Final = 0x400
_LIMIT_KILL_ON_JOB_CLOSE: Final = 0x2000
_BASIC_AND_IO_ACCOUNTING: Final = 8
_EXTENDED_LIMIT: Final = 9
_TICKS_PER_SECOND: Final = 10_000_000
_PAGE_BYTES: Final = 4096
_KILLED: Final = 1


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


class AccountingInformation(ctypes.Structure):
    """`JOBOBJECT_BASIC_AND_IO_ACCOUNTING_INFORMATION` of winnt.h."""

    _fields_ = (
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", ctypes.c_uint32),
        ("TotalProcesses", ctypes.c_uint32),
        ("ActiveProcesses", ctypes.c_uint32),
        ("TotalTerminatedProcesses", ctypes.c_uint32),
        ("IoInfo", IoCounters),
    )


class Job:
    """The job of one child and all that it starts.

    Its handle is never closed by us: Windows closes it when this process ends, however that happens,
    and ends the job's processes. A system that refuses leaves the child to its stdin.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Put the child, and what it will start, into a new job."""
        self._kernel32 = _kernel32()
        limits = ExtendedLimitInformation()
        limits.BasicLimitInformation.LimitFlags = _LIMIT_KILL_ON_JOB_CLOSE
        self._handle = self._kernel32.CreateJobObjectW(None, None)
        self._set(limits)
        handle = int(process._handle)  # type: ignore[attr-defined, unused-ignore]  # Popen's own, not in the stubs
        if not self._kernel32.AssignProcessToJobObject(self._handle, handle):
            sys.stderr.write(f"no job object for child {process.pid}\n")

    def limit(self, memory_bytes: int, cpu_seconds: int) -> None:
        """Limit the memory each process may commit, and the user time it may take from now on."""
        done = self.activity()
        limits = ExtendedLimitInformation()
        basic = limits.BasicLimitInformation
        basic.LimitFlags = (
            _LIMIT_KILL_ON_JOB_CLOSE
            | _LIMIT_PROCESS_TIME
            | _LIMIT_PROCESS_MEMORY
            | _LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        )
        spent = 0.0 if done is None else done.cpu_seconds
        basic.PerProcessUserTimeLimit = int((spent + cpu_seconds) * _TICKS_PER_SECOND)
        limits.ProcessMemoryLimit = memory_bytes
        self._set(limits)

    def kill(self) -> None:
        """End every process in it at once."""
        self._kernel32.TerminateJobObject(self._handle, _KILLED)

    def activity(self) -> Activity | None:
        """Return what its processes, ended ones too, have done so far; None when Windows does not say."""
        counts = AccountingInformation()
        if not self._kernel32.QueryInformationJobObject(
            self._handle, _BASIC_AND_IO_ACCOUNTING, ctypes.byref(counts), ctypes.sizeof(counts), None
        ):
            return None
        ticks = counts.TotalUserTime + counts.TotalKernelTime
        moved = counts.IoInfo.ReadTransferCount + counts.IoInfo.WriteTransferCount
        # a mapped file is read by page faults, which no transfer count holds
        return Activity(ticks / _TICKS_PER_SECOND, moved + counts.TotalPageFaultCount * _PAGE_BYTES)

    def _set(self, limits: ExtendedLimitInformation) -> None:
        self._kernel32.SetInformationJobObject(
            self._handle, _EXTENDED_LIMIT, ctypes.byref(limits), ctypes.sizeof(limits)
        )


def _kernel32() -> Any:
    if sys.platform != "win32":
        raise OSError("job objects are of Windows")
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, pointer, number = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32
    kernel32.CreateJobObjectW.restype = handle
    kernel32.CreateJobObjectW.argtypes = (pointer, ctypes.c_wchar_p)
    kernel32.SetInformationJobObject.argtypes = (handle, ctypes.c_int, pointer, number)
    kernel32.QueryInformationJobObject.argtypes = (handle, ctypes.c_int, pointer, number, pointer)
    kernel32.AssignProcessToJobObject.argtypes = (handle, handle)
    kernel32.TerminateJobObject.argtypes = (handle, number)
    return kernel32
