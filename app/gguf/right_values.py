"""Which metadata of a model is wrong and what would be right: by the tensors, the file itself, or a proposal.

llama.cpp takes a value given at load before it looks into the file, whatever type the file stores, for every
key that is read as one value. `expert_used_count` is the exception: when that key is absent, nothing given at
load replaces it (`get_key_or_arr`). Tested with llama-cpp-python 0.3.36.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from app.findings import FindingCode
from app.gguf.architecture_rules import foreign_prefix
from app.gguf.describe import expert_count_of
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.head_counts import has_latent_heads, head_count_of, is_one, wrong_heads
from app.gguf.key_types import expected_type, is_never_list
from app.gguf.layout_rules import blocks_beyond, wrong_counts
from app.gguf.metadata import LARGEST_COUNT, Metadata
from app.gguf.reader import GgufHeader
from app.gguf.repair_facts import NO_CHOICE, RepairChoice, RightValue, ValueSource
from app.gguf.shards import split_count
from app.gguf.tensor_classes import split_block
from app.gguf.tokenizer_rules import NAME, harmless_name, name_breaks_loader
from app.gguf.typed_values import MOST_U32, as_type, as_whole, only_value
from app.gguf.usual_values import usual_right, usual_used_count
from app.gguf.width_rules import missing_widths, wrong_widths
from app.options import KvOverrideValue, fits_override

MAX_EXPERTS: Final = 1024
"""llama.cpp's `LLAMA_MAX_EXPERTS`; more abort the engine."""

MAX_BLOCKS: Final = 512
"""llama.cpp's `LLAMA_MAX_LAYERS`; it aborts outside 1 .. 512."""

SAFE_CONTEXT: Final = 4096
"""Tokens every chat model of the last years was trained for."""

U32: Final = "u32"
F32: Final = "f32"


_KINDS: Final = (FileKind.MODEL, FileKind.EMBEDDING, FileKind.RERANKER, FileKind.UNKNOWN)
"""What an engine loads by itself, or may."""


def right_values(
    headers: Sequence[GgufHeader], facts: ModelFacts, choice: RepairChoice = NO_CHOICE
) -> tuple[RightValue, ...]:
    """Return a right value for each key that is wrong or that the person has chosen, one per key.

    Args:
        headers: Of the readable parts; the first carries the metadata.
        facts: What `describe` made of them.
    """
    metadata, types = Metadata(headers[0].keys), headers[0].key_types
    found: dict[str, RightValue] = {}
    if facts.architecture is not None and facts.tensor_count and facts.kind in _KINDS:
        for right in _found(headers[0], facts, metadata):
            if _can_be_stored(right):
                found.setdefault(right.key, right)
    for key, value in choice.chosen:
        found[key] = _chosen(key, value, found.get(key), types, usual_right(key, facts))
    return tuple(
        right if _can_be_given(right) else replace(right, is_overridable=False) for right in found.values()
    )


def overrides_of(
    rights: Sequence[RightValue], choice: RepairChoice = NO_CHOICE
) -> tuple[tuple[str, KvOverrideValue], ...]:
    """Return what the engine is given at load: what is decided, can be overridden and is not switched off."""
    return tuple(
        (right.key, right.value)
        for right in rights
        if right.is_decided
        and right.is_overridable
        and right.value is not None
        and right.key not in choice.off
    )


def _can_be_stored(right: RightValue) -> bool:
    """Return whether the type of its key holds it; a tensor's shape can be any number of 64 bits."""
    is_whole = isinstance(right.value, int) and not isinstance(right.value, bool)
    return right.type_name != U32 or not is_whole or 0 <= int(right.value or 0) <= MOST_U32


def _can_be_given(right: RightValue) -> bool:
    """Return whether the engine takes it at load: it reads the alignment before, and has little room."""
    is_early = right.key == "general.alignment"
    return (
        right.is_overridable
        and not is_early
        and (right.value is None or fits_override(right.key, right.value))
    )


def with_values(header: GgufHeader, overrides: Sequence[tuple[str, KvOverrideValue]]) -> GgufHeader:
    """Return the header as an engine sees it that is given `overrides`."""
    return replace(header, keys={**header.keys, **dict(overrides)})


