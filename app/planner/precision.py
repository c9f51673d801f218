"""Which experts stay in RAM where blocks differ in precision: those with the fewest bits per weight."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.options import ALL_LAYERS
from app.planner.facts import Part
from app.planner.model_sizes import ModelSizes
from app.planner.placement import Placement


def by_precision(sizes: ModelSizes, placement: Placement, limits: Sequence[int]) -> Placement:
    """Return the placement with the same number of blocks in RAM, the coarsest ones.

    For one GPU that holds all layers. What stays on it has more bits, so it is exchanged block by block, the
    widest gap first, for as long as the GPU has room.
    """
    used = [gpu for gpu, count in enumerate(placement.gpu_items) if count]
    cut = placement.cut
    if len(used) != 1 or cut.n_gpu_layers != ALL_LAYERS or not placement.fits_gpus:
        return placement
    routed = sizes.weights.routed
    in_ram = sorted(_prefix(sizes, cut.n_cpu_moe), key=lambda block: (-routed[block], -block))
    on_gpu = sorted(set(sizes.expert_blocks) - set(in_ram), key=lambda block: (routed[block], block))
    room = limits[used[0]] - placement.gpu_bytes[used[0]]
    chosen = set(in_ram)
    for fine, coarse in zip(in_ram, on_gpu, strict=False):
        gap = routed[fine] - routed[coarse]
        if gap <= 0:
            break
        if gap <= room:
            room -= gap
            chosen = chosen - {fine} | {coarse}
    return with_blocks_in_ram(sizes, placement, tuple(sorted(chosen)))


def with_blocks_in_ram(sizes: ModelSizes, placement: Placement, blocks: tuple[int, ...]) -> Placement:
    """Return a placement on one GPU with the experts of these blocks in RAM instead of the first so many."""
    usual = _prefix(sizes, placement.cut.n_cpu_moe)
    used = [gpu for gpu, count in enumerate(placement.gpu_items) if count]
    if set(blocks) == set(usual) or len(used) != 1:
        return placement
    routed = sizes.weights.routed
    moved = sum(routed[block] for block in usual) - sum(routed[block] for block in blocks)
    gpu_parts = list(placement.gpu_parts)
    gpu_parts[used[0]] = _with_experts(gpu_parts[used[0]], moved)
    return replace(
        placement,
        gpu_parts=tuple(gpu_parts),
        cpu_parts=_with_experts(placement.cpu_parts, -moved),
        ram_blocks=blocks,
    )


def prefix_of(sizes: ModelSizes, count: int) -> int:
    """Return N with which the first `count` blocks with experts are in RAM, as llama.cpp counts."""
    return sizes.expert_blocks[min(count, len(sizes.expert_blocks)) - 1] + 1 if count else 0


def _prefix(sizes: ModelSizes, n_cpu_moe: int) -> tuple[int, ...]:
    return tuple(block for block in sizes.expert_blocks if block < n_cpu_moe)


def _with_experts(parts: Mapping[Part, int], more_bytes: int) -> dict[Part, int]:
    changed = dict(parts)
    changed[Part.ROUTED_EXPERTS] = changed.get(Part.ROUTED_EXPERTS, 0) + more_bytes
    return {part: size for part, size in changed.items() if size}
