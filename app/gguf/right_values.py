"""Which metadata of a model is wrong and what would be right: by the tensors, the file itself, or a proposal.

llama.cpp takes a value given at load before it looks into the file, whatever type the file stores, for every
key that is read as one value. `expert_used_count` is the exception: when that key is absent, nothing given at
load replaces it (`get_key_or_arr`). Tested with llama-cpp-python 0.3.36.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.findings import FindingCode
from app.gguf.describe import expert_count_of
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.key_types import expected_type
from app.gguf.metadata import LARGEST_COUNT, Metadata
from app.gguf.reader import GgufHeader, MetadataValue
from app.gguf.shards import split_count
from app.gguf.tensor_classes import split_block
from app.gguf.usual_values import usual_used_count
from app.options import KvOverrideValue

MAX_EXPERTS: Final = 1024
"""llama.cpp's `LLAMA_MAX_EXPERTS`; more abort the engine."""

MAX_BLOCKS: Final = 512
"""llama.cpp's `LLAMA_MAX_LAYERS`; it aborts outside 1 .. 512."""

SAFE_CONTEXT: Final = 4096
"""Tokens every chat model of the last years was trained for."""

U32: Final = "u32"
F32: Final = "f32"

_MOST_U32: Final = 2**32 - 1


_KINDS: Final = (FileKind.MODEL, FileKind.EMBEDDING, FileKind.RERANKER, FileKind.UNKNOWN)
"""What an engine loads by itself, or may."""


class ValueSource(StrEnum):
    """Where a right value comes from; the first three leave no doubt."""

    TENSORS = "tensors"
    SAME_VALUE = "same-value"
    TEMPLATE = "template"
    OTHER_PREFIX = "other-prefix"
    USUAL = "usual"
    SAFE = "safe"
    CHOSEN = "chosen"


_CERTAIN: Final = (ValueSource.TENSORS, ValueSource.SAME_VALUE, ValueSource.TEMPLATE)


@dataclass(frozen=True, slots=True)
class RepairChoice:
    """What a person decided for one file.

    Attributes:
        off: Keys that the engine is not given, although the file's value is wrong.
        chosen: Values by full key, in place of what the file says and of every proposal.
    """

    off: frozenset[str] = frozenset()
    chosen: tuple[tuple[str, KvOverrideValue], ...] = ()


NO_CHOICE: Final = RepairChoice()


@dataclass(frozen=True, slots=True)
class RightValue:
    """What one key should say.

    Attributes:
        value: None when neither the file nor anything known tells; then a person must.
        type_name: How engines read it, e.g. `u32`.
        source: None without a value.
        model: The model a usual value is known from.
        most: The largest value that makes sense; None without a bound.
        is_overridable: The engine can be given it at load.
        cures: Findings that have no cause any more with it.
    """

    key: str
    value: KvOverrideValue | None
    type_name: str
    source: ValueSource | None
    cures: tuple[FindingCode, ...]
    model: str | None = None
    most: int | None = None
    is_overridable: bool = True

    @property
    def is_decided(self) -> bool:
        """Nobody needs to be asked."""
        return self.source in _CERTAIN or self.source is ValueSource.CHOSEN


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
        promised = headers[0].keys.get("split.tensors.count")
        is_whole = split_count(headers[0]) < 2 or promised == facts.tensor_count
        for right in (
            *_expert_count(facts),
            *_used_count(facts, metadata),
            *(_block_count(facts, metadata) if is_whole else ()),
            *_expert_width(facts, metadata),
            *_context(metadata),
            *_wrong_types(headers[0]),
        ):
            found.setdefault(right.key, right)
    for key, value in choice.chosen:
        found[key] = _chosen(key, value, found.get(key), types)
    return tuple(found.values())


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


def with_values(header: GgufHeader, overrides: Sequence[tuple[str, KvOverrideValue]]) -> GgufHeader:
    """Return the header as an engine sees it that is given `overrides`."""
    return replace(header, keys={**header.keys, **dict(overrides)})


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
    meant = _whole(metadata.raw("expert_used_count"))
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
    if count is not None and trunk is not None and 0 < trunk <= held and 0 < count <= MAX_BLOCKS:
        return
    cures = (FindingCode.BLOCK_COUNT_INVALID,)
    yield RightValue(metadata.full_name("block_count"), held, U32, ValueSource.TENSORS, cures)


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
    yield RightValue(key, width, U32, ValueSource.TENSORS, (FindingCode.METADATA_INVALID,))


def _context(metadata: Metadata) -> Iterator[RightValue]:
    stored = metadata.raw("context_length")
    if isinstance(stored, bool) or not isinstance(stored, int) or 0 <= stored <= LARGEST_COUNT:
        return
    original = metadata.integer("rope.scaling.original_context_length")
    yield RightValue(
        metadata.full_name("context_length"),
        original or SAFE_CONTEXT,
        U32,
        ValueSource.OTHER_PREFIX if original else ValueSource.SAFE,
        (FindingCode.METADATA_INVALID,),
        most=LARGEST_COUNT,
    )


def _wrong_types(header: GgufHeader) -> Iterator[RightValue]:
    architecture = Metadata(header.keys).architecture
    overwritten = {overwritten.key for overwritten in header.overwritten_types}
    for key, stored in header.keys.items():
        wanted = expected_type(key, architecture)
        if wanted is None or key in overwritten or header.key_types.get(key, wanted) in (wanted, "arr"):
            continue
        value = _CONVERSIONS[wanted](stored)
        source = None if value is None else ValueSource.SAME_VALUE
        yield RightValue(key, value, wanted, source, (FindingCode.METADATA_INVALID,))


def _whole(stored: MetadataValue | None) -> int | None:
    """Return a value as the u32 it means; None when it means none."""
    if isinstance(stored, str) and stored.strip().isdecimal() and len(stored) < 12:
        stored = int(stored)
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return None
    return int(stored) if stored == stored // 1 and 0 <= stored <= _MOST_U32 else None


def _real(stored: MetadataValue | None) -> float | None:
    if isinstance(stored, bool) or not isinstance(stored, int | float | str):
        return None
    try:
        return float(stored)
    except (ValueError, OverflowError):
        return None


def _claim(stored: MetadataValue | None) -> bool | None:
    return bool(stored) if isinstance(stored, int) and stored in (0, 1) else None


def _words(stored: MetadataValue | None) -> str | None:
    return str(stored) if isinstance(stored, int | float) else None


_CONVERSIONS: Final[Mapping[str, Callable[[MetadataValue | None], KvOverrideValue | None]]] = {
    U32: _whole,
    F32: _real,
    "bool": _claim,
    "str": _words,
}


def _chosen(
    key: str, value: KvOverrideValue, right: RightValue | None, types: Mapping[str, str]
) -> RightValue:
    if right is not None:
        return replace(right, value=value, source=ValueSource.CHOSEN, model=None)
    is_overridable = key in types or not key.endswith(".expert_used_count")
    stored = types.get(key)
    type_name = _type_for(value) if stored is None or stored == "arr" else stored
    return RightValue(key, value, type_name, ValueSource.CHOSEN, (), is_overridable=is_overridable)


def _type_for(value: KvOverrideValue) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return U32 if 0 <= value <= _MOST_U32 else "i64"
        case float():
            return F32
    return "str"
