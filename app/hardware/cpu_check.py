"""Do the instruction sets that a processor reports really work? A virtual machine may lie about them."""

import ctypes
import mmap
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from app.findings import Finding, FindingCode, warning
from app.hardware.facts import CpuInfo
from app.hardware.machine_code import ANSWER, NOTHING, programs, tile_argument

_X86: Final = ("x86_64", "amd64")
_TILE_DATA: Final = 18
"""Number of AMX' registers among the states a processor saves (XTILEDATA)."""

_SYS_ARCH_PRCTL: Final = 158
_ARCH_REQ_XCOMP_PERM: Final = 0x1023
_MEM_COMMIT_RESERVE: Final = 0x3000
_PAGE_EXECUTE_READWRITE: Final = 0x40

TELLS_ALL: Final = sys.platform != "win32"
"""Windows is asked about few instruction sets, and knows no more."""

Ask = Callable[[str], bool | None]
"""Runs one program by its name where it may die: whether it gave the right answer; None = it did not run."""


class CpuCheckError(Exception):
    """No machine code of ours can be run here: another kind of processor, or memory that must not run."""


def run_program(name: str) -> bool:
    """Run a program of `machine_code` in this process, which may die of it: for a child only.

    Raises:
        CpuCheckError: it cannot be run at all.
        KeyError: there is no such program.
    """
    by_name = {program.name: program for program in (NOTHING, *programs())}
    program = by_name[name]
    if not is_x86():
        raise CpuCheckError(platform.machine())
    if name.startswith("amx_"):
        _ask_for_tiles()
    return _call(program.code) == ANSWER


def is_x86() -> bool:
    """Return whether this process runs code of x86-64."""
    return platform.machine().lower() in _X86 and sys.maxsize > 2**32


def with_tested_sets(cpu: CpuInfo, ask: Ask, *, tells_all: bool = TELLS_ALL) -> CpuInfo:
    """Return the processor with what became of its instruction sets when they were used.

    What needs a set that does not work is not tried, and does not work either.

    Args:
        tells_all: A set that the system does not report is not there.
    """
    if ask(NOTHING.name) is not True:
        return cpu
    works: dict[str, bool] = {}
    for program in programs():
        if tells_all and program.name not in cpu.instruction_sets:
            continue
        answer = ask(program.name) if works.get(program.needs or "", True) else False
        if answer is not None:
            works[program.name] = answer
    failing = [name for name, is_working in works.items() if not is_working]
    return replace(
        cpu,
        working_instruction_sets=tuple(name for name in works if name not in failing),
        failing_instruction_sets=tuple(name for name in failing if name in cpu.instruction_sets),
    )


def judge_cpu(cpu: CpuInfo) -> tuple[Finding, ...]:
    """Return whether engines would die of instructions that the processor only seems to have."""
    if not cpu.failing_instruction_sets:
        return ()
    return (
        warning(FindingCode.CPU_INSTRUCTIONS_FALSE, cpu=cpu.name, instructions=cpu.failing_instruction_sets),
    )


def _ask_for_tiles() -> None:
    """Ask the system to save AMX' registers; where it refuses, the program dies, as an engine's would."""
    if sys.platform == "win32":
        ask = getattr(ctypes.windll.kernel32, "EnableProcessOptionalXStateFeatures", None)
        if ask is not None:  # Windows 11 and Server 2022
            ask(ctypes.c_uint64(1 << _TILE_DATA))
    else:
        ctypes.CDLL(None).syscall(_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA)


def _call(code: bytes) -> int:
    argument = ctypes.create_string_buffer(tile_argument())
    place = ctypes.addressof(argument)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
    if sys.platform == "win32":
        return int(kind(_windows_memory(code))(place, place, place, place))
    try:
        memory = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError as reason:
        raise CpuCheckError(str(reason)) from reason
    memory.write(code)
    return int(kind(ctypes.addressof(ctypes.c_char.from_buffer(memory)))(place, place, place, place))


if sys.platform == "win32":

    def _windows_memory(code: bytes) -> int:
        """Return where the code lies now; it stays there, the process ends soon."""
        reserve = ctypes.windll.kernel32.VirtualAlloc
        reserve.restype = ctypes.c_void_p
        reserve.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32)
        place = reserve(None, len(code), _MEM_COMMIT_RESERVE, _PAGE_EXECUTE_READWRITE)
        if not place:
            raise CpuCheckError("VirtualAlloc")
        ctypes.memmove(place, code, len(code))
        return int(place)
