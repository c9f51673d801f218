"""What `moxie repair` shows: each repair, the copy byte for byte, how it stood the test; lines or JSON."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from app.cli.context import CliContext
from app.findings import Finding
from app.gguf.header_patch import ByteChange
from app.gguf.inspect_file import InspectedFile
from app.gguf.patched_copy import CopyPlan
from app.gguf.repair import MetadataChange, Repair, RepairKind
from app.library.repair_check import CopyCheck

SHOWN_BYTES: Final = 64
"""Of each change in lines; JSON has them all."""


@dataclass(frozen=True, slots=True)
class RepairAnswer:
    """Everything one run has to say.

    Attributes:
        plan: None where nothing needs a copy.
        is_written: The copy is there.
        check: None unless it was written.
    """

    inspected: InspectedFile
    repairs: tuple[Repair, ...]
    plan: CopyPlan | None = None
    is_written: bool = False
    check: CopyCheck | None = None
    findings: tuple[Finding, ...] = ()


def to_json(answer: RepairAnswer) -> dict[str, Any]:
    """Return the document of the contract."""
    inspected, check = answer.inspected, answer.check
    return {
        "path": str(inspected.facts.path),
        "loadable": inspected.loadable,
        "kv_overrides": dict(inspected.facts.kv_overrides),
        "repairs": [_repair_json(repair) for repair in answer.repairs],
        "copy": None if answer.plan is None else _plan_json(answer.plan),
        "written": str(answer.plan.model) if answer.plan is not None and answer.is_written else None,
        "check": None
        if check is None
        else {
            "passed": check.failure is None,
            "engine_accepts": check.accepted,
            "decoded_tokens": check.decoded_tokens,
        },
        "findings": [finding.to_json() for finding in answer.findings],
    }


def print_repairs(repairs: Iterable[Repair], context: CliContext) -> None:
    """Print each repair in a line."""
    for repair in repairs:
        for change in repair.changes:
            context.say(f"cli.repair.{_word_of(repair, change)}", **_change_values(change, repair, context))
        if not repair.changes:
            context.say("cli.repair.renamed")


def print_plan(plan: CopyPlan, context: CliContext) -> None:
    """Print what the copy is made of, byte for byte."""
    for change in plan.byte_changes:
        context.say(
            f"cli.repair.bytes.{change.kind.value}",
            key=change.key,
            offset=change.offset,
            before=_hex(change.before),
            after=_hex(change.after),
        )
    for part in plan.parts:
        if plan.is_split:
            context.say(f"cli.repair.part.{part.way.value}", source=part.source.name, name=part.name)
    context.say(
        "cli.repair.target",
        target=str(plan.target),
        size=plan.size_bytes,
        new=plan.new_bytes,
        free=plan.free_bytes,
    )


def print_check(check: CopyCheck, context: CliContext) -> None:
    """Print how the copy stood the test."""
    if check.failure is not None:
        context.print_findings([*check.findings, check.failure])
    elif check.decoded_tokens is not None:
        context.say("cli.repair.works", tokens=check.decoded_tokens)
    elif check.accepted:
        context.say("cli.repair.accepted")
    else:
        context.say("cli.repair.not_tried")


def _word_of(repair: Repair, change: MetadataChange) -> str:
    if repair.kind is RepairKind.PATCHED_COPY:
        return "twice" if change.type_before is None and change.type_after is None else "in_copy"
    if repair.needs_choice:
        return "to_choose"
    return "override" if repair.is_on else "override_off"


def _change_values(change: MetadataChange, repair: Repair, context: CliContext) -> dict[str, object]:
    nothing = context.texts.text("cli.repair.nothing")
    before = nothing if change.type_before is None else f"{change.type_before} {_shown(change.value_before)}"
    is_gone = change.type_after is None
    after = nothing if is_gone else f"{change.type_after} {_shown(change.value_after)}"
    source = "" if repair.source is None else context.texts.text(f"repair.source.{repair.source.value}")
    words = f"{source} {repair.model or ''}".strip()
    told = context.texts.text("cli.repair.told", words=words) if words else ""
    return {"key": change.key, "before": before, "after": after, "source": source, "told": told}


def _shown(value: object) -> str:
    return "?" if value is None else str(value)


def _hex(content: bytes) -> str:
    text = content[:SHOWN_BYTES].hex(" ")
    return f"{text} …" if len(content) > SHOWN_BYTES else text


def _repair_json(repair: Repair) -> dict[str, Any]:
    return {
        "kind": repair.kind.value,
        "cures": [code.value for code in repair.cures],
        "changes": [_change_json(change) for change in repair.changes],
        "source": None if repair.source is None else repair.source.value,
        "model": repair.model,
        "is_on": repair.is_on,
        "needs_choice": repair.needs_choice,
    }


def _change_json(change: MetadataChange) -> dict[str, Any]:
    return {
        "key": change.key,
        "type_before": change.type_before,
        "value_before": change.value_before,
        "type_after": change.type_after,
        "value_after": change.value_after,
    }


def _plan_json(plan: CopyPlan) -> dict[str, Any]:
    return {
        "target": str(plan.target),
        "model": str(plan.model),
        "size_bytes": plan.size_bytes,
        "new_bytes": plan.new_bytes,
        "free_bytes": plan.free_bytes,
        "ready": plan.is_ready,
        "undecided": [right.key for right in plan.undecided],
        "changes": [_change_json(change) for change in plan.changes],
        "byte_changes": [_bytes_json(change) for change in plan.byte_changes],
        "parts": [
            {
                "source": str(part.source),
                "name": part.name,
                "way": part.way.value,
                "size_bytes": part.size_bytes,
                "new_bytes": part.new_bytes,
            }
            for part in plan.parts
        ],
    }


def _bytes_json(change: ByteChange) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "key": change.key,
        "offset": change.offset,
        "before": change.before.hex(),
        "after": change.after.hex(),
    }
