"""What engines say of their memory -> figures that correct later plans."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from app.engine.fit_breakdown import BreakdownRow
from app.engine.protocol import BufferUse, Hello
from app.gguf.facts import ModelFacts
from app.options import EngineOptions
from app.planner.accuracy import Measured, Source, corrections_for, device_kind
from app.planner.accuracy_figures import TakenBytes, Told, measured
from app.planner.corrections import PartGroup
from app.planner.facts import MemoryBudget

_MAPPED: Final = "_Mapped"


def build_name(hello: Hello) -> str:
    """Return what tells one engine build from another."""
    return f"{hello.engine} {hello.build}"


def measured_load(
    model: ModelFacts, options: EngineOptions, build: str, buffers: Iterable[BufferUse]
) -> tuple[Measured, ...]:
    """Return what a load teaches. Of mapped weights the log tells only the span of the file."""
    buffers = tuple(buffers)
    is_mapped = any(use.device.endswith(_MAPPED) for use in buffers)
    parts = frozenset(PartGroup) - ({PartGroup.WEIGHTS} if is_mapped else frozenset())
    return measured(model, options, Told(build, Source.LOAD, _taken(buffers), parts))


def measured_dry_run(
    model: ModelFacts, options: EngineOptions, build: str, buffers: Iterable[BufferUse]
) -> tuple[Measured, ...]:
    """Return what a load without memory teaches: its compute buffers alone, since all else prints as 0."""
    told = Told(build, Source.DRY_RUN, _taken(buffers), frozenset({PartGroup.COMPUTE}))
    return measured(model, options, told)


def measured_breakdown(
    model: ModelFacts, options: EngineOptions, build: str, rows: Iterable[BreakdownRow]
) -> tuple[Measured, ...]:
    """Return what an engine's own breakdown teaches."""
    taken = tuple(
        TakenBytes(row.device, part, size) for row in rows for part, size in row.bytes_by_part.items()
    )
    return measured(model, options, Told(build, Source.BREAKDOWN, taken))


def taught_budget(
    budget: MemoryBudget, model: ModelFacts, build: str, figures: Iterable[Measured]
) -> MemoryBudget:
    """Return the budget with what `figures` teach about plans for this model on this build."""
    kinds = {device_kind(name) for name in budget.devices}
    gpu_kind = kinds.pop() if len(kinds) == 1 else None
    if gpu_kind is None and budget.vram_free_bytes and not budget.devices:
        gpu_kind = _only_gpu_kind(figures := tuple(figures), build)
    corrections = corrections_for(figures, build, model.architecture or "", gpu_kind)
    return replace(budget, corrections=corrections)


def _only_gpu_kind(figures: Iterable[Measured], build: str) -> str | None:
    """Return the kind of GPU a build was seen with, where that is but one beside RPC: names are not known."""
    kinds = {figure.device for figure in figures if figure.build == build} - {"CPU", "RPC"}
    return kinds.pop() if len(kinds) == 1 else None


def _taken(buffers: Iterable[BufferUse]) -> tuple[TakenBytes, ...]:
    return tuple(TakenBytes(use.device, PartGroup.of_buffer(use.part), use.size_bytes) for use in buffers)
