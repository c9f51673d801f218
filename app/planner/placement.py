"""Where every byte goes for one choice of numbers: blocks over GPUs as llama.cpp splits them, then RAM."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from app.options import ALL_LAYERS
from app.planner.caches import CacheSizes, Extent, cache_sizes
from app.planner.compute import (
    Duty,
    device_compute_bytes,
    host_compute_bytes,
    pipeline_bytes,
)
from app.planner.facts import ALLOCATED_PARTS, Part
from app.planner.model_sizes import ModelSizes

_cache_sizes: Final = lru_cache(maxsize=64)(cache_sizes)
"""A search tries many cuts of few extents, and so does a hand that drags a slider."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The numbers that decide a placement; named as in `EngineOptions`.

    Attributes:
        extent: Context, physical batch and cache type.
        n_cpu_moe: Blocks whose routed experts stay in RAM, counted by index from 0.
        op_offload: The GPU works on big batches of what lies in RAM, for which it needs room.
        prompt_cache_bytes: RAM for prompts already read.
    """

    extent: Extent
    n_gpu_layers: int = ALL_LAYERS
    n_cpu_moe: int = 0
    op_offload: bool = True
    prompt_cache_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """One cut carried out.

    Attributes:
        gpu_items: Per GPU, how many consecutive items (blocks, then the output layer) it holds.
        gpu_parts: Per GPU, bytes by part; empty for a GPU without items.
        cpu_parts: Bytes in RAM by part, routed experts included whether or not RAM can hold them.
        fits_gpus: No GPU is above its limit.
        ram_blocks: Whose experts stay in RAM, where those are not the first ones (`precision.py`).
    """

    cut: Cut
    gpu_items: tuple[int, ...]
    gpu_parts: tuple[Mapping[Part, int], ...]
    cpu_parts: Mapping[Part, int]
    fits_gpus: bool
    ram_blocks: tuple[int, ...] = ()

    @property
    def gpu_bytes(self) -> tuple[int, ...]:
        """Planned bytes per GPU."""
        return tuple(sum(parts.values()) for parts in self.gpu_parts)

    @property
    def cpu_bytes(self) -> int:
        """Bytes RAM is asked for."""
        return sum(self.cpu_parts.values())

    @property
    def allocated_bytes(self) -> int:
        """Bytes in RAM that are no weights: nothing of them is mapped from the model's file."""
        return sum(self.cpu_parts.get(part, 0) for part in ALLOCATED_PARTS)

    @property
    def cpu_required_bytes(self) -> int:
        """Bytes RAM must hold for the model to run at all: everything but routed experts."""
        return self.cpu_bytes - self.cpu_parts.get(Part.ROUTED_EXPERTS, 0)


