"""What the window can do about a finding at the press of a button: other wishes, or more to read. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from app.findings import Finding, FindingCode
from app.planner.facts import Wishes
from app.ui.views.repair_actions import repair_button
from app.ui.views.words import Words
from app.ui.window_actions import SHOWS_MACHINE

_WISH_OF_OPTION: Final[Mapping[str, str]] = {
    "n_ctx": "n_ctx",
    "type_k": "kv_type",
    "type_v": "kv_type",
    "n_threads": "n_threads",
    "n_threads_batch": "n_threads",
    "repack": "repack",
}


def finding_wishes(finding: Finding, wishes: Wishes) -> Wishes | None:
    """Return the wishes that mend `finding`; None when no wish does."""
    answer = _ANSWERS.get(finding.code)
    changes = answer(finding.values, wishes) if answer else None
    if changes is None:
        return None
    changed = replace(wishes, **changes)
    return changed if changed != wishes else None


def finding_actions(findings: Iterable[Finding], wishes: Wishes) -> dict[FindingCode, Words]:
    """Return the button of each code whose findings the window can mend or explain."""
    findings = tuple(findings)
    actions: dict[FindingCode, Words] = {}
    hopeless: set[FindingCode] = set()
    for finding in findings:
        if (words := repair_button(finding, findings)) is not None:
            actions[finding.code] = words
            continue
        if finding.code in SHOWS_MACHINE:
            actions[finding.code] = Words("ui.plan.action.show_machine")
            continue
        changed = finding_wishes(finding, wishes)
        if changed is None:
            hopeless.add(finding.code)
        elif finding.code in actions:  # one name for several findings
            actions[finding.code] = Words("ui.plan.action.use_applied")
        else:
            actions[finding.code] = _button(wishes, changed)
    return {code: words for code, words in actions.items() if code not in hopeless}


def _button(before: Wishes, after: Wishes) -> Words:
    if after.moe != before.moe:
        if after.moe == "auto":
            return Words("ui.plan.action.moe_auto")
        return Words("ui.plan.action.moe_number", {"n_cpu_moe": after.moe})
    if after.n_ctx != before.n_ctx:
        if after.n_ctx is None:
            return Words("ui.plan.action.context_auto")
        return Words("ui.plan.action.context", {"n_ctx": after.n_ctx})
    if after.kv_type is not None and after.kv_type != before.kv_type:
        return Words("ui.plan.action.kv_type", {"kv_type": after.kv_type})
    return Words("ui.plan.action.use_applied")


Answer = Callable[[Mapping[str, Any], Wishes], dict[str, Any] | None]


def _auto_moe(values: Mapping[str, Any], wishes: Wishes) -> dict[str, Any]:  # noqa: ARG001 one shape for all answers
    return {"moe": "auto"}


def _shorter_context(values: Mapping[str, Any], wishes: Wishes) -> dict[str, Any] | None:
    return {"n_ctx": values["n_ctx"]} if wishes.n_ctx is not None else None


def _applied(values: Mapping[str, Any], wishes: Wishes) -> dict[str, Any] | None:  # noqa: ARG001 as above
    wish = _WISH_OF_OPTION.get(str(values["name"]))
    return {wish: values["applied"]} if wish else None


def _left_to_moxie(values: Mapping[str, Any], wishes: Wishes) -> dict[str, Any] | None:  # noqa: ARG001 as above
    wish = _WISH_OF_OPTION.get(str(values["name"]))
    return {wish: None} if wish else None


_ANSWERS: Final[Mapping[FindingCode, Answer]] = {
    FindingCode.VRAM_EXCEEDED: _auto_moe,
    FindingCode.VRAM_MARGIN_SMALL: _auto_moe,
    FindingCode.MOE_NOT_APPLICABLE: _auto_moe,
    FindingCode.MOE_N_CLAMPED: lambda values, _: {"moe": values["n_cpu_moe"]},
    FindingCode.MOE_N_FREES_NOTHING: lambda values, _: {"moe": values["first_expert_block"] + 1},
    FindingCode.CONTEXT_BEYOND_MODEL: lambda values, _: {"n_ctx": values["context_length"]},
    FindingCode.CONTEXT_REDUCED: _shorter_context,
    FindingCode.KV_TYPE_CHANGED: lambda values, _: {"kv_type": values["before"]},
    FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION: lambda values, _: {"kv_type": values["applied"]},
    FindingCode.OPTION_NOT_APPLIED: _applied,
    FindingCode.OPTION_UNSUPPORTED: _left_to_moxie,
}
