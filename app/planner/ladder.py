"""The safer plans behind a plan: what to try when the engine runs out of memory with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from app.options import ALL_LAYERS, CONTEXT_DEFAULT, UBATCH_BIG_VOCABULARY, changed_options
from app.planner.carried_out import carried_out
from app.planner.engine_options import Case, options_of
from app.planner.facts import LadderStep, OffloadPlan, Part, Sacrifice
from app.planner.model_sizes import ModelSizes
from app.planner.placement import Cut, Placement, largest_n_gpu_layers, place, smallest_n_cpu_moe
from app.planner.search import can_be_held, can_be_promised

FAST: Final = "fast"
SAFE: Final = "safe"
MINIMUM: Final = "minimum"
MINIMUM_CONTEXT: Final = 2048
SAFER_SHARE: Final = 8
"""The safe step moves one in so many blocks of experts, or of whole layers, from VRAM to RAM."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A named placement, with the plan it makes."""

    name: str
    placement: Placement
    plan: OffloadPlan


def rung_of(case: Case, name: str, placement: Placement) -> Rung:
    """Carry a placement out."""
    options = options_of(case, placement)
    plan = carried_out(case.model, case.question.budget, placement, options, case.shares)
    return Rung(name, placement, plan)


def lower_rungs(case: Case, placement: Placement) -> tuple[Rung, ...]:
    """Return what lies below a plan: one step safer, then with as little as it can be.

    No step needs more of any GPU than the one above. One that RAM cannot carry is left out, unless it cannot
    carry the plan either; likewise one that allocates more than the system allows.
    """
    conditions = [partial(condition, case.question.budget) for condition in (can_be_held, can_be_promised)]
    found, above = [], placement
    for name, candidates in ((SAFE, _safe), (MINIMUM, _minimum)):
        for lower in candidates(case.question.sizes, above):
            if all(holds(lower) or not holds(placement) for holds in conditions):
                found.append(rung_of(case, name, lower))
                above = lower
                break
    return tuple(found)


def ladder_steps(top: Rung, rungs: Sequence[Rung]) -> tuple[LadderStep, ...]:
    """Return the plan itself and what lies below it; a step equal to the one above is left out."""
    steps = [step_of(FAST, top, top, top)]
    last = top
    for rung in rungs:
        if rung.plan.options != last.plan.options:
            steps.append(step_of(rung.name, rung, last, top))
            last = rung
    return tuple(steps)


def step_of(name: str, rung: Rung, above: Rung, top: Rung) -> LadderStep:
    """Return a step with what it holds, what differs from the one above, and what is given up of the plan."""
    plan = rung.plan
    return LadderStep(
        name=name,
        options=plan.options,
        changes=tuple(changed_options(above.plan.options, plan.options)),
        vram_bytes=sum(device.planned_bytes for device in plan.devices[:-1]),
        ram_bytes=plan.ram_bytes,
        disk_bytes=plan.disk_bytes,
        tokens_per_second=plan.tokens_per_second,
        sacrifices=tuple(_sacrifices(top.placement, rung.placement)),
    )


def _sacrifices(top: Placement, lower: Placement) -> Iterator[Sacrifice]:
    layers_before, layers = sum(top.gpu_items), sum(lower.gpu_items)
    if layers < layers_before:
        yield Sacrifice.LAYERS_ON_GPU if layers else Sacrifice.GPU
    if layers and _experts_on_gpus(lower) < _experts_on_gpus(top):
        yield Sacrifice.EXPERTS_ON_GPU
    before, extent = top.cut.extent, lower.cut.extent
    if extent.n_ctx < before.n_ctx:
        yield Sacrifice.CONTEXT
    if extent.kv_type != before.kv_type:
        yield Sacrifice.CACHE_PRECISION
    lost_help = layers and top.cut.op_offload and not lower.cut.op_offload
    if lost_help or extent.n_ubatch < before.n_ubatch:
        yield Sacrifice.PROMPT_SPEED


def _experts_on_gpus(placement: Placement) -> int:
    return sum(parts.get(Part.ROUTED_EXPERTS, 0) for parts in placement.gpu_parts)


def _safe(sizes: ModelSizes, above: Placement) -> Iterator[Placement]:
    extent = above.cut.extent
    cut = replace(above.cut, extent=replace(extent, n_ctx=min(extent.n_ctx, CONTEXT_DEFAULT)))
    held = above.gpu_bytes
    # of several any one may have been too full, so all of them get room
    is_one = sum(1 for size in held if size) < 2  # one or none
    limits = held if is_one else tuple(size - size // SAFER_SHARE for size in held)
    if any(above.gpu_items):
        cut = _less_on_gpu(cut, sizes, limits)
    yield place(sizes, cut, limits)


def _minimum(sizes: ModelSizes, above: Placement) -> Iterator[Placement]:
    extent = above.cut.extent
    small = replace(
        extent,
        n_ctx=min(extent.n_ctx, MINIMUM_CONTEXT),
        n_ubatch=min(extent.n_ubatch, UBATCH_BIG_VOCABULARY),
    )
    cut = replace(above.cut, extent=small, prompt_cache_bytes=0)
    yield place(sizes, replace(cut, n_gpu_layers=0), above.gpu_bytes)
    yield place(sizes, cut, above.gpu_bytes)  # where RAM cannot hold all of it


def _less_on_gpu(cut: Cut, sizes: ModelSizes, limits: Sequence[int]) -> Cut:
    """Return the cut with an eighth of the experts' blocks, else of all layers, moved to RAM, or more."""
    items = min(cut.n_gpu_layers, sizes.item_count)
    first = max(cut.n_cpu_moe, sizes.item_count - items)
    on_gpu = [block for block in sizes.expert_blocks if block >= first]
    if on_gpu:
        moved = min(len(on_gpu), -(-len(sizes.expert_blocks) // SAFER_SHARE))
        cut = replace(cut, n_cpu_moe=on_gpu[moved - 1] + 1)
        fewest = smallest_n_cpu_moe(sizes, cut, limits)
        if fewest is not None:
            return replace(cut, n_cpu_moe=max(cut.n_cpu_moe, fewest))
        cut = replace(cut, n_cpu_moe=on_gpu[-1] + 1)
    else:
        items = max(0, items - -(-sizes.item_count // SAFER_SHARE))
    fitting = min(items, largest_n_gpu_layers(sizes, cut, limits))
    return replace(cut, n_gpu_layers=ALL_LAYERS if fitting >= sizes.item_count else fitting)
