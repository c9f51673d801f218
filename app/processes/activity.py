"""Whether processes that say nothing do something: processor time, disk, pages of mapped files."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")

BUSY_CPU_SHARE: Final = 0.05
"""Of one core. Waiting workers poll: worker and llama-server together measured 1 % (b10434, 2026-11)."""

BUSY_BYTES_PER_SECOND: Final = 64 * 1024

_PAGE_BYTES: Final = 4096
_IO_COUNTS: Final = ("read_bytes:", "write_bytes:")


@dataclass(frozen=True, slots=True)
class Activity:
    """What some processes have done since they began; sums, so only differences tell something.

    Attributes:
        io_bytes: Read from and written to disks, pages faulted in from mapped files included.
    """

    cpu_seconds: float
    io_bytes: int


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """The part of `/proc/PID/stat` this module reads.

    Attributes:
        started_ticks: After the system's start; tells a process from a later one with its number.
    """

    pid: int
    parent: int
    group: int
    major_faults: int
    cpu_ticks: int
    started_ticks: int


def was_busy(before: Activity, now: Activity, seconds: float) -> bool:
    """Say whether the processes worked between two readings; one that ended in between counts as work."""
    cpu_seconds, io_bytes = now.cpu_seconds - before.cpu_seconds, now.io_bytes - before.io_bytes
    if cpu_seconds < 0 or io_bytes < 0:
        return True
    return cpu_seconds > BUSY_CPU_SHARE * seconds or io_bytes > BUSY_BYTES_PER_SECOND * seconds


def group_activity(group: int, proc: Path = PROC) -> Activity | None:
    """Return what the processes of a group have done; None where the system does not tell (no `/proc`)."""
    members = [stat for stat in _processes(proc) if stat.group == group]
    if not members:
        return None
    ticks = sum(stat.cpu_ticks for stat in members)
    moved = sum(_io_bytes(proc, stat.pid) + stat.major_faults * _PAGE_BYTES for stat in members)
    return Activity(ticks / _ticks_per_second(), moved)


def descendants(pid: int, proc: Path = PROC) -> list[ProcessStat]:
    """Return the processes started by `pid`, theirs included; empty without `/proc`."""
    found: list[ProcessStat] = []
    parents = {pid}
    stats = list(_processes(proc))
    while children := [stat for stat in stats if stat.parent in parents and stat not in found]:
        found += children
        parents = {stat.pid for stat in children}
    return found


def still_runs(process: ProcessStat, proc: Path = PROC) -> bool:
    """Say whether the very process still exists, and not another one with its number."""
    stat = parse_stat(_text(proc / str(process.pid) / "stat"))
    return stat is not None and stat.started_ticks == process.started_ticks


def parse_stat(text: str) -> ProcessStat | None:
    """Read `/proc/PID/stat`; None for anything else. Source: proc(5), fields counted after the name."""
    head, _, tail = text.rpartition(")")
    words = tail.split()
    try:
        return ProcessStat(
            pid=int(head.split(" ", 1)[0]),
            parent=int(words[1]),
            group=int(words[2]),
            major_faults=int(words[9]),
            cpu_ticks=int(words[11]) + int(words[12]),
            started_ticks=int(words[19]),
        )
    except (ValueError, IndexError):
        return None


def _processes(proc: Path) -> Iterator[ProcessStat]:
    for folder in proc.glob("[0-9]*"):
        stat = parse_stat(_text(folder / "stat"))
        if stat is not None:
            yield stat


def _io_bytes(proc: Path, pid: int) -> int:
    words = _text(proc / str(pid) / "io").split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return sum(int(count) for name, count in pairs if name in _IO_COUNTS and count.isdigit())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended, or its counts are another user's
        return ""


def _ticks_per_second() -> int:
    if sys.platform == "win32":
        return 100  # has no `/proc` to count in
    return os.sysconf("SC_CLK_TCK")
