"""Windows answers psutil does not give: kinds of cores, the commit limit, the processor's name."""

import ctypes
import sys
from typing import Final

from app.hardware.topology import Core

RELATION_PROCESSOR_CORE: Final = 0
RELATION_CACHE: Final = 2
CPUS_PER_GROUP: Final = 64
FIRST_WINDOWS_11_BUILD: Final = 22000

PROCESSOR_FEATURES: Final = {
    "sse3": 13,
    "ssse3": 36,
    "sse4_1": 37,
    "sse4_2": 38,
    "avx": 39,
    "avx2": 40,
    "avx512f": 41,
}
"""PF_* numbers of winnt.h that `IsProcessorFeaturePresent` knows, by the name Linux gives them."""


class ProcessorRelationship(ctypes.Structure):
    """SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX for a core, up to the array of `GroupAffinity`."""

    _fields_ = [
        ("relationship", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint8),
        ("efficiency_class", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8 * 20),
        ("group_count", ctypes.c_uint16),
    ]


class CacheRelationship(ctypes.Structure):
    """SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX for a cache, up to its size."""

    _fields_ = [
        ("relationship", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("level", ctypes.c_uint8),
        ("associativity", ctypes.c_uint8),
        ("line_size", ctypes.c_uint16),
        ("cache_size", ctypes.c_uint32),
    ]


class GroupAffinity(ctypes.Structure):
    """GROUP_AFFINITY of 64-bit Windows."""

    _fields_ = [
        ("mask", ctypes.c_uint64),
        ("group", ctypes.c_uint16),
        ("reserved", ctypes.c_uint16 * 3),
    ]


class PerformanceInformation(ctypes.Structure):
    """PERFORMANCE_INFORMATION of 64-bit Windows; sizes in pages."""

    _fields_ = [
        ("cb", ctypes.c_uint32),
        ("commit_total", ctypes.c_uint64),
        ("commit_limit", ctypes.c_uint64),
        ("commit_peak", ctypes.c_uint64),
        ("physical_total", ctypes.c_uint64),
        ("physical_available", ctypes.c_uint64),
        ("system_cache", ctypes.c_uint64),
        ("kernel_total", ctypes.c_uint64),
        ("kernel_paged", ctypes.c_uint64),
        ("kernel_nonpaged", ctypes.c_uint64),
        ("page_size", ctypes.c_uint64),
        ("handle_count", ctypes.c_uint32),
        ("process_count", ctypes.c_uint32),
        ("thread_count", ctypes.c_uint32),
    ]


def parse_cores(buffer: bytes) -> tuple[Core, ...]:
    """Return the cores in what `GetLogicalProcessorInformationEx` wrote.

    The fast kind has the highest efficiency class. Records that do not fit end the list.
    """
    found: list[tuple[int, frozenset[int]]] = []
    head_size = ctypes.sizeof(ProcessorRelationship)
    offset = 0
    while offset + head_size <= len(buffer):
        head = ProcessorRelationship.from_buffer_copy(buffer, offset)
        needed = head_size + head.group_count * ctypes.sizeof(GroupAffinity)
        if head.size < needed or offset + head.size > len(buffer):
            break
        if head.relationship == RELATION_PROCESSOR_CORE:
            cpus = _group_cpus(buffer, offset + head_size, head.group_count)
            found.append((head.efficiency_class, cpus))
        offset += head.size
    top = max((kind for kind, _ in found), default=0)
    return tuple(Core(cpus, kind == top) for kind, cpus in found if cpus)


def parse_last_cache(buffer: bytes) -> int | None:
    """Return the biggest cache's size in what `GetLogicalProcessorInformationEx` wrote; None for none."""
    largest, offset = 0, 0
    while offset + ctypes.sizeof(CacheRelationship) <= len(buffer):
        head = CacheRelationship.from_buffer_copy(buffer, offset)
        if head.size < ctypes.sizeof(CacheRelationship) or offset + head.size > len(buffer):
            break
        if head.relationship == RELATION_CACHE:
            largest = max(largest, head.cache_size)
        offset += head.size
    return largest or None


def _group_cpus(buffer: bytes, offset: int, count: int) -> frozenset[int]:
    cpus: set[int] = set()
    for i in range(count):
        group = GroupAffinity.from_buffer_copy(buffer, offset + i * ctypes.sizeof(GroupAffinity))
        cpus.update(
            group.group * CPUS_PER_GROUP + bit for bit in range(CPUS_PER_GROUP) if group.mask >> bit & 1
        )
    return frozenset(cpus)


def windows_version(major: int, minor: int, build: int) -> str:
    """Return the version as people know it, then in full: Windows 11 still calls itself 10.0."""
    known = 11 if (major, minor) == (10, 0) and build >= FIRST_WINDOWS_11_BUILD else major
    return f"{known} ({major}.{minor}.{build})"


if sys.platform == "win32":
    import winreg

    def read_windows_cores() -> tuple[Core, ...]:
        """Return the cores as Windows lists them; empty where it does not."""
        return parse_cores(_processor_information(RELATION_PROCESSOR_CORE))

    def read_last_cache() -> int | None:
        """Return the size of the processor's biggest cache; None where Windows does not list caches."""
        return parse_last_cache(_processor_information(RELATION_CACHE))

    def _processor_information(relation: int) -> bytes:
        ask = ctypes.windll.kernel32.GetLogicalProcessorInformationEx
        size = ctypes.c_uint32(0)
        ask(relation, None, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        if not size.value or not ask(relation, buffer, ctypes.byref(size)):
            return b""
        return buffer.raw[: size.value]

    def read_commit() -> tuple[int | None, int | None]:
        """Return (limit, used) of committed memory in bytes."""
        info = PerformanceInformation(cb=ctypes.sizeof(PerformanceInformation))
        if not ctypes.windll.kernel32.K32GetPerformanceInfo(ctypes.byref(info), info.cb):
            return None, None
        return info.commit_limit * info.page_size, info.commit_total * info.page_size

    def read_cpu_name() -> str | None:
        """Return the processor's name from the registry."""
        key = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
                return str(winreg.QueryValueEx(opened, "ProcessorNameString")[0]).strip() or None
        except OSError:
            return None

    def read_instruction_sets() -> tuple[str, ...]:
        """Return those of `PROCESSOR_FEATURES` that Windows confirms; it is asked about no others."""
        has = ctypes.windll.kernel32.IsProcessorFeaturePresent
        return tuple(name for name, number in PROCESSOR_FEATURES.items() if has(number))

    def read_version() -> str:
        """Return the version of Windows without asking WMI, which can hang."""
        # from the system's own library: the other fields depend on what our executable declares
        return windows_version(*sys.getwindowsversion().platform_version)
