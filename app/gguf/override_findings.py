"""How the findings on a file read once the engine is given other values at load, or a person forbade that."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.findings import Finding, FindingCode, Severity, error, note
from app.gguf.reader import GgufHeader, SkippedValue
from app.gguf.repair_facts import RepairChoice, RightValue
from app.gguf.right_values import overrides_of

_SAYS_IT_ITSELF = (
    FindingCode.EXPERT_COUNT_MISSING,
    FindingCode.EXPERT_COUNT_MISMATCH,
    FindingCode.EXPERT_COUNT_INVALID,
)
"""Findings whose own text tells what the engine is given."""


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
    ]
    return (*judged, *_told(judged, header, rights, choice))


def _told(
    findings: Sequence[Finding], header: GgufHeader, rights: Sequence[RightValue], choice: RepairChoice
) -> Iterator[Finding]:
    in_force = dict(overrides_of(rights, choice))
    told = {finding.values.get("key") for finding in findings if finding.code in _SAYS_IT_ITSELF}
    for right in rights:
        stored = header.keys.get(right.key)
        values = {
            "key": right.key,
            "value": right.value,
            "found": None if isinstance(stored, SkippedValue | tuple) else stored,
            "found_type": header.key_types.get(right.key),
        }
        if right.key in choice.off and right.is_decided and right.is_overridable:
            yield error(FindingCode.OVERRIDE_OFF, **values)
        elif right.key in in_force and right.key not in told:
            yield note(FindingCode.OVERRIDE_IN_FORCE, **values)
