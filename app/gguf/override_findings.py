"""How the findings on a file read once the engine is given other values at load, or a person forbade that."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.findings import Finding, FindingCode, FindingValue, Severity, error, note
from app.gguf.reader import GgufHeader, SkippedValue
from app.gguf.repair_facts import RepairChoice, RightValue, ValueSource
from app.gguf.right_values import overrides_of

_SAYS_IT_ITSELF = (
    FindingCode.EXPERT_COUNT_MISSING,
    FindingCode.EXPERT_COUNT_MISMATCH,
    FindingCode.EXPERT_COUNT_INVALID,
)
"""Findings whose own text tells what the engine is given, unless a person chose something else."""


def with_overrides(
    findings: Sequence[Finding], header: GgufHeader, rights: Sequence[RightValue], choice: RepairChoice
) -> tuple[Finding, ...]:
    """Return the findings as they weigh with the overrides: what one mends stops nobody, and each is told."""
    in_force = dict(overrides_of(rights, choice))
    told = [right for right in rights if right.key in in_force]
    judged = [
        replace(finding, severity=Severity.WARNING)
        if finding.severity is Severity.ERROR and any(right.mends(finding) for right in told)
        else finding
        for finding in findings
        if not _is_chosen_otherwise(finding, told)
    ]
    return (*judged, *_told(judged, header, rights, choice))


def with_chosen(
    findings: Sequence[Finding], in_force: Sequence[Finding], choice: RepairChoice
) -> tuple[Finding, ...]:
    """Return the findings as they weigh with what a person chose, which may mend more, or break more.

    Args:
        findings: On the file, as `with_overrides` returns them.
        in_force: On the file as if the values given at load stood in it.
    """
    chosen = {key for key, _ in choice.chosen}
    left = [_as_chosen(finding, chosen) for finding in in_force]
    still, before = {_cause(f) for f in left}, {_cause(f) for f in findings if f.severity is Severity.ERROR}
    kept = (FindingCode.OVERRIDE_OFF, FindingCode.METADATA_TYPE_WRONG, FindingCode.VALUE_TYPE_OVERWRITTEN)
    judged = [
        replace(finding, severity=Severity.WARNING)
        if finding.severity is Severity.ERROR and finding.code not in kept and _cause(finding) not in still
        else finding
        for finding in findings
    ]
    broken = [f for f in left if f.severity is Severity.ERROR and _cause(f) not in before]
    return (*judged, *(finding for finding in broken if finding.code not in kept))


def _as_chosen(finding: Finding, chosen: set[str]) -> Finding:
    """Nobody mends at load what a person chose."""
    is_chosen = finding.code in _SAYS_IT_ITSELF and finding.values.get("key") in chosen
    return replace(finding, severity=Severity.ERROR) if is_chosen else finding


def _cause(finding: Finding) -> tuple[FindingCode, FindingValue]:
    return finding.code, finding.values.get("key", finding.values.get("tensor"))


def _is_chosen_otherwise(finding: Finding, told: Sequence[RightValue]) -> bool:
    """Return whether a finding says what the engine is given, and a person chose another."""
    return finding.code in _SAYS_IT_ITSELF and any(
        right.source is ValueSource.CHOSEN and right.mends(finding) for right in told
    )


def _told(
    findings: Sequence[Finding], header: GgufHeader, rights: Sequence[RightValue], choice: RepairChoice
) -> Iterator[Finding]:
    in_force = dict(overrides_of(rights, choice))
    told = {finding.values.get("key") for finding in findings if finding.code in _SAYS_IT_ITSELF}
    for right in rights:
        stored = header.keys.get(right.key)
        values: dict[str, FindingValue] = {
            "key": right.key,
            "value": right.value,
            "found": None if isinstance(stored, SkippedValue | tuple) else stored,
            "found_type": header.key_types.get(right.key),
        }
        is_chosen = right.source is ValueSource.CHOSEN
        is_wrong = bool(right.cures) or not is_chosen
        if right.key in choice.off and right.is_decided and right.is_overridable and is_wrong:
            yield error(FindingCode.OVERRIDE_OFF, **values)
        elif right.key in in_force and is_chosen:
            yield note(FindingCode.OVERRIDE_CHOSEN, **values, **_otherwise(right.instead_of))
        elif right.key in in_force and right.key not in told:
            yield note(FindingCode.OVERRIDE_IN_FORCE, **values)


def _otherwise(right: RightValue | None) -> dict[str, FindingValue]:
    """Return what would be given by the tensors, or is usual."""
    is_certain = right is not None and right.is_decided
    value = None if right is None else right.value
    return {
        "tensors": value if is_certain else None,
        "usual": None if is_certain else value,
        "model": None if right is None else right.model,
    }
