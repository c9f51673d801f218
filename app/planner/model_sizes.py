"""Everything the arithmetic of a plan needs of a model, read from its facts once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from app.gguf.facts import ModelFacts
from app.planner.caches import CacheShape, cache_shape
from app.planner.compute import GraphShape, graph_shape
from app.planner.corrections import Corrections
from app.planner.facts import Part
from app.planner.sizes import WeightSizes, weight_sizes


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Weights, caches and widths of one model.

    Attributes:
        resident_sums: Per part, what the blocks before block N hold of it beside routed experts.
        routed_sums: The same for routed experts.
    """

    weights: WeightSizes
    caches: CacheShape
    graph: GraphShape
    resident_sums: Mapping[Part, tuple[int, ...]]
    routed_sums: tuple[int, ...]

    @property
    def item_count(self) -> int:
        """What `n_gpu_layers` counts: all blocks, then the output layer."""
        return self.weights.block_count + 1

    @property
    def expert_blocks(self) -> tuple[int, ...]:
        """Indices of the blocks with routed experts that a GPU can hold; no MTP block is among them."""
        return tuple(block for block, size in enumerate(self.weights.routed) if size)


def model_sizes(model: ModelFacts, corrections: Corrections | None = None) -> ModelSizes:
    """Read the sizes out of the facts.

    Args:
        corrections: What engines' own figures have taught; None for the formulas alone.
    """
    weights = weight_sizes(model)
    parts = dict.fromkeys(part for block in weights.resident for part in block)
    sums = {part: _sums(block.get(part, 0) for block in weights.resident) for part in parts}
    known = corrections or Corrections()
    caches = replace(cache_shape(model), factor=known.context_factor)
    graph = replace(
        graph_shape(model), gpu_factor=known.gpu_compute_factor, cpu_factor=known.cpu_compute_factor
    )
    return ModelSizes(weights, caches, graph, sums, _sums(weights.routed))


def _sums(sizes: Iterable[int]) -> tuple[int, ...]:
    return tuple(accumulate(sizes, initial=0))
