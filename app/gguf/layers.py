"""Tensor table -> blocks with their bytes by class and their experts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.gguf.facts import LayerFacts, TensorClass, TensorInfo
from app.gguf.tensor_classes import merged_experts, old_layout_expert, split_block, tensor_class


@dataclass(frozen=True, slots=True)
class TensorSums:
    """What the tensor table adds up to.

    Attributes:
        quantization: The type that holds most bytes of routed experts, or of all weights if dense.
        has_old_expert_layout: Experts lie one tensor each.
    """

    layers: tuple[LayerFacts, ...]
    bytes_outside_layers: dict[TensorClass, int]
    quantization: str | None
    has_old_expert_layout: bool


def sum_tensors(tensors: Sequence[TensorInfo], trunk_layers: int | None) -> TensorSums:
    """Add up bytes by block and class. A tensor of an unknown type counts 0 bytes.

    Args:
        trunk_layers: Blocks from this index on are multi-token-prediction blocks; None when there are none.
    """
    blocks: dict[int, Counter[TensorClass]] = {}
    experts: Counter[int] = Counter()
    outside: Counter[TensorClass] = Counter()
    types: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    has_old = False
    for tensor in tensors:
        index, _ = split_block(tensor.name)
        kind = tensor_class(tensor.name)
        size = tensor.size_bytes or 0
        types[kind is TensorClass.ROUTED_EXPERTS][tensor.type_name] += size
        if index is None:
            outside[kind] += size
            continue
        blocks.setdefault(index, Counter())[kind] += size
        if kind is not TensorClass.ROUTED_EXPERTS:
            continue
        if (old := old_layout_expert(tensor.name)) is not None:
            has_old = True
            experts[index] = max(experts[index], old + 1)
        experts[index] = max(experts[index], merged_experts(tensor.name, tensor.shape) or 0)
    layers = tuple(
        LayerFacts(index, dict(sums), trunk_layers is not None and index >= trunk_layers, experts[index])
        for index, sums in sorted(blocks.items())
    )
    return TensorSums(layers, dict(outside), _commonest(types[True] or types[False]), has_old)


def _commonest(types: Counter[str]) -> str | None:
    return types.most_common(1)[0][0] if types else None
