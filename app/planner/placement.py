"""Where every byte goes for one choice of numbers: blocks over GPUs as llama.cpp splits them, then RAM."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.gguf.facts import ModelFacts
from app.options import ALL_LAYERS
from app.planner.caches import CacheShape, CacheSizes, Extent, cache_shape, cache_sizes
from app.planner.compute import (
    GraphShape,
    device_compute_bytes,
    graph_shape,
    host_compute_bytes,
    pipeline_bytes,
)
from app.planner.facts import Part
from app.planner.sizes import WeightSizes, weight_sizes


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Everything the arithmetic needs of a model, read from its facts once."""

    weights: WeightSizes
    caches: CacheShape
    graph: GraphShape

    @property
    def item_count(self) -> int:
        """What `n_gpu_layers` counts: all blocks, then the output layer."""
        return self.weights.block_count + 1

    @property
    def expert_blocks(self) -> tuple[int, ...]:
        """Indices of the blocks with routed experts that a GPU can hold; no MTP block is among them."""
        return tuple(block for block, size in enumerate(self.weights.routed) if size)


@dataclass(frozen=True, slots=True)
class Cut:
    """The numbers that decide a placement; named as in `EngineOptions`.

    Attributes:
        extent: Context, physical batch and cache type.
        n_cpu_moe: Blocks whose routed experts stay in RAM, counted by index from 0.
        op_offload: The GPU works on big batches of what lies in RAM, for which it needs room.
    """

    extent: Extent
    n_gpu_layers: int = ALL_LAYERS
    n_cpu_moe: int = 0
    op_offload: bool = True


@dataclass(frozen=True, slots=True)
class Placement:
    """One cut carried out.

    Attributes:
        gpu_items: Per GPU, how many consecutive items (blocks, then the output layer) it holds.
        gpu_parts: Per GPU, bytes by part; empty for a GPU without items.
        cpu_parts: Bytes in RAM by part, routed experts included whether or not RAM can hold them.
        fits_gpus: No GPU is above its limit.
    """

    cut: Cut
    gpu_items: tuple[int, ...]
    gpu_parts: tuple[Mapping[Part, int], ...]
    cpu_parts: Mapping[Part, int]
    fits_gpus: bool

    @property
    def gpu_bytes(self) -> tuple[int, ...]:
        """Planned bytes per GPU."""
        return tuple(sum(parts.values()) for parts in self.gpu_parts)

    @property
    def cpu_bytes(self) -> int:
        """Bytes RAM is asked for."""
        return sum(self.cpu_parts.values())

    @property
    def cpu_required_bytes(self) -> int:
        """Bytes RAM must hold for the model to run at all: everything but routed experts."""
        return self.cpu_bytes - self.cpu_parts.get(Part.ROUTED_EXPERTS, 0)


def model_sizes(model: ModelFacts) -> ModelSizes:
    """Read the sizes out of the facts."""
    return ModelSizes(weight_sizes(model), cache_shape(model), graph_shape(model))


