"""Widths that the header states, against those of the tensors.

Engines refuse most such files, or end themselves once they multiply. Where the tensors leave no doubt, the
right number is known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.findings import Finding, FindingCode, error
from app.gguf.facts import ModelFacts, TensorInfo
from app.gguf.head_counts import has_latent_heads, head_count_of
from app.gguf.layout_rules import WrongCount
from app.gguf.metadata import Metadata
from app.gguf.tensor_classes import split_block

_ONE_TENSOR: Final = {
    "ssm.inner_size": ("ssm_out.weight", 0),
    "ssm.conv_kernel": ("ssm_conv1d.weight", 0),
}
"""Key -> the tensor of every block that is as wide, and in which dimension."""

_TURNED_WHOLE: Final = frozenset(
    {
        *("apertus", "arcee", "arctic", "baichuan", "chameleon", "codeshell", "cogvlm", "cohere2moe"),
        *("dbrx", "deci", "deepseek", "dots1", "dream", "ernie4_5", "ernie4_5-moe", "exaone", "exaone-moe"),
        "exaone4",
        *("falcon", "granite", "granite_swa", "granitemoe", "graniteswitch", "grok", "grovemoe"),
        *("hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "hy_v3", "internlm2", "jais2", "llada", "llada-moe"),
        *("llama", "llama4", "maincoder", "mellum", "mistral3", "olmo", "olmo2", "olmoe", "orion"),
        *("paddleocr", "pangu-embedded", "plamo", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe"),
        *("qwen3vl", "qwen3vlmoe", "rnd1", "seed_oss", "smallthinker", "smollm3", "starcoder2", "xverse"),
    }
)
"""Architectures of llama.cpp that end the process where not all of a head is turned by its position."""


@dataclass(frozen=True, slots=True)
class HeadWidths:
    """How wide keys and values of one head are by the tensors; equal in all blocks that have them."""

    key: int
    value: int


def wrong_widths(facts: ModelFacts, metadata: Metadata) -> Iterator[WrongCount]:
    """Return the widths that the tensors contradict beyond doubt. The whole table must be there."""
    for name, tensors in _widths(facts, metadata):
        found = metadata.number(metadata.full_name(name))
        if found is not None and found != tensors:
            yield WrongCount(name, found, tensors)


def missing_widths(facts: ModelFacts, metadata: Metadata) -> Iterator[tuple[str, int]]:
    """Return the keys that are not there, with their right values, where engines would take another one."""
    heads, embedding = metadata.integer("attention.head_count"), metadata.integer("embedding_length")
    even_share = embedding // heads if embedding and heads else None
    taken = {
        "attention.key_length": even_share,
        "attention.value_length": even_share,
        "attention.head_count_kv": heads,
        "rope.dimension_count": metadata.integer("attention.key_length") or even_share,
    }
    for name, tensors in _widths(facts, metadata):
        if not metadata.has(name) and taken.get(name) not in (None, tensors):
            yield name, tensors


def width_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return a finding for each of them."""
    for wrong in wrong_widths(facts, metadata):
        key = metadata.full_name(wrong.name)
        yield error(FindingCode.LAYOUT_MISMATCH, key=key, found=wrong.found, tensors=wrong.tensors)
    for name, _ in missing_widths(facts, metadata):
        yield error(FindingCode.METADATA_MISSING, key=metadata.full_name(name))


def head_widths(facts: ModelFacts, metadata: Metadata) -> HeadWidths | None:
    """Return the widths of one head; None when blocks differ, or the numbers of heads are in doubt."""
    blocks: dict[int, dict[str, tuple[int, ...]]] = {}
    for tensor in facts.tensors:
        index, rest = split_block(tensor.name)
        if index is not None and rest.startswith("attn_") and len(tensor.shape) == 2:
            blocks.setdefault(index, {})[rest.removesuffix(".weight")] = tensor.shape
    count = max(blocks, default=-1) + 1
    heads = metadata.per_layer("attention.head_count", count)
    kv_heads = metadata.per_layer("attention.head_count_kv", count) or heads
    recurrent = {i for i, has_state in enumerate(facts.attention.recurrent_layers) if has_state}
    found: set[HeadWidths | None] = {
        _widths_of(shapes, heads[index], kv_heads[index])
        for index, shapes in blocks.items()
        if heads and index not in recurrent and not shapes.keys().isdisjoint(("attn_k", "attn_qkv"))
    }
    return found.pop() if len(found) == 1 else None


