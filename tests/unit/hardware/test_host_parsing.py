"""The parts of the host adapter that read text and apply limits."""

import pytest

from app.hardware.cgroup import MemoryLimit
from app.hardware.host import limited_memory, parse_cpuinfo

GIB = 1024**3

INTEL = """processor\t: 0
model name\t: 13th Gen Intel(R) Core(TM) i7-13700H
flags\t\t: fpu sse2 pni ssse3 sse4_1 sse4_2 avx f16c fma avx2 bmi2 avx_vnni

processor\t: 1
model name\t: another
flags\t\t: fpu
"""

ARM = """processor\t: 0
Features\t: fp asimd fphp asimddp sve i8mm bf16
CPU part\t: 0xd4f
"""


def test_an_x86_processor_is_named_with_the_instruction_sets_builds_differ_by() -> None:
    name, sets = parse_cpuinfo(INTEL)
    assert name == "13th Gen Intel(R) Core(TM) i7-13700H"
    expected = ("sse3", "ssse3", "sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "bmi2", "avx_vnni")
    assert sets == expected


def test_an_arm_processor_without_a_name_has_none_and_its_sets_in_common_words() -> None:
    assert parse_cpuinfo(ARM) == (None, ("neon", "dotprod", "fphp", "i8mm", "bf16", "sve"))


@pytest.mark.parametrize("text", ["", "\x00", "no colon here"])
def test_a_cpuinfo_without_content_gives_nothing(text: str) -> None:
    assert parse_cpuinfo(text) == (None, ())


def test_a_limit_below_the_machine_counts_and_one_above_does_not() -> None:
    assert limited_memory(64 * GIB, 50 * GIB, None) == (64 * GIB, 50 * GIB)
    assert limited_memory(64 * GIB, 50 * GIB, MemoryLimit(8 * GIB, 6 * GIB)) == (8 * GIB, 6 * GIB)
    assert limited_memory(64 * GIB, 50 * GIB, MemoryLimit(99 * GIB, 98 * GIB)) == (64 * GIB, 50 * GIB)
