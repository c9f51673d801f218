"""Whole layers of experts in VRAM, or the engine's own cache of single ones: which leaves less to RAM?"""

from bisect import bisect_left
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final

from app.options import ALL_LAYERS
from app.planner.engine_options import Case
from app.planner.facts import ExpertCacheOutlook, Part
from app.planner.placement import Cut, Placement, place_items

HITS: Final = (
    (0.0, 0.0, 0.0),
    (0.034, 0.27, 0.32),
    (0.12, 0.53, 0.67),
    (0.25, 0.76, 0.81),
    (1.0, 1.0, 1.0),
)
"""Share of all experts that is cached, lowest and highest share of uses found in it. Published for real
models: gpt-oss-120b, Qwen3-30B-A3B and Qwen3.8 with least-recently-used caches (BigMoeOnEdge, llama.cpp
#27861); the ends are what they must be, between the points a straight line."""


def expert_cache_outlook(case: Case, placement: Placement) -> ExpertCacheOutlook | None:
    """Compare a plan with one that has all routed experts in RAM and fills the VRAM left with a cache.

    None where there is nothing to choose: no GPU, nothing left in RAM, or memory that is RAM anyway. Engines
    cache on each GPU the experts of the layers it holds.
    """
    question = case.question
    routed = sum(question.sizes.weights.routed)
    kept = sum(parts.get(Part.ROUTED_EXPERTS, 0) for parts in placement.gpu_parts)
    is_whole = placement.cut.n_gpu_layers == ALL_LAYERS and any(placement.gpu_items)
    if not is_whole or kept >= routed or any(question.budget.shared_vram_bytes):
        return None
    rooms, found_low, found_high = [], 0.0, 0.0
    for room, own in _rooms(case, placement.cut):
        cached = min(room, own)
        rooms.append(cached)
        low, high = _hits(cached / own) if own and cached >= own * _used_share(case) else (0.0, 0.0)
        found_low, found_high = found_low + low * own / routed, found_high + high * own / routed
    kept_share = kept / routed
    return ExpertCacheOutlook(
        cache_bytes=tuple(rooms),
        cached_share=sum(rooms) / routed,
        kept_share=kept_share,
        hit_share_low=found_low,
        hit_share_high=found_high,
        reads_fewer_from_ram=True if found_low > kept_share else False if found_high <= kept_share else None,
    )


def _rooms(case: Case, cut: Cut) -> list[tuple[int, int]]:
    """Return per GPU what is left on it, and the bytes of the experts in its layers.

    Layers are shared out by what each GPU may take, so that all of them have room for a cache.
    """
    question, sizes = case.question, case.question.sizes
    total = sum(question.limits)
    ends = [round(sizes.item_count * limit / total) for limit in accumulate(question.limits)]
    gpu_items = [end - start for start, end in pairwise([0, *ends])]
    in_ram = replace(cut, n_cpu_moe=question.all_experts)
    held = place_items(sizes, in_ram, gpu_items, question.limits).gpu_bytes
    owned = [sum(sizes.weights.routed[start:end]) for start, end in pairwise([0, *ends])]
    rooms = [max(0, limit - taken) for limit, taken in zip(question.limits, held, strict=True)]
    return list(zip(rooms, owned, strict=True))


def _used_share(case: Case) -> float:
    """Return the part of all experts that one token uses: a smaller cache finds none of them again."""
    count = case.model.expert_count
    return min(1.0, (case.model.expert_used_count or count) / count) if count else 1.0


def _hits(share: float) -> tuple[float, float]:
    after = bisect_left([known for known, _, _ in HITS], share)
    if not after:
        return 0.0, 0.0
    (x0, low0, high0), (x1, low1, high1) = HITS[after - 1], HITS[min(after, len(HITS) - 1)]
    along = 1.0 if x1 == x0 else (share - x0) / (x1 - x0)
    return low0 + along * (low1 - low0), high0 + along * (high1 - high0)
