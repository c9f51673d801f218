"""What helps with a finding, said for somebody who has the window and no command line. No Qt."""

from collections.abc import Mapping
from typing import Final

from app.findings import Finding, FindingCode
from app.texts import Texts

SHOWS_MACHINE: Final = frozenset({FindingCode.PLAN_WITHOUT_GPU, FindingCode.PROBE_FAILED})
"""Findings that are understood by looking at what the machine has."""

_CHOOSE_ENGINE: Final = "ui.action.choose_engine"
_OTHER_MODEL: Final = "ui.action.other_model"
_KEYS: Final[Mapping[FindingCode, str]] = {
    FindingCode.CPU_INSTRUCTIONS_MISSING: _CHOOSE_ENGINE,
    FindingCode.ENGINE_GPU_UNSEEN: _CHOOSE_ENGINE,
    FindingCode.ENGINE_NOT_FOUND: _CHOOSE_ENGINE,
    FindingCode.ENGINE_START_FAILED: _CHOOSE_ENGINE,
    FindingCode.ENGINE_TIMED_OUT: _CHOOSE_ENGINE,
    FindingCode.ENGINE_ASSERT: _OTHER_MODEL,
    FindingCode.ENGINE_REJECTS_MODEL: _OTHER_MODEL,
    FindingCode.EXPERT_COUNTS_ABORT: _OTHER_MODEL,
    FindingCode.BLOCK_COUNT_ABORTS: _OTHER_MODEL,
    FindingCode.ENGINE_OUT_OF_VRAM: "ui.action.more_experts",
    FindingCode.GPU_UNSEEN_BY_ENGINE: _CHOOSE_ENGINE,
    FindingCode.ENGINE_FLAVOUR_UNFIT: "ui.action.choose_engine_for",
    FindingCode.REPAIR_VALUE_NEEDED: "ui.action.give_value",
    FindingCode.PLAN_WITHOUT_GPU: "ui.action.show_machine",
    FindingCode.PROBE_FAILED: "ui.action.show_machine",
}
"""Where the finding's own sentence names a command, and the window has a way of its own."""


def action_in_window(texts: Texts, finding: Finding) -> str:
    """Return the sentence that says what helps."""
    key = _KEYS.get(finding.code)
    return texts.finding(finding).action if key is None else texts.text(key)
