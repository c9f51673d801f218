"""The processor's cores: which logical CPUs are one core, and which cores are the fast kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.hardware.sysfs import parse_count

SLOW_KIND_SHARE: Final = 0.8
"""Cores below this share of the highest clock are another kind; favoured cores differ by less."""


MOST_CPUS: Final = 2**16
"""More than Linux can count; a longer list is none."""


@dataclass(frozen=True, slots=True)
class Core:
    """One physical core.

    Attributes:
        cpus: Its logical CPUs, as affinity masks number them.
        is_performance: Of the fast kind, where there are two; else True.
    """

    cpus: frozenset[int]
    is_performance: bool = True


def usable_core_count(
    cores: Sequence[Core], affinity: Iterable[int] | None, cpu_quota: float | None
) -> int | None:
    """Return how many physical cores a process may use; None when the cores are unknown.

    Args:
        affinity: Logical CPUs the process may run on; None means all.
        cpu_quota: CPUs' worth of time. More threads than that are only throttled.
    """
    allowed = None if affinity is None else frozenset(affinity)
    count = sum(1 for core in cores if allowed is None or core.cpus & allowed)
    if count and cpu_quota is not None:
        return max(1, min(count, int(cpu_quota)))
    return count or None


def performance_core_count(cores: Sequence[Core]) -> int | None:
    """Return the number of cores of the fast kind; None when the cores are unknown."""
    return sum(1 for core in cores if core.is_performance) or None


def efficiency_core_count(cores: Sequence[Core]) -> int | None:
    """Return the number of cores of the slower kind, 0 where there is one kind; None when unknown."""
    return sum(1 for core in cores if not core.is_performance) if cores else None


def usable_performance_core_count(
    cores: Sequence[Core], affinity: Iterable[int] | None, cpu_quota: float | None
) -> int | None:
    """Return how many fast cores a process may use, arguments as of `usable_core_count`.

    All it may use where none of them is fast: slow threads are better than none. None when unknown.
    """
    fast = [core for core in cores if core.is_performance]
    among_fast = usable_core_count(fast, affinity, cpu_quota)
    return among_fast or usable_core_count(cores, affinity, cpu_quota)


def read_linux_cores(devices: Path = Path("/sys/devices")) -> tuple[Core, ...]:
    """Return the cores as Linux lists them; empty where it does not."""
    system = devices / "system" / "cpu"
    online = _cpu_list(_read(system / "online"))
    groups = {_siblings(system / f"cpu{cpu}" / "topology", cpu) & online for cpu in online}
    fast = _performance_cpus(devices, system, online)
    return tuple(Core(cpus, bool(cpus & fast)) for cpus in sorted(groups, key=min))


def _siblings(topology: Path, cpu: int) -> frozenset[int]:
    # the second is the name before Linux 5.2
    text = _read(topology / "core_cpus_list") or _read(topology / "thread_siblings_list")
    return _cpu_list(text) | {cpu}


def _performance_cpus(devices: Path, system: Path, online: frozenset[int]) -> frozenset[int]:
    """Return the fast logical CPUs by the first source that has them.

    Intel hybrids have a device `cpu_core` (Linux 5.16); ARM states a capacity; others differ in clock.
    """
    intel = _cpu_list(_read(devices / "cpu_core" / "cpus"))
    if intel and _cpu_list(_read(devices / "cpu_atom" / "cpus")):
        return intel & online
    capacities = _numbers(system, online, "cpu_capacity")
    if len(set(capacities.values())) > 1:
        least = min(capacities.values())
        return frozenset(cpu for cpu, capacity in capacities.items() if capacity > least)
    clocks = _numbers(system, online, "cpufreq/cpuinfo_max_freq")
    top = max(clocks.values(), default=0)
    return frozenset(cpu for cpu in online if clocks.get(cpu, top) >= SLOW_KIND_SHARE * top)


def _numbers(system: Path, cpus: Iterable[int], name: str) -> dict[int, int]:
    texts = {cpu: (_read(system / f"cpu{cpu}" / name) or "").strip() for cpu in cpus}
    numbers = {cpu: parse_count(text) for cpu, text in texts.items()}
    return {cpu: number for cpu, number in numbers.items() if number is not None}


def _cpu_list(text: str | None) -> frozenset[int]:
    """Read the kernel's list format, e.g. `0-3,8`; what is not of that form counts as no CPU."""
    cpus: set[int] = set()
    for part in (text or "").strip().split(","):
        first, _, last = part.partition("-")
        begin, end = (parse_count(word) for word in (first, last or first))
        if begin is not None and end is not None and end < MOST_CPUS:
            cpus.update(range(begin, end + 1))
    return frozenset(cpus)


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
