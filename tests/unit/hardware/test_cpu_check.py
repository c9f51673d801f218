"""Instruction sets are tried where a death costs a child, in the bytes an assembler makes of them."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.findings import FindingCode
from app.hardware.cpu_check import is_x86, judge_cpu, run_program, with_tested_sets
from app.hardware.facts import CpuInfo
from app.hardware.machine_code import NOTHING, MachineProgram, programs, tile_argument

ALL = (NOTHING, *programs())
CPU = CpuInfo("A CPU", 8, 16, 8, 8, ("sse3", "avx", "avx2", "avx512f", "avx512bw", "neon"))


@pytest.mark.skipif(shutil.which("as") is None, reason="no assembler")
@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_every_byte_is_what_an_assembler_makes_of_the_instruction_beside_it(
    program: MachineProgram, tmp_path: Path
) -> None:
    source, image = tmp_path / "p.s", tmp_path / "p.o"
    for code, instruction in program.steps:
        source.write_text(f".intel_syntax noprefix\n{instruction}\n", encoding="ascii")
        subprocess.run(["as", "--64", "-o", image, source], check=True, capture_output=True)
        dumped = subprocess.run(
            ["objcopy", "-O", "binary", "-j", ".text", image, "/dev/stdout"], check=True, capture_output=True
        )
        assert dumped.stdout.hex() == code, instruction


def test_every_program_ends_with_return_and_comes_after_the_one_it_needs() -> None:
    known: set[str | None] = {None}
    for program in ALL:
        assert program.steps[-1][1] == "ret"
        assert program.needs in known
        known.add(program.name)
    assert len(known) == len(ALL) + 1


def test_what_programs_work_on_holds_three_tiles_of_one_row_and_the_number_to_load() -> None:
    argument = tile_argument()
    assert argument[16:22] == b"\4\0\4\0\4\0"
    assert argument[48:51] == b"\1\1\1"
    assert argument[72:] == (42).to_bytes(4, "little")


@pytest.mark.skipif(not is_x86(), reason="machine code of x86-64")
def test_code_of_this_processor_returns_its_number() -> None:
    assert run_program(NOTHING.name)


def test_what_is_reported_and_does_not_run_is_told_apart_from_what_works() -> None:
    cpu = with_tested_sets(CPU, lambda name: name != "avx2", tells_all=True)
    assert cpu.working_instruction_sets == ("avx",)
    assert cpu.failing_instruction_sets == ("avx2", "avx512f", "avx512bw")
    assert cpu.instruction_sets == CPU.instruction_sets


def test_what_needs_a_set_that_fails_is_not_tried() -> None:
    asked: list[str] = []

    def ask(name: str) -> bool:
        asked.append(name)
        return name != "avx512f"

    with_tested_sets(CPU, ask, tells_all=True)
    assert asked == ["nothing", "avx", "avx2", "avx512f"]


def test_where_the_system_tells_little_more_is_tried_and_nothing_unreported_counts_as_false() -> None:
    cpu = with_tested_sets(CPU, lambda name: not name.startswith("amx"), tells_all=False)
    assert cpu.working_instruction_sets is not None
    assert {"f16c", "avx_vnni", "avx512_bf16"} <= set(cpu.working_instruction_sets)
    assert cpu.failing_instruction_sets == ()


def test_a_machine_that_runs_no_code_of_ours_is_not_tested_and_not_accused() -> None:
    assert with_tested_sets(CPU, lambda _: None) == CPU
    assert with_tested_sets(CPU, lambda _: False) == CPU
    assert judge_cpu(CPU) == ()


def test_a_set_that_could_not_be_run_is_in_neither_list() -> None:
    cpu = with_tested_sets(CPU, lambda name: None if name == "avx2" else True, tells_all=True)
    assert cpu.working_instruction_sets == ("avx", "avx512f", "avx512bw")
    assert cpu.failing_instruction_sets == ()


def test_a_processor_that_lies_is_a_warning_with_the_names() -> None:
    (finding,) = judge_cpu(replace(CPU, failing_instruction_sets=("avx512f",)))
    assert finding.code is FindingCode.CPU_INSTRUCTIONS_FALSE
    assert finding.values == {"cpu": "A CPU", "instructions": ("avx512f",)}
    assert judge_cpu(replace(CPU, failing_instruction_sets=())) == ()
