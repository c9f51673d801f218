"""How many bytes a model's weights take, block by block."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.gguf.attention import MAX_LAYERS
from app.gguf.facts import ModelFacts
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
        host_parts: Never on a GPU: the input layer, which llama.cpp keeps in RAM. MTP blocks are nowhere:
            engines pass over them ("model has unused tensor ... ignoring"; 0.3.36 and b10434, measured with
            RPC0), though they count as items of `n_gpu_layers` and lie in the mapped file.
        output_bytes: Output norm and tensor, as the file has them.
        tied_copy_bytes: The file has no output tensor of its own: a GPU that makes the logits gets this
            second copy of the token embedding (`TENSOR_DUPLICATED`). 0 when it has one.
    """

    routed: tuple[int, ...]
    resident: tuple[Mapping[Part, int], ...]
    resident_bytes: tuple[int, ...]
    host_parts: Mapping[Part, int]
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
    host = Counter({Part(c.value): size for c, size in model.bytes_outside_layers.items()})
    output_bytes = host.pop(Part.OUTPUT, 0)
    for layer in (layer for layer in model.layers if layer.index < count):
        parts = {Part(c.value): size for c, size in layer.bytes_by_class.items()}
        if layer.is_mtp:
            continue
        routed[layer.index] = parts.pop(Part.ROUTED_EXPERTS, 0)
        resident[layer.index] = parts
    return WeightSizes(
        routed=tuple(routed),
        resident=tuple(resident),
        resident_bytes=tuple(sum(parts.values()) for parts in resident),
        host_parts={part: size for part, size in host.items() if size},
        output_bytes=output_bytes,
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
