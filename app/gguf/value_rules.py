"""What is wrong with single values of the header: their types, and numbers that are none."""

import math
from collections.abc import Iterator
from typing import Final

from app.findings import Finding, FindingCode, error
from app.gguf.describe import expert_count_of
from app.gguf.facts import ModelFacts
from app.gguf.key_types import U32_ID, expected_type, is_never_list
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufHeader, MetadataValue, SkippedValue

_EXPERTS: Final = "expert_count"
"""Its right value comes from the tensors, so its type needs no finding of its own (`expert_rules.py`)."""

_JUDGED_ELSEWHERE: Final = ("expert_used_count", "block_count")
"""Where they are no whole number, they have a finding that says so."""

MAX_SHOWN: Final = 80

_NEVER_BELOW_ZERO: Final = (
    *("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "attention.group_norm_epsilon"),
)
_ALWAYS_ABOVE_ZERO: Final = ("rope.freq_base", "rope.freq_base_swa", "full_attention_interval")
"""Engines end themselves at the former, divide by the latter, or answer nonsense."""


def value_findings(header: GgufHeader, facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return the findings on the metadata of a model's first part."""
    yield from _overwritten_types(header, facts, metadata)
    yield from _wrong_types(header, facts, metadata)
    yield from _no_numbers(header)
    yield from _nonsense(header, metadata)


def _overwritten_types(header: GgufHeader, facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    for left in header.overwritten_types:
        is_count_of_experts = left.key == metadata.full_name(_EXPERTS)
        yield error(
            FindingCode.VALUE_TYPE_OVERWRITTEN,
            file=header.path.name,
            key=left.key,
            found=left.type_id,
            expected=U32_ID,
            offset=left.offset_bytes,
            value=left.value,
            meant=left.type_id,
            tensors=(expert_count_of(facts.layers) or None) if is_count_of_experts else None,
        )


def _wrong_types(header: GgufHeader, facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    known = {left.key for left in header.overwritten_types}
    if expert_count_of(facts.layers):
        known.add(metadata.full_name(_EXPERTS))
    known |= {metadata.full_name(name) for name in _JUDGED_ELSEWHERE if metadata.integer(name) is None}
    for key, found in header.key_types.items():
        expected = expected_type(key, metadata.architecture)
        if expected is None or found == expected or key in known:
            continue
        if found == "arr" and not is_never_list(key, metadata.architecture):
            continue
        yield error(
            FindingCode.METADATA_TYPE_WRONG,
            file=header.path.name,
            key=key,
            found=found,
            expected=expected,
            value=_shown(header.keys[key]),
        )


def _no_numbers(header: GgufHeader) -> Iterator[Finding]:
    for key, value in header.keys.items():
        numbers = value if isinstance(value, tuple) else (value,)
        found = next((n for n in numbers if isinstance(n, float) and not math.isfinite(n)), None)
        if found is not None:
            values = {"file": header.path.name, "key": key, "found": str(found)}
            yield error(FindingCode.METADATA_NOT_FINITE, **values)


def _nonsense(header: GgufHeader, metadata: Metadata) -> Iterator[Finding]:
    for name in (*_NEVER_BELOW_ZERO, *_ALWAYS_ABOVE_ZERO):
        value = metadata.raw(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            continue
        if value < 0.0 or (value == 0.0 and name in _ALWAYS_ABOVE_ZERO):
            key = metadata.full_name(name)
            yield error(FindingCode.METADATA_NOT_FINITE, file=header.path.name, key=key, found=str(value))


def _shown(value: MetadataValue) -> str:
    if isinstance(value, SkippedValue):
        return f"{value.length} {value.type_name}"
    return str(value)[:MAX_SHOWN]