def place(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> Placement:
    """Carry out a cut on GPUs that may take `limits` bytes each."""
    costs = _Costs.of(sizes, cut, cache_sizes(sizes.caches, cut.extent), gpu_count=len(limits))
    gpu_items, fits = _split(costs, limits)
    return _Account(sizes, cut, costs).placement(gpu_items, fits_gpus=fits)


def smallest_n_cpu_moe(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> int | None:
    """Return the smallest N with which `cut` fits the GPUs; None when even all experts in RAM are too few."""
    caches = cache_sizes(sizes.caches, cut.extent)

    def fits(n: int) -> bool:
        costs = _Costs.of(sizes, replace(cut, n_cpu_moe=n), caches, gpu_count=len(limits))
        return _split(costs, limits)[1]

    if fits(0):
        return 0
    steps = [block + 1 for block in sizes.expert_blocks]
    found = bisect_left(steps, True, key=fits)
    return steps[found] if found < len(steps) else None


def largest_n_gpu_layers(sizes: ModelSizes, cut: Cut, limits: Sequence[int]) -> int:
    """Return how many items fit the GPUs, counted from the output layer down; `ALL_LAYERS` for all."""
    caches = cache_sizes(sizes.caches, cut.extent)

    def is_too_many(count: int) -> bool:
        costs = _Costs.of(sizes, replace(cut, n_gpu_layers=count), caches, gpu_count=len(limits))
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
        copied = _copied_tensor_bytes(sizes, cut, first)
        base = device_compute_bytes(sizes.graph, cut.extent, makes_logits=False, copied_tensor_bytes=copied)
        full = device_compute_bytes(sizes.graph, cut.extent, makes_logits=True, copied_tensor_bytes=copied)
        if gpu_count > 1 and first == 0 and not cut.n_cpu_moe:
            more = pipeline_bytes(sizes.graph, cut.extent)
            base, full = base + more, full + more
        return cls(first, tuple(items) if first < sizes.item_count else (), caches, base, full)


def _copied_tensor_bytes(sizes: ModelSizes, cut: Cut, first: int) -> int:
    """Return the largest weight in RAM that a GPU would copy in to work on a big batch (`op_offload`)."""
    if not cut.op_offload:
        return 0
    if any(sizes.weights.routed[: max(cut.n_cpu_moe, first)]):
        return max(sizes.graph.largest_expert_tensor, sizes.graph.largest_block_tensor if first else 0)
    return sizes.graph.largest_block_tensor if first else 0


def _split(costs: _Costs, limits: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Fill the GPUs in order; what is left over goes to the last one and then nothing fits.

    Filling in order is enough: if any split into consecutive runs fits, this one does.
    """
    counts = [0] * len(limits)
    position, last = 0, len(costs.items) - 1
    for gpu, limit in enumerate(limits):
        room = limit - costs.compute
        while position <= last:
            cost = costs.items[position] + (costs.logits_compute - costs.compute if position == last else 0)
            if cost > room:
                break
            room -= cost
            position += 1
            counts[gpu] += 1
    if position <= last:
        counts[-1] += last + 1 - position
    return tuple(counts), position > last


class _Account:
    """Adds up parts per device for a known split."""

    def __init__(self, sizes: ModelSizes, cut: Cut, costs: _Costs) -> None:
        self._sizes = sizes
        self._cut = cut
        self._costs = costs

    def placement(self, gpu_items: tuple[int, ...], *, fits_gpus: bool) -> Placement:
        position = self._costs.first
        gpu_parts: list[dict[Part, int]] = []
        cpu_parts: dict[Part, int] = dict(self._sizes.weights.host_parts)
        for count in gpu_items:
            parts: dict[Part, int] = {}
            for item in range(position, position + count):
                self._add_item(item, parts, cpu_parts)
            position += count
            if count:
                ends = position == self._sizes.item_count
                _add(parts, Part.COMPUTE, self._costs.logits_compute if ends else self._costs.compute)
            gpu_parts.append(parts)
        for block in range(min(self._costs.first, self._sizes.weights.block_count)):
            self._add_block(block, cpu_parts, cpu_parts)
        if not any(gpu_items):
            _add(cpu_parts, Part.OUTPUT, self._sizes.weights.output_bytes)
        _add(cpu_parts, Part.COMPUTE, self._host_compute(any_gpu=any(gpu_items)))
        return Placement(self._cut, gpu_items, tuple(gpu_parts), cpu_parts, fits_gpus)

    def _add_item(self, item: int, parts: dict[Part, int], cpu_parts: dict[Part, int]) -> None:
        weights = self._sizes.weights
        if item == weights.block_count:
            _add(parts, Part.OUTPUT, weights.output_bytes + weights.tied_copy_bytes)
        else:
            self._add_block(item, parts, cpu_parts if item < self._cut.n_cpu_moe else parts)

    def _add_block(self, block: int, parts: dict[Part, int], expert_parts: dict[Part, int]) -> None:
        for part, size in self._sizes.weights.resident[block].items():
            _add(parts, part, size)
        _add(expert_parts, Part.ROUTED_EXPERTS, self._sizes.weights.routed[block])
        _add(parts, Part.KV_CACHE, self._costs.caches.kv[block])
        _add(parts, Part.STATE, self._costs.caches.state[block])

    def _host_compute(self, *, any_gpu: bool) -> int:
        graph, extent = self._sizes.graph, self._cut.extent
        if not any_gpu:
            return device_compute_bytes(graph, extent, makes_logits=True, copied_tensor_bytes=0)
        runs_blocks = self._costs.first > 0 or any(self._sizes.weights.routed[: self._cut.n_cpu_moe])
        return host_compute_bytes(graph, extent, runs_experts=runs_blocks)


def _add(parts: dict[Part, int], part: Part, size: int) -> None:
    if size:
        parts[part] = parts.get(part, 0) + size
