"""The longest context that costs next to nothing, as a card beside the ladder."""

from bisect import bisect_left
from dataclasses import replace
from typing import Final

from app.options import ALL_LAYERS
from app.planner.engine_options import Case
from app.planner.facts import LadderStep
from app.planner.judge import LARGEST_CONTEXT
from app.planner.ladder import Rung, rung_of, step_of
from app.planner.placement import fits, place, smallest_n_cpu_moe
from app.planner.precision import by_precision
from app.planner.search import can_be_carried, expert_limits

NAME: Final = "bigger_context"
COST_SHARE: Final = 0.05
STEP_TOKENS: Final = 1024
STEPS_PER_DOUBLING: Final = 4


def bigger_context(case: Case, top: Rung) -> LadderStep | None:
    """Return the plan with the longest context that costs less than a twentieth of its speed.

    Compared while as many tokens are in the context; what a fuller one costs is paid in any plan. Where
    speeds were not measured, nothing may leave its place.
    """
    lengths = _longer(case, top.placement.cut.extent.n_ctx)
    found = bisect_left(lengths, True, key=lambda n_ctx: _with_context(case, top, n_ctx) is None)
    longer = _with_context(case, top, lengths[found - 1]) if found else None
    return None if longer is None else step_of(NAME, longer, top, top)


def _longer(case: Case, n_ctx: int) -> list[int]:
    """Return the lengths to choose from: four in each doubling, and the model's own."""
    longest = min(case.model.context_length or 0, LARGEST_CONTEXT)
    lengths, step = [], STEP_TOKENS
    while n_ctx < longest:
        while n_ctx >= 2 * STEPS_PER_DOUBLING * step:
            step *= 2
        n_ctx = min((n_ctx // step + 1) * step, longest)
        lengths.append(n_ctx)
    return lengths


def _with_context(case: Case, rung: Rung, n_ctx: int) -> Rung | None:
    """Return the placement with another context on the same GPUs; None when too dear or too big."""
    question, top = case.question, rung.placement
    cut = replace(top.cut, extent=replace(top.cut.extent, n_ctx=n_ctx))
    limits = [limit if count else 0 for limit, count in zip(question.limits, top.gpu_items, strict=True)]
    if not fits(question.sizes, cut, limits):
        may_move = rung.plan.tokens_per_second is not None and top.cut.n_gpu_layers == ALL_LAYERS
        if question.n_cpu_moe is not None or not may_move:
            return None
        n_cpu_moe = smallest_n_cpu_moe(question.sizes, cut, limits)
        if n_cpu_moe is None:
            return None
        cut = replace(cut, n_cpu_moe=n_cpu_moe)
    longer = place(question.sizes, cut, limits)
    if question.n_cpu_moe is None:
        longer = by_precision(question.sizes, longer, expert_limits(question.budget, longer, limits))
    if not can_be_carried(question.budget, longer):
        return None
    made = rung_of(case, NAME, longer)
    return made if _is_cheap(rung, made) else None


def _is_cheap(top: Rung, longer: Rung) -> bool:
    moves = longer.placement.cut.n_cpu_moe != top.placement.cut.n_cpu_moe
    # without a drive at work nothing may go there; what a drive reads more takes so much longer at most
    if not moves and longer.plan.disk_bytes <= (1 + COST_SHARE) * top.plan.disk_bytes:
        return True
    before, after = top.plan.tokens_per_second, longer.plan.tokens_per_second
    return before is not None and after is not None and after.high > (1 - COST_SHARE) * before.high
