"""The safer plans behind a plan: what to try when the engine runs out of memory with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.options import ALL_LAYERS, CONTEXT_DEFAULT, UBATCH_BIG_VOCABULARY, EngineOptions, changed_options
from app.planner.facts import LadderStep
from app.planner.placement import Cut, ModelSizes, Placement

FAST: Final = "fast"
SAFE: Final = "safe"
MINIMUM: Final = "minimum"
MINIMUM_CONTEXT: Final = 2048
SAFER_SHARE: Final = 8
"""The safe step moves one in so many blocks of experts, or of whole layers, from VRAM to RAM."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A named set of options."""

    name: str
    options: EngineOptions


def ladder_cuts(placement: Placement, sizes: ModelSizes) -> Iterator[tuple[str, Cut]]:
    """Yield the cuts below the plan: one step safer, then everything in RAM with a small context."""
    cut = placement.cut
    extent = replace(cut.extent, n_ctx=min(cut.extent.n_ctx, CONTEXT_DEFAULT))
    safe = replace(cut, extent=extent)
    yield SAFE, _less_on_gpu(safe, sizes) if any(placement.gpu_items) else safe
    small = replace(
        cut.extent,
        n_ctx=min(cut.extent.n_ctx, MINIMUM_CONTEXT),
        n_ubatch=min(cut.extent.n_ubatch, UBATCH_BIG_VOCABULARY),
    )
    yield MINIMUM, replace(cut, extent=small, n_gpu_layers=0)


def ladder_steps(options: EngineOptions, rungs: Sequence[Rung]) -> tuple[LadderStep, ...]:
    """Return the plan itself and what lies below it; a step equal to the one above is left out."""
    steps = [LadderStep(FAST, options, ())]
    for rung in rungs:
        changes = tuple(changed_options(steps[-1].options, rung.options))
        if changes:
            steps.append(LadderStep(rung.name, rung.options, changes))
    return tuple(steps)


def _less_on_gpu(cut: Cut, sizes: ModelSizes) -> Cut:
    on_gpu = [block for block in sizes.expert_blocks if block >= cut.n_cpu_moe]
    if on_gpu:
        moved = min(len(on_gpu), -(-len(sizes.expert_blocks) // SAFER_SHARE))
        return replace(cut, n_cpu_moe=on_gpu[moved - 1] + 1)
    items = min(cut.n_gpu_layers, sizes.item_count)
    fewer = max(0, items - -(-sizes.item_count // SAFER_SHARE))
    return replace(cut, n_gpu_layers=ALL_LAYERS if fewer >= sizes.item_count else fewer)