def _found(header: GgufHeader, facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    architecture = _architecture(metadata)
    if architecture is not None:  # no other key is looked for under the right name
        yield architecture
        return
    yield from _expert_count(facts)
    yield from _used_count(facts, metadata)
    if split_count(header) < 2 or header.keys.get("split.tensors.count") == facts.tensor_count:
        yield from _block_count(facts, metadata)
        yield from _embedding_length(facts, metadata)
        yield from _layout(facts, metadata)
    yield from _expert_width(facts, metadata)
    yield from _head_counts(facts, metadata)
    yield from _context(metadata)
    yield from _wrong_types(header)
    yield from _name(header, metadata)


def _expert_count(facts: ModelFacts) -> Iterator[RightValue]:
    count = expert_count_of(facts.layers)
    is_uniform = len({layer.expert_count for layer in facts.expert_layers}) == 1
    if (
        not is_uniform
        or facts.has_old_expert_layout
        or count > MAX_EXPERTS
        or facts.expert_count_key == count
    ):
        return
    cures = (
        FindingCode.EXPERT_COUNT_MISSING,
        FindingCode.EXPERT_COUNT_MISMATCH,
        FindingCode.EXPERT_COUNT_INVALID,
    )
    yield RightValue(f"{facts.architecture}.expert_count", count, U32, ValueSource.TENSORS, cures)


def _used_count(facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    held = expert_count_of(facts.layers)
    used = facts.expert_used_count
    if held == 0 or facts.has_old_expert_layout or (used is not None and 0 < used <= held):
        return
    is_there = metadata.has("expert_used_count")
    code = FindingCode.EXPERT_USED_COUNT_INVALID if is_there else FindingCode.EXPERT_USED_COUNT_MISSING
    key = metadata.full_name("expert_used_count")
    right = RightValue(key, None, U32, None, (code,), most=held, is_overridable=is_there)
    elsewhere = {
        number
        for name in metadata.names_ending(".expert_used_count")
        if name != key and (number := metadata.number(name)) is not None and 0 < number <= held
    }
    usual = usual_used_count(facts.architecture or "", held)
    meant = as_whole(metadata.raw("expert_used_count"))
    if meant is not None and 0 < meant <= held:
        right = replace(right, value=meant, source=ValueSource.SAME_VALUE)
    elif len(elsewhere) == 1:
        right = replace(right, value=elsewhere.pop(), source=ValueSource.OTHER_PREFIX)
    elif usual is not None:
        right = replace(right, value=usual.value, source=ValueSource.USUAL, model=usual.model)
    yield right


def _block_count(facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    indices = [layer.index for layer in facts.layers]
    held = len(indices)
    if indices != list(range(held)) or not 0 < held <= MAX_BLOCKS:
        return
    count, trunk = facts.block_count, facts.trunk_layers
    is_possible = count is not None and trunk is not None and 0 < trunk <= held and 0 < count <= MAX_BLOCKS
    if is_possible and not blocks_beyond(facts):
        return
    cures = (FindingCode.BLOCK_COUNT_INVALID,)
    yield RightValue(metadata.full_name("block_count"), held, U32, ValueSource.TENSORS, cures)


def _embedding_length(facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    widths = {t.shape[0] for t in facts.tensors if t.name == "token_embd.weight" and len(t.shape) == 2}
    if len(widths) == 1 and not metadata.has("embedding_length"):
        key, cures = metadata.full_name("embedding_length"), (FindingCode.METADATA_MISSING,)
        yield RightValue(key, widths.pop(), U32, ValueSource.TENSORS, cures)


def _layout(facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    for wrong in (*wrong_counts(facts, metadata), *wrong_widths(facts, metadata)):
        key, cures = metadata.full_name(wrong.name), (FindingCode.LAYOUT_MISMATCH,)
        yield RightValue(key, wrong.tensors, U32, ValueSource.TENSORS, cures)
    for name, value in missing_widths(facts, metadata):
        key, cures = metadata.full_name(name), (FindingCode.METADATA_MISSING,)
        is_read_alone = name != "attention.head_count_kv"
        yield RightValue(key, value, U32, ValueSource.TENSORS, cures, is_overridable=is_read_alone)


def _expert_width(facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    stored = metadata.raw("expert_feed_forward_length")
    widths = set()
    for tensor in facts.tensors:
        _, rest = split_block(tensor.name)
        if len(tensor.shape) == 3 and rest in ("ffn_up_exps.weight", "ffn_gate_exps.weight"):
            widths.add(tensor.shape[1])
    if isinstance(stored, tuple | None) or len(widths) != 1 or stored in widths:
        return
    key, width = metadata.full_name("expert_feed_forward_length"), widths.pop()
    yield RightValue(key, width, U32, ValueSource.TENSORS, (FindingCode.EXPERT_WIDTH_MISMATCH,))


def _head_counts(facts: ModelFacts, metadata: Metadata) -> Iterator[RightValue]:
    heads, kv_heads = (metadata.raw(f"attention.{name}") for name in ("head_count", "head_count_kv"))
    if isinstance(heads, bool) or not isinstance(heads, int):
        return
    if has_latent_heads(facts, metadata) and not is_one(kv_heads):
        key, cures = metadata.full_name("attention.head_count_kv"), (FindingCode.HEAD_COUNT_INVALID,)
        yield RightValue(key, 1, U32, ValueSource.TENSORS, cures, is_overridable=kv_heads is not None)
        return
    wrong = ["attention.head_count"] if heads <= 0 else []
    if isinstance(kv_heads, int) and kv_heads > 0 and heads > 0 and heads % kv_heads:
        wrong.append(wrong_heads(heads, facts, metadata))
    for name in wrong:
        value = head_count_of(name, facts.tensors, metadata)
        source = None if value is None else ValueSource.TENSORS
        yield RightValue(metadata.full_name(name), value, U32, source, (FindingCode.HEAD_COUNT_INVALID,))


def _architecture(metadata: Metadata) -> RightValue | None:
    """Return the architecture whose keys are there: a proposal, since the tensors may be another's."""
    prefix = foreign_prefix(metadata)
    if prefix is None:
        return None
    cures = (FindingCode.METADATA_PREFIX_MISMATCH,)
    return RightValue("general.architecture", prefix, "str", ValueSource.OTHER_PREFIX, cures)


def _context(metadata: Metadata) -> Iterator[RightValue]:
    stored = metadata.raw("context_length")
    is_missing = stored is None
    if not is_missing and (
        isinstance(stored, bool) or not isinstance(stored, int) or 0 <= stored <= LARGEST_COUNT
    ):
        return
    original = metadata.integer("rope.scaling.original_context_length")
    yield RightValue(
        metadata.full_name("context_length"),
        original or SAFE_CONTEXT,
        U32,
        ValueSource.OTHER_PREFIX if original else ValueSource.SAFE,
        (FindingCode.METADATA_MISSING if is_missing else FindingCode.METADATA_INVALID,),
        most=LARGEST_COUNT,
    )


def _name(header: GgufHeader, metadata: Metadata) -> Iterator[RightValue]:
    if name_breaks_loader(header, metadata):
        value = harmless_name(metadata.string(NAME) or "")
        yield RightValue(NAME, value, "str", ValueSource.SAME_VALUE, (FindingCode.NAME_BREAKS_LOADER,))


def _wrong_types(header: GgufHeader) -> Iterator[RightValue]:
    architecture = Metadata(header.keys).architecture
    overwritten = {overwritten.key for overwritten in header.overwritten_types}
    for key, stored in header.keys.items():
        wanted = expected_type(key, architecture)
        found = header.key_types.get(key, wanted)
        if wanted is None or key in overwritten or found == wanted:
            continue
        if found == "arr" and not is_never_list(key, architecture):
            continue
        value = as_type(wanted, only_value(stored) if isinstance(stored, tuple) else stored)
        source = None if value is None else ValueSource.SAME_VALUE
        yield RightValue(key, value, wanted, source, (FindingCode.METADATA_TYPE_WRONG,))


def _chosen(
    key: str,
    value: KvOverrideValue,
    right: RightValue | None,
    types: Mapping[str, str],
    usual: RightValue | None,
) -> RightValue:
    if right is not None:
        return replace(right, value=value, source=ValueSource.CHOSEN, model=None, instead_of=right)
    is_overridable = key in types or not key.endswith(".expert_used_count")
    stored = types.get(key)
    type_name = _type_for(value) if stored is None or stored == "arr" else stored
    return RightValue(
        key, value, type_name, ValueSource.CHOSEN, (), is_overridable=is_overridable, instead_of=usual
    )


def _type_for(value: KvOverrideValue) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return U32 if 0 <= value <= MOST_U32 else "i64"
        case float():
            return F32
    return "str"
