"""What a token costs when experts come from the drive: its cycle, the cliff, hits and misses."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from app.findings import Finding, FindingCode, warning
from app.gguf.facts import ModelFacts
from app.planner.expert_cache import HITS
from app.planner.facts import DiskReads, MemoryBudget, Part
from app.planner.measured_speeds import MachineSpeeds
from app.planner.speed_reads import used_share

MAPPED_BYTES_PER_SECOND: Final = 3.0e9
"""What one thread takes in through page faults, the drive's own time left out. Measured: 105 MB of misses
cost 20 to 60 ms of processor time more than reading them (llama-cpp-python 0.3.36, mmap, Linux 6)."""

MOST_FAULTING_THREADS: Final = 6
"""More of them wait for the same lock."""


def disk_reads(
    model: ModelFacts, cpu_parts: Mapping[Part, int], disk_bytes: int, budget: MemoryBudget
) -> DiskReads | None:
    """Return what the drive has to give for a token; None when RAM holds all experts it is to hold."""
    of_mtp = sum(layer.routed_expert_bytes for layer in model.layers if layer.is_mtp)
    routed = cpu_parts.get(Part.ROUTED_EXPERTS, 0) - of_mtp  # never read, so never in the way
    missing = disk_bytes - of_mtp
    if missing <= 0 or routed <= 0:
        return None
    speeds = budget.speeds or MachineSpeeds()
    cycle, cache = round(routed * used_share(model)), max(0, routed - missing)
    stated = speeds.disk_hit_share
    hits = stated if stated is not None else assumed_hit_share(cache / routed) if cache >= cycle else 0.0
    return DiskReads(
        token_cycle_bytes=cycle,
        cache_bytes=cache,
        hit_share=hits,
        is_hit_stated=stated is not None,
        missed_bytes=round(cycle * (1 - hits)),
        bytes_per_second=budget.disk_bytes_per_second or speeds.disk_bytes_per_second,
    )


def cliff_findings(
    model: ModelFacts, cpu_parts: Mapping[Part, int], disk_bytes: int, budget: MemoryBudget
) -> tuple[Finding, ...]:
    """Return a warning where RAM holds less of the experts than one token needs."""
    disk = disk_reads(model, cpu_parts, disk_bytes, budget)
    if disk is None or not disk.is_below_cliff:
        return ()
    return (
        warning(
            FindingCode.EXPERTS_BELOW_CYCLE,
            token_cycle_bytes=disk.token_cycle_bytes,
            cache_bytes=disk.cache_bytes,
            missing_bytes=disk.token_cycle_bytes - disk.cache_bytes,
        ),
    )


def missed_seconds(disk: DiskReads, n_threads: int) -> float | None:
    """Return what the misses of a token take: the drive, then the system that maps what it gave."""
    if not disk.missed_bytes:
        return 0.0
    if not disk.bytes_per_second:
        return None
    mapped = MAPPED_BYTES_PER_SECOND * min(max(1, n_threads), MOST_FAULTING_THREADS)
    return disk.missed_bytes / disk.bytes_per_second + disk.missed_bytes / mapped


def assumed_hit_share(cached_share: float) -> float:
    """Return how much of a token's experts is usually found in a cache of this share of all of them."""
    after = bisect_left([share for share, _, _ in HITS], cached_share)
    if not after:
        return 0.0
    (x0, *hits0), (x1, *hits1) = HITS[after - 1], HITS[min(after, len(HITS) - 1)]
    along = 1.0 if x1 == x0 else min(1.0, (cached_share - x0) / (x1 - x0))
    low, high = sum(hits0) / 2, sum(hits1) / 2
    return low + along * (high - low)
