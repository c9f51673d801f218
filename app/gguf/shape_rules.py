"""Whether shapes and counts that engines multiply with each other agree."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from app.findings import Finding, FindingCode, error, note
from app.gguf.describe import expert_count_of
from app.gguf.facts import ModelFacts
from app.gguf.head_counts import has_latent_heads, is_one, wrong_heads
from app.gguf.metadata import Metadata
from app.gguf.tensor_classes import split_block

MAX_NAMED: Final = 5

_KINDS: Final = ("ffn_up_exps.weight", "ffn_gate_exps.weight", "ffn_down_exps.weight")
_PER_LAYER: Final = (
    *("feed_forward_length", "attention.head_count", "attention.head_count_kv", "expert_used_count"),
)
"""Read for all layers by every architecture that has them (`get_key_or_arr`)."""

_Shape = tuple[int, ...]


def shape_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return the findings on heads and on routed experts."""
    yield from _head_findings(facts, metadata)
    yield from _list_lengths(facts, metadata)
    if not facts.has_old_expert_layout:
        yield from list(_expert_shapes(facts))[:MAX_NAMED]
        yield from _expert_width(facts, metadata)
        yield from _all_used(facts, metadata)


def _head_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Engines share each key head among a whole number of heads, and divide the width by the heads."""
    heads, kv_heads = metadata.raw("attention.head_count"), metadata.raw("attention.head_count_kv")
    if isinstance(heads, int) and has_latent_heads(facts, metadata) and not is_one(kv_heads):
        found = kv_heads if isinstance(kv_heads, int) else None
        key = metadata.full_name("attention.head_count_kv")
        yield error(FindingCode.HEAD_COUNT_INVALID, key=key, found=found, heads=heads)
        return
    has_attention = any(split_block(tensor.name)[1] == "attn_q.weight" for tensor in facts.tensors)
    if isinstance(heads, bool) or not isinstance(heads, int) or not has_attention:
        return
    key = metadata.full_name("attention.head_count")
    if heads <= 0:
        yield error(FindingCode.HEAD_COUNT_INVALID, key=key, found=heads, heads=heads)
    elif isinstance(kv_heads, int) and kv_heads > 0 and heads % kv_heads:
        name = wrong_heads(heads, facts, metadata)
        found = heads if name == "attention.head_count" else kv_heads
        yield error(FindingCode.HEAD_COUNT_INVALID, key=metadata.full_name(name), found=found, heads=heads)


def _list_lengths(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Engines take one number for all layers, or a list with one for each block."""
    for name in _PER_LAYER:
        key = metadata.full_name(name)
        found = metadata.length(key)
        if found is not None and facts.block_count is not None and found != facts.block_count:
            yield error(FindingCode.METADATA_LENGTH_WRONG, key=key, expected=facts.block_count, found=found)


def _expert_shapes(facts: ModelFacts) -> Iterator[Finding]:
    blocks: dict[int, dict[str, _Shape]] = {}
    for tensor in facts.tensors:
        index, rest = split_block(tensor.name)
        if index is not None and rest in _KINDS and len(tensor.shape) == 3:
            blocks.setdefault(index, {})[rest] = tensor.shape
    for index, shapes in sorted(blocks.items()):
        for kind, expected in _odd_ones(shapes, facts.embedding_length):
            yield error(
                FindingCode.TENSOR_SHAPE_MISMATCH,
                tensor=f"blk.{index}.{kind}",
                expected=shape_text(expected),
                found=shape_text(shapes[kind]),
            )


def _odd_ones(shapes: Mapping[str, _Shape], embedding: int | None) -> Iterator[tuple[str, _Shape]]:
    """Yield the tensors that differ from most of their block, with the shape those ask for."""
    as_up = {kind: _turned(shape) if "down" in kind else shape for kind, shape in shapes.items()}
    votes = Counter(as_up.values())
    if len(votes) < 2:
        return
    (most, count), (_, next_count) = votes.most_common(2)
    if count == next_count:  # nobody has a majority: the width of the model decides
        fitting = [shape for shape in votes if shape[0] == embedding]
        if len(fitting) != 1:
            return
        most = fitting[0]
    for kind, shape in as_up.items():
        if shape != most:
            yield kind, _turned(most) if "down" in kind else most


def _turned(shape: _Shape) -> _Shape:
    return (shape[1], shape[0], *shape[2:])


def shape_text(shape: _Shape) -> str:
    """Return a shape in ggml order: `64 × 32 × 8`."""
    return " × ".join(str(length) for length in shape)


def _expert_width(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    stored = metadata.raw("expert_feed_forward_length")
    widths = {
        tensor.shape[1]
        for tensor in facts.tensors
        if split_block(tensor.name)[1] in _KINDS[:2] and len(tensor.shape) == 3
    }
    if isinstance(stored, bool) or not isinstance(stored, int) or len(widths) != 1 or stored in widths:
        return
    key = metadata.full_name("expert_feed_forward_length")
    yield error(FindingCode.EXPERT_WIDTH_MISMATCH, key=key, found=stored, tensors=widths.pop())


def _all_used(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    held = expert_count_of(facts.layers)
    if held > 1 and facts.expert_used_count == held:
        key = metadata.full_name("expert_used_count")
        yield note(FindingCode.EXPERTS_ALL_USED, key=key, experts=held)
