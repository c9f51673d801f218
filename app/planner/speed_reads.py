"""What a device reads for each token: its weights by type, the used part of experts, the cache."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from app.gguf.facts import ModelFacts
from app.gguf.quants import QUANT_TYPES
from app.gguf.tensor_classes import tensor_class
from app.planner.facts import Part
from app.planner.measured_speeds import WeightKind
from app.planner.placement import Placement
from app.planner.sizes import EMBEDDING_TENSOR, OUTPUT_TENSOR

USUAL_DEPTH: Final = 1024
"""Tokens a conversation holds when its speed is asked for: of the cache, no more than that is read."""

NAMES_KEPT: Final = 8192
"""Models of a kind name their tensors alike, and one is planned for many times."""

_NOT_READ: Final = frozenset({Part.TOKEN_EMBEDDING, Part.COMPUTE, Part.PROMPT_CACHE})
_CACHES: Final = frozenset({Part.KV_CACHE, Part.STATE})
_ELEMENTS_PER_BYTE: Final = {q.name: q.block_elements / q.block_bytes for q in QUANT_TYPES.values()}

TypeShares = Mapping[Part, Mapping[str, float]]
Group = tuple[str, WeightKind]


@dataclass(frozen=True, slots=True)
class Reads:
    """Bytes one token reads on one kind of device.

    Attributes:
        weights: By type and kind; of routed experts the used part.
        cache: Of the KV cache and the recurrent state.
        blocks: That run there, wholly or with their experts.
    """

    weights: Mapping[Group, float] = field(default_factory=dict)
    cache: float = 0.0
    blocks: int = 0

    @property
    def total(self) -> float:
        """All bytes."""
        return sum(self.weights.values()) + self.cache

    @property
    def experts(self) -> float:
        """Bytes of routed experts."""
        return sum(size for (_, kind), size in self.weights.items() if kind is WeightKind.EXPERTS)


def elements_of(type_name: str, size: float) -> float:
    """Return how many weights take so many bytes."""
    return size * _ELEMENTS_PER_BYTE.get(type_name, 1.0)


def used_share(model: ModelFacts) -> float:
    """Return the part of all experts that a token uses."""
    if not model.expert_count:
        return 1.0
    return min(1.0, (model.expert_used_count or model.expert_count) / model.expert_count)


def type_shares(model: ModelFacts) -> TypeShares:
    """Return how the bytes of each part are divided among types, over the whole model."""
    sizes: dict[Part, dict[str, float]] = {}
    for tensor in model.tensors:
        part = _part_of(tensor.name)
        of_part = sizes.setdefault(part, {})
        of_part[tensor.type_name] = of_part.get(tensor.type_name, 0.0) + (tensor.size_bytes or 0)
    return {
        part: {name: size / total for name, size in of_part.items()}
        for part, of_part in sizes.items()
        if (total := sum(of_part.values()))
    }


@lru_cache(maxsize=NAMES_KEPT)
def _part_of(name: str) -> Part:
    return Part(tensor_class(name).value)


def gpu_reads(model: ModelFacts, placement: Placement, shares: TypeShares) -> Reads:
    """Return what all GPUs together read."""
    return _reads(model, placement, placement.gpu_parts, shares, _gpu_blocks(model, placement))


def cpu_reads(model: ModelFacts, placement: Placement, shares: TypeShares) -> Reads:
    """Return what the processor works through, from RAM and disk; blocks it never runs (MTP) left out."""
    parts = dict(placement.cpu_parts)
    for layer in model.layers:
        if layer.is_mtp:
            for of, size in layer.bytes_by_class.items():
                parts[Part(of.value)] = max(0, parts.get(Part(of.value), 0) - size)
    if _is_tied(model) and not any(Part.OUTPUT in held for held in placement.gpu_parts):
        parts[Part.OUTPUT] = parts.get(Part.OUTPUT, 0) + parts.get(Part.TOKEN_EMBEDDING, 0)
    of_gpus = _gpu_blocks(model, placement)
    with_experts = sum(
        1 for layer in model.expert_layers if not layer.is_mtp and layer.index < placement.cut.n_cpu_moe
    )
    trunk = sum(not layer.is_mtp for layer in model.layers)
    blocks = max(trunk - of_gpus, with_experts) if of_gpus else trunk
    return _reads(model, placement, (parts,), shares, blocks)


def _reads(
    model: ModelFacts,
    placement: Placement,
    devices: Iterable[Mapping[Part, int]],
    shares: TypeShares,
    blocks: int,
) -> Reads:
    weights: dict[Group, float] = {}
    cache = 0.0
    depth = min(1.0, USUAL_DEPTH / max(1, placement.cut.extent.n_ctx))
    used = used_share(model)
    for parts in devices:
        for part, size in parts.items():
            if part in _CACHES:
                cache += size * (depth if part is Part.KV_CACHE else 1.0)
            elif part not in _NOT_READ:
                is_routed = part is Part.ROUTED_EXPERTS
                kind = WeightKind.EXPERTS if is_routed else WeightKind.DENSE
                read = size * (used if is_routed else 1.0)
                of_part = _EMBEDDED if part is Part.OUTPUT and _is_tied(model) else part
                for name, share in shares.get(of_part, _UNKNOWN).items():
                    weights[name, kind] = weights.get((name, kind), 0.0) + read * share
    return Reads(weights, cache, blocks)


_EMBEDDED: Final = Part.TOKEN_EMBEDDING
_UNKNOWN: Final[Mapping[str, float]] = {"": 1.0}


def _gpu_blocks(model: ModelFacts, placement: Placement) -> int:
    """Return the blocks on GPUs that run: items end with the output layer, MTP blocks lie before it."""
    return max(0, sum(placement.gpu_items) - 1 - model.mtp_layers)


def _is_tied(model: ModelFacts) -> bool:
    names = {tensor.name for tensor in model.tensors}
    return EMBEDDING_TENSOR in names and OUTPUT_TENSOR not in names
