"""Numbers of attention heads by the tensors, where the header says how wide one head is."""

from collections.abc import Sequence
from typing import Final

from app.gguf.facts import ModelFacts, TensorInfo
from app.gguf.header import MetadataValue, SkippedValue
from app.gguf.metadata import Metadata
from app.gguf.tensor_classes import split_block

_ROWS: Final = {
    "attention.head_count": ("attn_output.weight", 0, "attention.value_length"),
    "attention.head_count_kv": ("attn_k.weight", 1, "attention.key_length"),
}
"""Key -> the tensor that is as wide as all heads together, in which dimension, and the width of one head."""


def head_count_of(name: str, tensors: Sequence[TensorInfo], metadata: Metadata) -> int | None:
    """Return what `attention.head_count` or `..._kv` must be; None when layers differ or nothing tells."""
    tensor_name, dimension, width_key = _ROWS[name]
    width = metadata.integer(width_key)
    if not width:
        return None
    rows = set()
    for tensor in tensors:
        index, rest = split_block(tensor.name)
        if index is not None and rest == tensor_name and len(tensor.shape) == 2:
            rows.add(tensor.shape[dimension])
    total = rows.pop() if len(rows) == 1 else 0
    return total // width if total and total % width == 0 else None


def wrong_heads(heads: int, facts: ModelFacts, metadata: Metadata) -> str:
    """Return which of the two numbers is wrong where they do not go together; `heads` is the stored one."""
    by_tensors = head_count_of("attention.head_count", facts.tensors, metadata)
    return "attention.head_count" if by_tensors not in (None, heads) else "attention.head_count_kv"


def has_latent_heads(facts: ModelFacts, metadata: Metadata) -> bool:
    """Return whether all heads share one latent key; engines end themselves at more than one."""
    lengths = (metadata.integer(f"attention.{name}_length_mla") for name in ("key", "value"))
    return all(lengths) and any("attn_kv_a_mqa." in tensor.name for tensor in facts.tensors)


def is_one(kv_heads: MetadataValue | None) -> bool:
    """Return whether a number of key heads is one in each layer that has any, or no number at all."""
    if isinstance(kv_heads, tuple):
        return set(kv_heads) <= {0, 1}
    return kv_heads == 1 or isinstance(kv_heads, str | float | SkippedValue)
