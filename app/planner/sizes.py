"""How many bytes a model's weights take, block by block."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.gguf.attention import MAX_LAYERS
from app.gguf.facts import ModelFacts, TensorClass
from app.planner.facts import Part

OUTPUT_TENSOR: Final = "output.weight"
EMBEDDING_TENSOR: Final = "token_embd.weight"


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes of weights by block index and part.

    Attributes:
        routed: Per block, bytes of its routed experts: what `n_cpu_moe` moves.
        resident: Per block, everything else by part.
        resident_bytes: Per block, the sum of `resident`.
        input_parts: Outside the blocks and always in RAM: llama.cpp keeps the input layer there.
        output_bytes: Output norm and tensor, as the file has them.
        tied_copy_bytes: The file has no output tensor of its own: a GPU that makes the logits gets this
            second copy of the token embedding (`TENSOR_DUPLICATED`). 0 when it has one.
    """

    routed: tuple[int, ...]
    resident: tuple[Mapping[Part, int], ...]
    resident_bytes: tuple[int, ...]
    input_parts: Mapping[Part, int]
    output_bytes: int
    tied_copy_bytes: int

    @property
    def block_count(self) -> int:
        """Blocks, MTP included."""
        return len(self.routed)


def block_count(model: ModelFacts) -> int:
    """Return the number of blocks, MTP included, also when the header's count is missing or too small.

    No more than engines take (`LLAMA_MAX_LAYERS`): blocks beyond are not counted.
    """
    return min(MAX_LAYERS, max([model.block_count or 0, *(layer.index + 1 for layer in model.layers)]))


def weight_sizes(model: ModelFacts) -> WeightSizes:
    """Sum the tensor table by block and part.

    Measured on the default MoE (llama-cpp-python 0.3.36, RPC0 as the GPU): 424.86 MiB on the device and
    28.69 MiB in RAM, that is all blocks plus a second copy of the tied token embedding.
    """
    count = block_count(model)
    routed = [0] * count
    resident: list[dict[Part, int]] = [{} for _ in range(count)]
    for layer in (layer for layer in model.layers if layer.index < count):
        for tensor_class, size in layer.bytes_by_class.items():
            if tensor_class is TensorClass.ROUTED_EXPERTS:
                routed[layer.index] += size
            else:
                resident[layer.index][Part(tensor_class.value)] = size
    outside = {Part(c.value): size for c, size in model.bytes_outside_layers.items() if size}
    return WeightSizes(
        routed=tuple(routed),
        resident=tuple(resident),
        resident_bytes=tuple(sum(parts.values()) for parts in resident),
        output_bytes=outside.pop(Part.OUTPUT, 0),
        input_parts=outside,
        tied_copy_bytes=_tied_copy_bytes(model),
    )


def _tied_copy_bytes(model: ModelFacts) -> int:
    embedding = 0
    for tensor in model.tensors:
        if tensor.name == OUTPUT_TENSOR:
            return 0
        if tensor.name == EMBEDDING_TENSOR:
            embedding = tensor.size_bytes or 0
    return embedding
