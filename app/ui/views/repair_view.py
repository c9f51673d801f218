"""A repair in the making as facts, and the words that say it. No Qt."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.findings import Finding
from app.gguf.header_patch import ByteChange
from app.gguf.patched_copy import CopyPlan, PartWay
from app.gguf.repair import MetadataChange
from app.gguf.repair_facts import RightValue
from app.library.repair_check import CopyCheck
from app.ui.views.words import Words

SHOWN_BYTES = 64
"""Of each change; the command line shows them all."""


class RepairPhase(StrEnum):
    """How far a repair is."""

    PLANNING = "planning"
    PLANNED = "planned"
    WRITING = "writing"
    CHECKING = "checking"
    DONE = "done"
    BROKEN = "broken"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class RepairView:
    """Everything the dialog shows.

    Attributes:
        path: The original.
        plan: None until it is made, and where none can be.
        asked: Values a person must give or confirm before anything is written.
        loads_with_values: With them given at load no copy is needed.
        done_bytes: Of the copy so far.
        failure: Why it cannot be made, or does not work.
    """

    phase: RepairPhase
    path: Path
    plan: CopyPlan | None = None
    asked: tuple[RightValue, ...] = ()
    loads_with_values: bool = False
    done_bytes: int = 0
    check: CopyCheck | None = None
    failure: Finding | None = None

    @property
    def is_busy(self) -> bool:
        """Something is under way that a cancel ends."""
        return self.phase in (RepairPhase.PLANNING, RepairPhase.WRITING, RepairPhase.CHECKING)


def change_words(change: MetadataChange) -> tuple[str, str, str]:
    """Return name, value before and value after of one change; a dash where there is none."""
    before = "—" if change.type_before is None else f"{_shown(change.value_before)} ({change.type_before})"
    after = "—" if change.type_after is None else f"{_shown(change.value_after)} ({change.type_after})"
    return change.key or "—", before, after


def byte_words(change: ByteChange) -> Words:
    """Return one change of bytes as a line."""
    values = {
        "key": change.key,
        "offset": change.offset,
        "before": _hex(change.before),
        "after": _hex(change.after),
    }
    return Words(f"ui.repair.bytes.{change.kind.value}", values)


def space_words(plan: CopyPlan) -> Words:
    """Return what the copy takes on the disk."""
    shared = any(part.way is not PartWay.COPY for part in plan.parts)
    values = {"size": plan.size_bytes, "new": plan.new_bytes, "free": plan.free_bytes}
    return Words("ui.repair.space_shared" if shared else "ui.repair.space", values)


def proposal_words(right: RightValue) -> Words:
    """Return what is known about a value that a person must give."""
    if right.value is None:
        return Words("ui.repair.no_proposal", {"key": right.key})
    source = "usual" if right.source is None else right.source.value
    return Words(f"ui.repair.proposal.{source}", {"value": right.value, "model": right.model or ""})


def _shown(value: object) -> str:
    return "?" if value is None else str(value)


def _hex(content: bytes) -> str:
    text = content[:SHOWN_BYTES].hex(" ")
    return f"{text} …" if len(content) > SHOWN_BYTES else text or "—"
