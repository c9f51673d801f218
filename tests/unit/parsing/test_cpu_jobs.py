"""Machine code in a child: a death of it is an answer."""

import sys

import pytest

from app.hardware.cpu_check import is_x86
from app.hardware.host import PsutilHostSource
from app.parsing.child import ChildError, ChildReason, LimitedChild
from app.parsing.cpu_jobs import ask, checked_cpu
from app.parsing.jobs import CPU_PROGRAM

pytestmark = pytest.mark.skipif(not is_x86(), reason="machine code of x86-64")


class _Dying(LimitedChild):
    """A child that ends as a test says."""

    def __init__(self, reason: ChildReason, detail: str) -> None:
        super().__init__(CPU_PROGRAM)
        self._failure = ChildError(reason, detail)

    def ask(self, *_: object, **__: object) -> object:
        raise self._failure


def test_a_processor_that_reports_the_truth_has_no_failing_set() -> None:
    reported = PsutilHostSource().host().cpu
    cpu = checked_cpu(reported)
    assert cpu.working_instruction_sets
    assert cpu.failing_instruction_sets == ()
    if sys.platform == "linux":
        assert set(cpu.working_instruction_sets) <= set(reported.instruction_sets)


@pytest.mark.parametrize(
    ("reason", "detail", "expected"),
    [
        (ChildReason.DIED, "-4", False),  # SIGILL
        (ChildReason.DIED, "3221225501", False),  # STATUS_ILLEGAL_INSTRUCTION
        (ChildReason.DIED, "OSError: [WinError -1073741795] Windows Error 0xc000001d", False),
        (ChildReason.DIED, "1", None),  # it did not start
        (ChildReason.DIED, "-9", None),  # ended by someone else
        (ChildReason.DIED, "Resource temporarily unavailable", None),
        (ChildReason.REFUSED, "aarch64", None),
        (ChildReason.TIME, "", None),
    ],
)
def test_only_a_child_that_died_of_the_program_says_that_it_does_not_work(
    reason: ChildReason, detail: str, expected: bool | None
) -> None:
    assert ask(_Dying(reason, detail), "avx") is expected


@pytest.mark.skipif(sys.platform == "win32", reason="ctypes translates the signal")
def test_an_illegal_instruction_ends_the_child_only_and_the_next_question_gets_a_new_one() -> None:
    child = LimitedChild("test", command=(sys.executable, "-m", "tests.child_jobs"))
    try:
        with pytest.raises(ChildError) as failure:
            child.ask(["signal", 4])
        assert (failure.value.reason, failure.value.detail) == (ChildReason.DIED, "-4")
        assert child.ask(["echo", 1]) == [1, ""]
    finally:
        child.close()