def place(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> Placement:
    """Carry out a cut on GPUs that may take `limits` bytes each; one that may take none is not used."""
    costs = _Costs.of(sizes, cut, _cache_sizes(sizes.caches, cut.extent), gpu_count=_usable(limits))
    gpu_items, fits_gpus = _split(costs, limits)
    return _Account(sizes, cut, costs).placement(gpu_items, fits_gpus=fits_gpus)


def fits(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> bool:
    """Return what `place` would say of the GPUs, sooner."""
    costs = _Costs.of(sizes, cut, _cache_sizes(sizes.caches, cut.extent), gpu_count=_usable(limits))
    return _split(costs, limits)[1]


def place_items(sizes: ModelSizes, cut: Cut, gpu_items: Sequence[int], limits: Sequence[int]) -> Placement:
    """Carry out a cut whose items are shared out already: so many consecutive ones for each GPU."""
    used = sum(1 for count in gpu_items if count)
    costs = _Costs.of(sizes, cut, _cache_sizes(sizes.caches, cut.extent), gpu_count=used)
    placement = _Account(sizes, cut, costs).placement(tuple(gpu_items), fits_gpus=True)
    held = zip(placement.gpu_bytes, limits, strict=True)
    return replace(placement, fits_gpus=all(size <= limit for size, limit in held))


def smallest_n_cpu_moe(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> int | None:
    """Return the smallest N with which `cut` fits the GPUs; None when even all experts in RAM are too few."""
    caches = _cache_sizes(sizes.caches, cut.extent)

    def fits_with(n: int) -> bool:
        costs = _Costs.of(sizes, replace(cut, n_cpu_moe=n), caches, gpu_count=_usable(limits))
        return _split(costs, limits)[1]

    if fits_with(0):
        return 0
    steps = [block + 1 for block in sizes.expert_blocks]
    found = bisect_left(steps, True, key=fits_with)
    return steps[found] if found < len(steps) else None


def largest_n_gpu_layers(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> int:
    """Return how many items fit the GPUs, counted from the output layer down; `ALL_LAYERS` for all."""
    caches = _cache_sizes(sizes.caches, cut.extent)

    def is_too_many(count: int) -> bool:
        costs = _Costs.of(sizes, replace(cut, n_gpu_layers=count), caches, gpu_count=_usable(limits))
        return not _split(costs, limits)[1]

    if not limits:
        return 0
    if not is_too_many(sizes.item_count):
        return ALL_LAYERS
    return bisect_left(range(1, sizes.item_count), True, key=is_too_many)


@dataclass(frozen=True, slots=True)
class _Costs:
    """Bytes per item that goes to a GPU, and what each working GPU needs on top.

    Attributes:
        first: Index of the first item on a GPU (llama.cpp: `i_gpu_start`).
    """

    first: int
    items: tuple[int, ...]
    caches: CacheSizes
    compute: int
    logits_compute: int

    @classmethod
    def of(cls, sizes: ModelSizes, cut: Cut, caches: CacheSizes, *, gpu_count: int) -> "_Costs":
        weights = sizes.weights
        first = sizes.item_count - min(cut.n_gpu_layers, sizes.item_count) if gpu_count else sizes.item_count
        blocks = range(first, weights.block_count)
        items = [
            weights.resident_bytes[b]
            + caches.kv[b]
            + caches.state[b]
            + (weights.routed[b] if b >= cut.n_cpu_moe else 0)
            for b in blocks
        ]
        items.append(weights.output_bytes + weights.tied_copy_bytes)
        base, full = _compute_bytes(sizes, cut, first)
        if gpu_count > 1 and first == 0 and not cut.n_cpu_moe:
            more = pipeline_bytes(sizes.graph, cut.extent)
            base, full = base + more, full + more
        return cls(first, tuple(items) if first < sizes.item_count else (), caches, base, full)


def _compute_bytes(sizes: ModelSizes, cut: Cut, first: int) -> tuple[int, int]:
    """Return the compute buffer of a GPU without the output layer, and of the one with it."""
    in_ram = max(cut.n_cpu_moe, first)
    duty = Duty(
        copied_tensor_bytes=_copied_tensor_bytes(sizes, cut, first),
        runs_experts=any(sizes.weights.routed[in_ram:]),
        is_split=any(sizes.weights.routed[:in_ram]),
    )
    without = replace(duty, makes_logits=False)
    return (
        device_compute_bytes(sizes.graph, cut.extent, without),
        device_compute_bytes(sizes.graph, cut.extent, duty),
    )


def _copied_tensor_bytes(sizes: ModelSizes, cut: Cut, first: int) -> int:
    """Return the largest weight in RAM that a GPU would copy in to work on a big batch (`op_offload`)."""
    if not cut.op_offload:
        return 0
    if any(sizes.weights.routed[: max(cut.n_cpu_moe, first)]):
        return max(sizes.graph.largest_expert_tensor, sizes.graph.largest_block_tensor if first else 0)
    return sizes.graph.largest_block_tensor if first else 0


def _usable(limits: Sequence[int]) -> int:
    return sum(1 for limit in limits if limit > 0)


def _split(costs: _Costs, limits: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Fill the GPUs from the last one back; what is left over goes to the first one and then nothing fits.

    Filling one after the other is enough: if any split into consecutive runs fits, this one does. From the
    back, since a device on another machine comes first in the engine's order and is to hold what is left,
    and the first card is the one a screen hangs on.
    """
    counts = [0] * len(limits)
    left, last = len(costs.items), len(costs.items) - 1
    for gpu in reversed(range(len(limits))):
        room = limits[gpu] - costs.compute
        while left:
            cost = costs.items[left - 1]
            if left - 1 == last:
                cost += costs.logits_compute - costs.compute
            if cost > room:
                break
            room -= cost
            left -= 1
            counts[gpu] += 1
    if left:
        counts[0] += left
    return tuple(counts), not left


class _Account:
    """Adds up parts per device for a known split."""

    def __init__(self, sizes: ModelSizes, cut: Cut, costs: _Costs) -> None:
        self._sizes = sizes
        self._cut = cut
        self._costs = costs

    def placement(self, gpu_items: tuple[int, ...], *, fits_gpus: bool) -> Placement:
        position, blocks = self._costs.first, self._sizes.weights.block_count
        gpu_parts: list[dict[Part, int]] = []
        cpu_parts: dict[Part, int] = dict(self._sizes.weights.host_parts)
        for count in gpu_items:
            parts: dict[Part, int] = {}
            end = position + count
            self._add_blocks(range(min(position, blocks), min(end, blocks)), parts, cpu_parts)
            if count:
                ends = end == self._sizes.item_count
                if ends:
                    output = self._sizes.weights.output_bytes + self._sizes.weights.tied_copy_bytes
                    _add(parts, Part.OUTPUT, output)
                _add(parts, Part.COMPUTE, self._costs.logits_compute if ends else self._costs.compute)
            position = end
            gpu_parts.append(parts)
        self._add_blocks(range(min(self._costs.first, blocks)), cpu_parts, cpu_parts)
        if not any(gpu_items):
            _add(cpu_parts, Part.OUTPUT, self._sizes.weights.output_bytes)
        _add(cpu_parts, Part.COMPUTE, self._host_compute(any_gpu=any(gpu_items)))
        _add(cpu_parts, Part.PROMPT_CACHE, self._cut.prompt_cache_bytes)
        return Placement(self._cut, gpu_items, tuple(gpu_parts), cpu_parts, fits_gpus)

    def _add_blocks(self, blocks: range, parts: dict[Part, int], cpu_parts: dict[Part, int]) -> None:
        """Add consecutive blocks to a device, and to RAM the routed experts that stay there."""
        start, stop = blocks.start, blocks.stop
        for part, sums in self._sizes.resident_sums.items():
            _add(parts, part, sums[stop] - sums[start])
        routed, kept = self._sizes.routed_sums, min(max(self._cut.n_cpu_moe, start), stop)
        _add(cpu_parts, Part.ROUTED_EXPERTS, routed[kept] - routed[start])
        _add(parts, Part.ROUTED_EXPERTS, routed[stop] - routed[kept])
        _add(parts, Part.KV_CACHE, sum(self._costs.caches.kv[start:stop]))
        _add(parts, Part.STATE, sum(self._costs.caches.state[start:stop]))

    def _host_compute(self, *, any_gpu: bool) -> int:
        graph, extent = self._sizes.graph, self._cut.extent
        if not any_gpu:
            return device_compute_bytes(graph, extent, Duty(is_cpu=True))
        if self._costs.first:
            return device_compute_bytes(graph, extent, Duty(makes_logits=False, is_cpu=True))
        runs_experts = any(self._sizes.weights.routed[: self._cut.n_cpu_moe])
        return host_compute_bytes(graph, extent, runs_experts=runs_experts)


def _add(parts: dict[Part, int], part: Part, size: int) -> None:
    if size:
        parts[part] = parts.get(part, 0) + size
