"""The header of a model with everything in it put right that is certain or was chosen. Writes nothing."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.gguf.describe import describe
from app.gguf.header_patch import PADDING_KEY, HeaderPatch, patched_header, rounded_up, stored_value
from app.gguf.inspect_file import InspectedFile
from app.gguf.override_findings import with_overrides
from app.gguf.raw_header import RawHeader, read_raw_header
from app.gguf.reader import DEFAULT_ALIGNMENT, GgufError, GgufHeader, parse_header
from app.gguf.repair import MetadataChange, change_of
from app.gguf.repair_facts import NO_CHOICE, RightValue
from app.gguf.right_values import U32, right_values
from app.gguf.validate import validate
from app.gguf.value_types import value_type_name

REPAIRED_FROM: Final = "moxie.repaired_from"
REPAIRS: Final = "moxie.repairs"
"""Keys with which a copy explains itself: the name of the original, and what was changed."""

_ALIGNMENT_KEY: Final = "general.alignment"


@dataclass(frozen=True, slots=True)
class MendedHeader:
    """The header of a model as the copy will have it.

    Attributes:
        raw: As it lies in the original; `original` is what was read of it.
        patch: Without padding: how much is needed depends on where the copy goes.
        changes: In the order of the file.
        undecided: Values that a person must give or confirm first; the patch holds none of them.
        left: Errors that the copy would have all the same.
    """

    raw: RawHeader
    patch: HeaderPatch
    original: GgufHeader
    changes: tuple[MetadataChange, ...]
    undecided: tuple[RightValue, ...]
    left: tuple[Finding, ...]


def mended_header(inspected: InspectedFile) -> MendedHeader:
    """Return how the header of a model is mended with all that is certain and all that was chosen.

    Raises:
        FindingError: `REPAIR_IMPOSSIBLE`, nobody can follow the header to its end.
        ValueError: a chosen value does not fit the type of its key.
    """
    raw, original = _original(inspected)
    others = inspected.headers[1:]
    rights = inspected.right_values or right_values([original, *others], describe([original], [raw.path]))
    stored, changes = _changes_of_form(raw, original)
    added: list[tuple[str, bytes]] = []
    for right in rights:
        if right.is_decided:
            _apply(right, raw, stored, added)
            changes = [c for c in changes if c.key != right.key or c.type_after is None]
            changes.append(change_of(right, original))
    patch = HeaderPatch(stored, tuple(added))
    if changes:
        patch = _with_notes(raw, patch, raw.path.name, changes)
    moved = rounded_up(len(patched_header(raw, patch)), original.alignment) - original.data_offset
    try:
        header = _parsed(raw, patch, original.file_size + moved)
    except GgufError as reason:  # by a value that was chosen
        raise FindingError(impossible(inspected)) from reason
    undecided = _undecided(inspected, rights)
    left = _errors_left([header, *others], inspected, undecided)
    return MendedHeader(raw, patch, original, tuple(changes), undecided, left)


def impossible(inspected: InspectedFile) -> Finding:
    """Return that nothing mends this file, and which findings say so."""
    codes = dict.fromkeys(f.code.value for f in inspected.findings if f.severity is Severity.ERROR)
    return error(FindingCode.REPAIR_IMPOSSIBLE, file=inspected.facts.path.name, codes=tuple(codes))


def _original(inspected: InspectedFile) -> tuple[RawHeader, GgufHeader]:
    """Return the header as it lies, and as it was read; an alignment that cannot be is left out.

    Raises:
        FindingError: `REPAIR_IMPOSSIBLE`.
    """
    path = inspected.facts.path
    overwritten = inspected.headers[0].overwritten_types if inspected.headers else ()
    try:
        raw = read_raw_header(path, [left.offset_bytes for left in overwritten])
        if inspected.headers:
            return raw, inspected.headers[0]
        if _is_alignment_broken(inspected):
            patch = HeaderPatch(dict.fromkeys(_indices(raw, _ALIGNMENT_KEY)))
            return raw, replace(
                _parsed(raw, patch, inspected.facts.size_bytes), data_offset=_default_start(raw)
            )
    except (GgufError, OSError) as reason:
        raise FindingError(impossible(inspected)) from reason
    raise FindingError(impossible(inspected))


def _is_alignment_broken(inspected: InspectedFile) -> bool:
    return any(
        finding.code is FindingCode.HEADER_BROKEN and finding.values.get("reason") == "alignment"
        for finding in inspected.findings
    )


def _default_start(raw: RawHeader) -> int:
    return rounded_up(len(raw.content), DEFAULT_ALIGNMENT)


def _changes_of_form(
    raw: RawHeader, header: GgufHeader
) -> tuple[dict[int, bytes | None], list[MetadataChange]]:
    """Return what must change for engines to read the header at all."""
    stored: dict[int, bytes | None] = {}
    changes = []
    types = {left.offset_bytes: left for left in header.overwritten_types}
    seen: set[str] = set()
    for index, entry in enumerate(raw.entries):
        left = types.get(entry.type_offset)
        is_lost = entry.key == _ALIGNMENT_KEY and _ALIGNMENT_KEY not in header.keys
        if entry.key in seen or not entry.key or is_lost:
            stored[index] = None
            type_name = value_type_name(int.from_bytes(raw.stored(entry)[:4], "little"))
            changes.append(MetadataChange(entry.key, type_name, None, None, None))
        elif left is not None:
            stored[index] = stored_value(U32, left.value)
            wrong = value_type_name(left.type_id)
            changes.append(MetadataChange(entry.key, wrong, left.value, U32, left.value))
        seen.add(entry.key)
    return stored, changes


def _apply(
    right: RightValue, raw: RawHeader, stored: dict[int, bytes | None], added: list[tuple[str, bytes]]
) -> None:
    assert right.value is not None
    _put(raw, stored, added, right.key, stored_value(right.type_name, right.value))


def _put(
    raw: RawHeader, stored: dict[int, bytes | None], added: list[tuple[str, bytes]], key: str, value: bytes
) -> None:
    index = next(iter(_indices(raw, key)), None)
    if index is None:
        added.append((key, value))
    else:
        stored[index] = value


def _indices(raw: RawHeader, key: str) -> list[int]:
    return [index for index, entry in enumerate(raw.entries) if entry.key == key]


def _with_notes(
    raw: RawHeader, patch: HeaderPatch, name: str, changes: Sequence[MetadataChange]
) -> HeaderPatch:
    """Return the patch with the keys that explain the copy; those of an earlier repair are replaced."""
    stored, added = dict(patch.stored), list(patch.added)
    for index in _indices(raw, PADDING_KEY):
        stored[index] = None
    said = "; ".join(map(_said, changes))
    _put(raw, stored, added, REPAIRED_FROM, stored_value("str", _unicode(name)))
    _put(raw, stored, added, REPAIRS, stored_value("str", _unicode(said)))
    return HeaderPatch(stored, tuple(added))


def _said(change: MetadataChange) -> str:
    if change.type_before and not change.type_after:
        return f"{change.key}: left out ({change.type_before})"
    before = f"{change.type_before} {change.value_before}" if change.type_before else "nothing"
    return f"{change.key}: {before} -> {change.type_after} {change.value_after}"


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _parsed(raw: RawHeader, patch: HeaderPatch, file_size: int) -> GgufHeader:
    """Return the new header as a reader sees it, in a file with the same weights behind it."""
    content = patched_header(raw, patch)
    header = parse_header(raw.path, io.BytesIO(content), max(file_size, len(content)))
    return replace(header, file_size=file_size)


def _undecided(inspected: InspectedFile, rights: Sequence[RightValue]) -> tuple[RightValue, ...]:
    """Return the values that a person must give for the errors to go."""
    wrong = [finding for finding in inspected.findings if finding.severity is Severity.ERROR]
    return tuple(right for right in rights if not right.is_decided and any(map(right.mends, wrong)))


def _errors_left(
    headers: Sequence[GgufHeader], inspected: InspectedFile, waiting: Sequence[RightValue]
) -> tuple[Finding, ...]:
    facts = describe(headers, inspected.facts.files)
    rights = right_values(headers, facts)
    found = with_overrides(validate(headers, facts), headers[0], rights, NO_CHOICE)
    return tuple(
        finding
        for finding in found
        if finding.severity is Severity.ERROR and not any(right.mends(finding) for right in waiting)
    )
