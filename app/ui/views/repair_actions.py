"""Which repair the button of a finding asks for, and what the button says. Pure."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from app.findings import Finding, FindingCode, Severity
from app.gguf.repair import COPY_CURES, HEADER_REASONS
from app.ui.views.words import Words


class RepairRequest(StrEnum):
    """What a person wants done about a file."""

    ON = "on"
    OFF = "off"
    DIALOG = "dialog"


_TOLD_AT_LOAD: Final = frozenset(
    {
        FindingCode.EXPERT_COUNT_MISSING,
        FindingCode.EXPERT_COUNT_MISMATCH,
        FindingCode.EXPERT_COUNT_INVALID,
        FindingCode.OVERRIDE_IN_FORCE,
        FindingCode.OVERRIDE_CHOSEN,
    }
)
"""Findings on a value that the engine is given in place of the file's."""

_CHOICES: Final = frozenset({FindingCode.EXPERT_USED_COUNT_INVALID, FindingCode.METADATA_PREFIX_MISMATCH})
"""A person must confirm a value; then it can be given at load."""

_COPIES: Final = COPY_CURES | {FindingCode.EXPERT_USED_COUNT_MISSING, FindingCode.VALUE_TYPE_OVERWRITTEN}


def repair_request(finding: Finding) -> RepairRequest | None:
    """Return what the button of a finding asks for; None when no repair helps."""
    code = finding.code
    if code is FindingCode.OVERRIDE_OFF:
        return RepairRequest.ON
    if code in _TOLD_AT_LOAD:
        return RepairRequest.OFF if finding.severity is not Severity.ERROR else None
    is_form = code is FindingCode.HEADER_BROKEN and finding.values.get("reason") in HEADER_REASONS
    is_choice = code in _CHOICES and finding.severity is Severity.ERROR
    return RepairRequest.DIALOG if is_form or is_choice or code in _COPIES else None


def repair_button(finding: Finding, beside: Iterable[Finding]) -> Words | None:
    """Return what the button of a finding says; None without a repair.

    Args:
        beside: All findings on the file: what is switched off has one button, not two.
    """
    request = repair_request(finding)
    if request is RepairRequest.DIALOG:
        is_choice = finding.code in _CHOICES
        return Words("ui.repair.action.choose" if is_choice else "ui.repair.action.copy")
    if request is None or (request is RepairRequest.OFF and _is_off(finding, beside)):
        return None
    value = finding.values.get("value", finding.values.get("tensors"))
    return Words(f"ui.repair.action.{request.value}", {"value": value})


def _is_off(finding: Finding, beside: Iterable[Finding]) -> bool:
    key = finding.values.get("key")
    return any(other.code is FindingCode.OVERRIDE_OFF and other.values.get("key") == key for other in beside)
