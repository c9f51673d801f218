"""Runs programs of machine code in a limited child, which may die of them, and asks it."""

from typing import Any, Final

from app.hardware.cpu_check import CpuCheckError, run_program, with_tested_sets
from app.hardware.facts import CpuInfo
from app.parsing.child import ChildError, ChildLimits, ChildReason, LimitedChild
from app.parsing.jobs import CPU_PROGRAM, JobRefusedError

LIMITS: Final = ChildLimits(wall_seconds=5.0, answer_bytes=1024)

_DEATHS: Final = ("-4", "-7", "-8", "-11", "3221225501", "3221225477")
"""Exit codes of a process whose instruction was refused: `SIGILL` and its like, and Windows' statuses."""

_SURVIVED: Final = "OSError: "
"""How ctypes tells of an illegal instruction on Windows, where the process lives on."""


def checked_cpu(cpu: CpuInfo) -> CpuInfo:
    """Return the processor with what became of its instruction sets in a child. Takes tenths of a second."""
    child = LimitedChild(CPU_PROGRAM, LIMITS)
    try:
        return with_tested_sets(cpu, lambda name: ask(child, name))
    finally:
        child.close()


def ask(child: LimitedChild, name: str) -> bool | None:
    """Return whether a program gave the right answer; a child that dies did not. None = it was not run."""
    try:
        return child.ask(name) is True
    except ChildError as failure:
        is_told = failure.detail in _DEATHS or failure.detail.startswith(_SURVIVED)
        return False if failure.reason is ChildReason.DIED and is_told else None


def run(value: Any, _attachment: bytes) -> Any:
    """Run the program of that name.

    Raises:
        JobRefusedError: no machine code can be run here.
    """
    try:
        return run_program(str(value))
    except CpuCheckError as reason:
        raise JobRefusedError(str(reason)) from reason
