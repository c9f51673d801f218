"""What can be done about a file that engines would die of: another value at load, or a patched copy.

An override comes first: the file stays as it is. A copy is for what no override reaches: a key that is not
there, values that cannot be read, keys that come twice, names of parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from app.findings import Finding, FindingCode, FindingValue
from app.gguf.key_types import OverwrittenType
from app.gguf.reader import GgufHeader, MetadataValue, SkippedValue
from app.gguf.repair_facts import RepairChoice, RightValue, ValueSource
from app.gguf.right_values import U32
from app.gguf.value_types import value_type_name
from app.options import KvOverrideValue

if TYPE_CHECKING:
    from app.gguf.inspect_file import InspectedFile

COPY_CURES: Final = frozenset(
    {FindingCode.METADATA_DUPLICATE, FindingCode.SHARD_NAME_INVALID, FindingCode.SHARD_MISMATCH}
)
"""Findings that only a copy mends, whatever the keys say."""

HEADER_REASONS: Final = ("empty-key", "alignment")
"""Reasons of `HEADER_BROKEN` that a copy may mend."""


class RepairKind(StrEnum):
    """How a file is made to load."""

    OVERRIDE = "override"
    PATCHED_COPY = "patched-copy"


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """One key before and after.

    Attributes:
        type_before: As stored, e.g. `u32`; None when the key is not there.
        value_before: None likewise, and for a value that cannot be read or is too long to show.
        type_after: None when the entry goes.
        value_after: None when the entry goes, stays as it lies, or must still be chosen.
    """

    key: str
    type_before: str | None
    value_before: FindingValue
    type_after: str | None
    value_after: KvOverrideValue | None


@dataclass(frozen=True, slots=True)
class Repair:
    """One way to make a file load.

    Attributes:
        cures: Codes of the findings it mends.
        changes: What the engine sees changed; none where only names of files change.
        source: Where the new value comes from; None when a person must say, and for changes of form.
        model: The model a usual value is known from.
        most: The largest value that makes sense; None without a bound.
        is_on: An override in force; always False for a copy.
        needs_choice: A person must confirm or give the value first.
    """

    kind: RepairKind
    cures: tuple[FindingCode, ...]
    changes: tuple[MetadataChange, ...]
    source: ValueSource | None = None
    model: str | None = None
    most: int | None = None
    is_on: bool = False
    needs_choice: bool = False


def repairs_for(inspected: "InspectedFile") -> tuple[Repair, ...]:
    """Return the repairs of a file, the overrides first; empty when there is nothing to mend, or no way."""
    headers, choice = inspected.headers, inspected.choice
    repairs = [_repair_of(right, headers[0], choice) for right in inspected.right_values]
    repairs += [_type_repair(overwritten) for overwritten in _overwritten(headers)]
    repairs += _form_repairs(inspected.findings)
    return tuple(sorted(repairs, key=lambda repair: repair.kind is RepairKind.PATCHED_COPY))


def choice_at_load(inspected: "InspectedFile") -> RepairChoice:
    """Return what of a decision matters for the original: values that only a copy can hold are left out."""
    in_copy = {right.key for right in inspected.right_values if not right.is_overridable}
    chosen = tuple(pair for pair in inspected.choice.chosen if pair[0] not in in_copy)
    return RepairChoice(inspected.choice.off, chosen)


def change_of(right: RightValue, header: GgufHeader) -> MetadataChange:
    """Return what a right value changes in a header."""
    is_there = right.key in header.keys
    return MetadataChange(
        right.key,
        header.key_types.get(right.key) if is_there else None,
        shown_value(header.keys.get(right.key)) if is_there else None,
        right.type_name,
        right.value,
    )


def shown_value(value: MetadataValue | None) -> FindingValue:
    """Return a value as findings carry it; None for one too long to show."""
    return None if isinstance(value, SkippedValue) else value


def _repair_of(right: RightValue, header: GgufHeader, choice: RepairChoice) -> Repair:
    kind = RepairKind.OVERRIDE if right.is_overridable else RepairKind.PATCHED_COPY
    return Repair(
        kind,
        right.cures,
        (change_of(right, header),),
        source=right.source,
        model=right.model,
        most=right.most,
        is_on=right.is_overridable and right.is_decided and right.key not in choice.off,
        needs_choice=not right.is_decided,
    )


def _overwritten(headers: Sequence[GgufHeader]) -> tuple[OverwrittenType, ...]:
    return headers[0].overwritten_types if headers else ()


def _type_repair(overwritten: OverwrittenType) -> Repair:
    key = overwritten.key
    change = MetadataChange(key, value_type_name(overwritten.type_id), None, U32, overwritten.value)
    return Repair(
        RepairKind.PATCHED_COPY,
        (FindingCode.VALUE_TYPE_OVERWRITTEN,),
        (change,),
        source=ValueSource.SAME_VALUE,
    )


def _form_repairs(findings: Iterable[Finding]) -> Iterator[Repair]:
    for finding in findings:
        values = finding.values
        if finding.code is FindingCode.METADATA_DUPLICATE:
            gone = MetadataChange(str(values["key"]), None, None, None, None)
            yield Repair(RepairKind.PATCHED_COPY, (finding.code,), (gone,))
        elif finding.code in COPY_CURES or (
            finding.code is FindingCode.HEADER_BROKEN and values["reason"] in HEADER_REASONS
        ):
            yield Repair(RepairKind.PATCHED_COPY, (finding.code,), ())
