"""How long did the threads of child processes stand in line for a processor? Linux only."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from app.processes.activity import PROC, descendants

_BUSY_SHARE: Final = 0.05
"""A thread that computed or waited for less of the time had no part in the work."""

ThreadTimes = Mapping[tuple[int, int], tuple[float, float]]
"""By process and thread: seconds on a processor, and seconds ready to run without one."""


def started_processes(pid: int | None = None, proc: Path = PROC) -> frozenset[int]:
    """Return all processes that this one started, theirs included; empty where there is no `/proc`."""
    return frozenset(child.pid for child in descendants(os.getpid() if pid is None else pid, proc))


def thread_times(processes: Collection[int], proc: Path = PROC) -> ThreadTimes:
    """Return the times of all threads of these processes (`schedstat`); those that have ended are absent."""
    times = {}
    for process in processes:
        try:
            files = list((proc / str(process) / "task").glob("*/schedstat"))
        except OSError:
            continue
        for file in files:
            try:
                ran, waited, *_ = file.read_text().split()
                times[process, int(file.parent.name)] = int(ran) / 1e9, int(waited) / 1e9
            except (OSError, ValueError):
                continue
    return times


def undisturbed_share(before: ThreadTimes, after: ThreadTimes, seconds: float) -> float:
    """Return the part of `seconds` in which no busy thread waited for a processor; 1 where nothing is known.

    Threads that work together wait for each other, so that any of them in line holds up all. Their times in
    line are taken as independent of each other.
    """
    share = 1.0
    for thread, (ran, waited) in after.items():
        ran_before, waited_before = before.get(thread, (0.0, 0.0))
        in_line = waited - waited_before
        if in_line + ran - ran_before >= _BUSY_SHARE * seconds:
            share *= max(0.05, 1.0 - in_line / seconds)
    return share
