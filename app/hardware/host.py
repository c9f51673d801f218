"""Processor, memory and disks -> HostSource. The only importer of psutil."""

import contextlib
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from app.hardware.cgroup import ControlGroups, MemoryLimit
from app.hardware.drives import LOCAL_SECONDS, Mount, disk_infos, is_remote
from app.hardware.facts import CpuInfo, DiskInfo, HostInfo, HostSample
from app.hardware.probe import Probe
from app.hardware.topology import (
    Core,
    efficiency_core_count,
    performance_core_count,
    read_linux_cores,
    usable_core_count,
    usable_performance_core_count,
)

if sys.platform == "win32":
    from app.hardware import windows

OWN_PROCESSES_SECONDS: Final = 2.0
DRIVES_SECONDS: Final = LOCAL_SECONDS + 0.5

_IMAGES: Final = frozenset(("squashfs", "iso9660", "udf", "cdfs", "erofs", "cramfs"))
"""File systems that are always full, since nothing can be written: snaps, discs."""

_LINUX_NAMES: Final[Mapping[str, str]] = {"pni": "sse3", "asimd": "neon", "asimddp": "dotprod"}
"""Flags of /proc/cpuinfo that everyone else calls otherwise."""

_INSTRUCTION_SETS: Final = (
    *("sse3", "ssse3", "sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "bmi2", "avx_vnni"),
    *("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vbmi", "avx512_vnni", "avx512_bf16"),
    *("amx_tile", "amx_int8", "amx_bf16", "neon", "dotprod", "fphp", "i8mm", "bf16", "sve", "sve2"),
)
"""Those that engine builds differ by, oldest first."""


class _Memory(NamedTuple):
    total_bytes: int
    available_bytes: int


class _CpuTimes(NamedTuple):
    total_seconds: float
    idle_seconds: float


class PsutilHostSource:
    """This machine. One caller at a time: the processor's load is measured from reading to reading."""

    def __init__(self, control_groups: ControlGroups | None = None) -> None:
        """Read which control groups apply; they stay the same while a process runs."""
        self._groups = control_groups or ControlGroups()
        self._last_times = _cpu_times()

    def host(self) -> HostInfo:
        """Return the machine's facts."""
        memory = self._memory()
        commit_limit, commit_used = _commit()
        return HostInfo(
            os_name=platform.system() or sys.platform,
            os_version=_os_version(),
            cpu=self._cpu(),
            ram_total_bytes=memory.total_bytes,
            ram_available_bytes=memory.available_bytes,
            commit_limit_bytes=commit_limit,
            commit_used_bytes=commit_used,
            # listing alone waits for lost servers on Windows
            disks=Probe("drives", _disks).outcome(DRIVES_SECONDS).value or (),
        )

    def read(self) -> HostSample:
        """Read the counters once."""
        before, self._last_times = self._last_times, _cpu_times()
        memory = self._memory()
        return HostSample(
            cpu_percent=_busy_percent(before, self._last_times),
            ram_used_bytes=memory.total_bytes - memory.available_bytes,
            ram_available_bytes=memory.available_bytes,
            disk_read_bytes=_disk_read_bytes(),
        )

    def _memory(self) -> _Memory:
        memory = psutil.virtual_memory()
        return limited_memory(memory.total, memory.available, self._groups.memory_limit())

    def _cpu(self) -> CpuInfo:
        cores = _cores()
        physical = psutil.cpu_count(logical=False) or len(cores) or None
        quota = self._groups.cpu_quota()
        affinity = _affinity()
        listed = usable_core_count(cores, affinity, quota)
        usable = listed or usable_core_count(_unlisted_cores(physical), None, quota)
        return CpuInfo(
            name=_cpu_name(),
            physical_cores=physical,
            logical_cores=psutil.cpu_count(),
            performance_cores=performance_core_count(cores) or physical,
            usable_cores=usable,
            instruction_sets=_instruction_sets(),
            efficiency_cores=efficiency_core_count(cores),
            usable_performance_cores=usable_performance_core_count(cores, affinity, quota) or usable,
        )


class OwnProcesses:
    """This process's children and theirs: engines among them. Any thread; looked up at most every 2 s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Look up nothing yet."""
        self._clock = clock
        self._looked = -math.inf
        self._found: frozenset[int] = frozenset()

    def __call__(self) -> frozenset[int]:
        """Return their numbers."""
        now = self._clock()
        if now - self._looked >= OWN_PROCESSES_SECONDS:
            self._looked = now
            with contextlib.suppress(psutil.Error, OSError):
                self._found = frozenset(child.pid for child in psutil.Process().children(recursive=True))
        return self._found


def limited_memory(total_bytes: int, available_bytes: int, limit: MemoryLimit | None) -> _Memory:
    """Return total and available memory under a control group's limit."""
    if limit is None:
        return _Memory(total_bytes, available_bytes)
    return _Memory(min(total_bytes, limit.limit_bytes), min(available_bytes, limit.available_bytes))


def parse_cpuinfo(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Return name and instruction sets from the first processor of a /proc/cpuinfo."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            values.setdefault(key.strip().lower(), value.strip())
    flags = (values.get("flags") or values.get("features") or "").split()
    known = {_LINUX_NAMES.get(flag, flag) for flag in flags}
    return values.get("model name") or None, tuple(name for name in _INSTRUCTION_SETS if name in known)


def _cores() -> tuple[Core, ...]:
    if sys.platform == "win32":
        return windows.read_windows_cores()
    return read_linux_cores()


def _unlisted_cores(count: int | None) -> tuple[Core, ...]:
    # some sandboxes hide /sys: the number is known, which logical CPUs they are is not
    return tuple(Core(frozenset((i,))) for i in range(count or 0))


def _cpu_name() -> str | None:
    if sys.platform == "win32":
        return windows.read_cpu_name()
    return parse_cpuinfo(_cpuinfo())[0]


def _instruction_sets() -> tuple[str, ...]:
    if sys.platform == "win32":
        return windows.read_instruction_sets()
    return parse_cpuinfo(_cpuinfo())[1]


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _commit() -> tuple[int | None, int | None]:
    if sys.platform == "win32":
        return windows.read_commit()
    return None, None


def _os_version() -> str | None:
    if sys.platform == "win32":
        return windows.read_version()
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        name = None
    kernel = f"kernel {os.uname().release}"
    return f"{name}, {kernel}" if name else kernel


def _affinity() -> list[int] | None:
    if sys.platform == "win32":
        return _windows_affinity()
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _windows_affinity() -> list[int] | None:
    # the mask covers one group of 64; with more CPUs, Windows 11 lets a process use all groups
    count = psutil.cpu_count() or 0
    return None if count > 64 else psutil.Process().cpu_affinity()


def _cpu_times() -> _CpuTimes | None:
    try:
        times = psutil.cpu_times()
    except (OSError, RuntimeError):  # a system that does not count
        return None
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # in user and nice already
    interrupts = getattr(times, "interrupt", 0.0) + getattr(times, "dpc", 0.0)  # in Windows' system already
    idle = times.idle + getattr(times, "iowait", 0.0)
    return _CpuTimes(sum(times) - guests - interrupts, idle)


def _busy_percent(before: _CpuTimes | None, after: _CpuTimes | None) -> float | None:
    if before is None or after is None:
        return None
    passed = after.total_seconds - before.total_seconds
    if passed <= 0:
        return None
    busy = 1.0 - (after.idle_seconds - before.idle_seconds) / passed
    return max(0.0, min(100.0, 100.0 * busy))


def _disks() -> tuple[DiskInfo, ...]:
    partitions = [p for p in psutil.disk_partitions(all=False) if _is_disk(p.device, p.fstype)]
    if sys.platform != "win32":
        partitions += [p for p in psutil.disk_partitions(all=True) if is_remote(p.fstype)]
    mounts: dict[str, Mount] = {}
    for partition in sorted(partitions, key=lambda p: len(p.mountpoint)):
        mount = Mount(partition.mountpoint, partition.device, partition.fstype or None, partition.opts)
        mounts.setdefault(partition.device, mount)
    chosen = list(mounts.values())
    if sys.platform != "win32" and all(mount.path != "/" for mount in chosen):
        chosen.insert(0, Mount("/"))  # in a container the root is an overlay
    return disk_infos(chosen)


def _is_disk(device: str, file_system: str) -> bool:
    return file_system.lower() not in _IMAGES and not device.startswith("/dev/loop")


def _disk_read_bytes() -> int | None:
    try:
        counters = psutil.disk_io_counters(perdisk=True)
    except (OSError, RuntimeError):  # psutil's words for counters switched off
        return None
    read = [counter.read_bytes for name, counter in counters.items() if _is_whole_disk(name)]
    return sum(read) if read else None


def _is_whole_disk(name: str) -> bool:
    # partitions, RAID and encrypted layers count the same bytes again
    return sys.platform == "win32" or Path("/sys/block", name, "device").exists()
