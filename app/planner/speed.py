"""How fast a placement can answer, from measured bandwidths only."""

from collections.abc import Mapping
from typing import Final

from app.gguf.facts import ModelFacts
from app.planner.facts import MemoryBudget, Part, SpeedRange
from app.planner.placement import Placement

LOW_SHARE: Final = 0.7
"""Lower end of the range. A bandwidth calibrated on one model predicted another's speed 5 to 24 % too high
(two models, one and two threads, llama-cpp-python 0.3.36); the rest is margin for a filled context."""

_NOT_READ: Final = frozenset({Part.TOKEN_EMBEDDING, Part.COMPUTE, Part.PROMPT_CACHE})


def tokens_per_second(
    model: ModelFacts, placement: Placement, disk_bytes: int, budget: MemoryBudget
) -> SpeedRange | None:
    """Return the decode speed, or None when a bandwidth the placement depends on was not measured.

    Each token reads all weights outside the experts, the used share of the routed experts, and the cache.
    """
    share = _used_share(model)
    vram = sum(_bytes_per_token(parts, share) for parts in placement.gpu_parts)
    from_disk = disk_bytes * share
    ram = _bytes_per_token(placement.cpu_parts, share) - from_disk
    seconds = 0.0
    for read, bandwidth in (
        (vram, budget.vram_bytes_per_second),
        (ram, budget.ram_bytes_per_second),
        (from_disk, budget.disk_bytes_per_second),
    ):
        if read <= 0:
            continue
        if not bandwidth:
            return None
        seconds += read / bandwidth
    return SpeedRange(LOW_SHARE / seconds, 1.0 / seconds) if seconds else None


def _used_share(model: ModelFacts) -> float:
    if not model.expert_count:
        return 1.0
    return min(1.0, (model.expert_used_count or model.expert_count) / model.expert_count)


def _bytes_per_token(parts: Mapping[Part, int], used_share: float) -> float:
    return sum(
        size * (used_share if part is Part.ROUTED_EXPERTS else 1.0)
        for part, size in parts.items()
        if part not in _NOT_READ
    )