def _widths_of(shapes: dict[str, tuple[int, ...]], heads: int, kv_heads: int) -> HeadWidths | None:
    """Return the widths in one block, if all its tensors agree on them."""
    output = shapes.get("attn_output", (0,))[0]
    if not heads or not kv_heads or not output or output % heads:
        return None
    width = output // heads
    if "attn_qkv" in shapes:
        return HeadWidths(width, width) if shapes["attn_qkv"][1] == (heads + 2 * kv_heads) * width else None
    keys, values = (shapes.get(name, (0, 0))[1] for name in ("attn_k", "attn_v"))
    is_sound = keys and keys % kv_heads == 0 and values == width * kv_heads
    return HeadWidths(keys // kv_heads, width) if is_sound else None


def _widths(facts: ModelFacts, metadata: Metadata) -> Iterator[tuple[str, int]]:
    embedding = {t.shape[0] for t in facts.tensors if t.name == "token_embd.weight" and len(t.shape) == 2}
    if len(embedding) == 1:
        yield "embedding_length", embedding.pop()
    for name, (tensor_name, dimension) in _ONE_TENSOR.items():
        lengths = _lengths(facts.tensors, tensor_name, dimension)
        if len(lengths) == 1:
            yield name, lengths.pop()
    if has_latent_heads(facts, metadata):
        yield from _latent_widths(facts, metadata)
        return
    merged = _lengths(facts.tensors, "attn_kv.weight", 1)  # the same numbers are key and value
    if len(merged) == 1:
        width = merged.pop()
        yield from (("attention.head_count_kv", 1), *_of_heads(HeadWidths(width, width), facts))
        return
    yield from _head_counts(facts, metadata)
    widths = head_widths(facts, metadata)
    if widths is not None:
        yield from _of_heads(widths, facts)
        if facts.architecture in _TURNED_WHOLE:
            yield "rope.dimension_count", widths.key
            yield "rope.dimension_count_swa", widths.key


def _head_counts(facts: ModelFacts, metadata: Metadata) -> Iterator[tuple[str, int]]:
    """Of heads and key heads the one that does not go with the stated widths, where the other does."""
    names = ("attention.head_count", "attention.head_count_kv")
    held = _merged_heads(facts, metadata) or _separate_heads(facts, metadata)
    stated = [metadata.number(metadata.full_name(name)) for name in names]
    if held is None or _are_judged_with_each_other(facts, stated):
        return
    if held[1] == stated[1]:
        yield names[0], held[0]
    elif held[0] == stated[0]:
        yield names[1], held[1]


def _are_judged_with_each_other(facts: ModelFacts, stated: Sequence[int | None]) -> bool:
    """Return whether the two numbers do not go together, which `shape_rules.py` says."""
    heads, kv_heads = stated
    has_queries = any(split_block(tensor.name)[1] == "attn_q.weight" for tensor in facts.tensors)
    return has_queries and heads is not None and (heads <= 0 or bool(kv_heads and heads % kv_heads))


def _separate_heads(facts: ModelFacts, metadata: Metadata) -> tuple[int, int] | None:
    """Return heads and key heads; None when a stated width is wrong."""
    heads = head_count_of("attention.head_count", facts.tensors, metadata)
    kv_heads = head_count_of("attention.head_count_kv", facts.tensors, metadata)
    if heads is None or kv_heads is None:
        return None
    values = kv_heads * (metadata.integer("attention.value_length") or 0)
    return (heads, kv_heads) if _lengths(facts.tensors, "attn_v.weight", 1) == {values} else None


def _merged_heads(facts: ModelFacts, metadata: Metadata) -> tuple[int, int] | None:
    """Return the same where one tensor holds queries, keys and values."""
    rows, outputs = (
        _lengths(facts.tensors, "attn_qkv.weight", 1),
        _lengths(facts.tensors, "attn_output.weight", 0),
    )
    width = metadata.integer("attention.key_length")
    is_recurrent = any(facts.attention.recurrent_layers)
    if len(rows) != 1 or len(outputs) != 1 or not width or is_recurrent:
        return None
    row, output = rows.pop(), outputs.pop()
    is_whole = output % width == 0 and row > output and (row - output) % (2 * width) == 0
    return (output // width, (row - output) // (2 * width)) if is_whole else None


def _of_heads(widths: HeadWidths, facts: ModelFacts) -> Iterator[tuple[str, int]]:
    yield "attention.key_length", widths.key
    yield "attention.value_length", widths.value
    if any(facts.attention.windowed_layers):
        yield "attention.key_length_swa", widths.key
        yield "attention.value_length_swa", widths.value


def _latent_widths(facts: ModelFacts, metadata: Metadata) -> Iterator[tuple[str, int]]:
    """All heads share one key: the compressed row, and what is turned by its position."""
    rows = _lengths(facts.tensors, "attn_kv_a_mqa.weight", 1)
    rank = _lengths(facts.tensors, "attn_kv_a_norm.weight", 0)
    if len(rows) == 1 and len(rank) == 1:
        row, compressed = rows.pop(), rank.pop()
        yield "attention.key_length", row
        if metadata.integer("attention.kv_lora_rank") == compressed < row:
            yield "rope.dimension_count", row - compressed


def _lengths(tensors: Sequence[TensorInfo], name: str, dimension: int) -> set[int]:
    return {
        tensor.shape[dimension]
        for tensor in tensors
        if len(tensor.shape) > dimension and split_block(tensor.name)[1] == name
    }
