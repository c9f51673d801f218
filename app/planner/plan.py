"""Facts and wishes -> OffloadPlan. Pure: the same question has the same answer."""

from dataclasses import replace
from typing import Final

from app.findings import Finding
from app.gguf.facts import ModelFacts
from app.options import default_n_ctx
from app.planner.bigger_context import bigger_context
from app.planner.carried_out import carried_out, disk_share_bytes
from app.planner.engine_options import MIB, Case, placed
from app.planner.expert_cache import expert_cache_outlook
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, Wishes
from app.planner.judge import (
    known_troubles,
    layer_findings,
    moe_findings,
    no_gpu_finding,
    placement_findings,
    possible_kv_type,
    slower_gpu_finding,
    vram_kept,
    vram_margins,
    wished_context,
)
from app.planner.ladder import FAST, Rung, ladder_steps, lower_rungs, rung_of
from app.planner.model_sizes import model_sizes
from app.planner.placement import Placement, place
from app.planner.precision import by_precision
from app.planner.search import Question, choose, expert_limits, is_unreduced
from app.planner.speed_disk import cliff_findings
from app.planner.speed_reads import type_shares

ENDLESS_BYTES: Final = 2**80


def plan_offload(model: ModelFacts, budget: MemoryBudget, wishes: Wishes) -> OffloadPlan:
    """Decide what of the model goes into VRAM, RAM and stays on disk.

    Everything but routed experts goes to the GPU first, then the experts of as many blocks as fit, those with
    the highest index; what neither holds is read from the file while answering. When even all experts in RAM
    are not enough: smaller batch, smaller cache type, long prompts on the processor, shorter context, fewer
    layers, in this order. GPUs that were measured slower than the processor alone are left out, unless the
    person chose where experts go.
    """
    n_ctx, context_findings = wished_context(model, wishes)
    wishes = replace(wishes, n_ctx=n_ctx)
    n_cpu_moe, wish_findings = moe_findings(model, wishes)
    kv_type, kv_findings = possible_kv_type(wishes)
    question = Question(
        sizes=model_sizes(model, budget.corrections),
        limits=gpu_limits(budget),
        budget=budget,
        n_ctx=n_ctx,
        kv_type=kv_type,
        n_cpu_moe=n_cpu_moe,
        context_length=model.context_length,
        vocabulary_size=model.vocabulary_size,
        prompt_cache_bytes=wishes.cache_ram_mib * MIB,
        expert=wishes.expert,
    )
    is_by_hand = wishes.moe != "auto" and model.routed_expert_bytes > 0
    question, placement = _chosen(question, budget, is_by_hand=is_by_hand)
    case = Case(model, wishes, question, type_shares(model))
    if n_cpu_moe is None:
        placement = by_precision(question.sizes, placement, expert_limits(budget, placement, question.limits))
    top, slower = rung_of(case, FAST, placement), None
    if not is_by_hand and any(placement.gpu_items):
        without = _without_gpus(case)
        slower = slower_gpu_finding(top.plan.forecast, without.plan.forecast)
        top = top if slower is None else without
    placement = top.placement
    findings = (
        *context_findings,
        *wish_findings,
        *kv_findings,
        *layer_findings(placement, wishes, question.sizes.item_count),
        *placement_findings(placement, budget, wishes, model),
        *cliff_findings(model, placement.cpu_parts, disk_share_bytes(placement, budget), budget),
        *known_troubles(model, budget, placement),
        *_gpu_findings(case, placement, slower),
    )
    return _written_out(case, top, findings)


def plan_of_step(model: ModelFacts, budget: MemoryBudget, plan: OffloadPlan, step: LadderStep) -> OffloadPlan:
    """Return where everything would go with the options of one of the plan's steps."""
    options = step.options
    if options == plan.options:
        return plan
    sizes = model_sizes(model, budget.corrections)
    placement = placed(sizes, options, budget, gpu_limits(budget, into_reserve=True))
    return replace(carried_out(model, budget, placement, options), ladder=plan.ladder)


def gpu_limits(budget: MemoryBudget, *, into_reserve: bool = False) -> tuple[int, ...]:
    """Return what each GPU may take: the reserve stays free, and so much that no plan warns about itself.

    Args:
        into_reserve: Only the least that keeps the driver from moving memory to RAM stays free.
    """
    kept = vram_margins(budget) if into_reserve else vram_kept(budget)
    return tuple(max(0, free - left) for free, left in zip(budget.vram_free_bytes, kept, strict=True))


def _chosen(question: Question, budget: MemoryBudget, *, is_by_hand: bool) -> tuple[Question, Placement]:
    """Choose within the reserve's limits; a MoE setting made by hand may use the reserve to be met whole."""
    placement = choose(question)
    if not is_by_hand or not question.limits or is_unreduced(question, placement):
        return question, placement
    n_ctx = question.n_ctx or default_n_ctx(question.context_length)  # the reserve is not for a longer one
    bolder = replace(question, limits=gpu_limits(budget, into_reserve=True), n_ctx=n_ctx)
    held = choose(bolder)
    if is_unreduced(bolder, held) or (any(held.gpu_items) and not any(placement.gpu_items)):
        return bolder, held
    return question, placement


def _without_gpus(case: Case) -> Rung:
    limits = (0,) * len(case.question.limits)
    return rung_of(case, FAST, choose(replace(case.question, limits=limits)))


def _gpu_findings(case: Case, placement: Placement, slower: Finding | None) -> tuple[Finding, ...]:
    """Say why no GPU works, with what the least it could do would need."""
    if slower is not None:
        return (slower,)
    if case.wishes.expert.n_gpu_layers == 0:
        return ()
    if any(placement.gpu_items):
        return ()
    question = case.question
    one_layer = place(question.sizes, replace(placement.cut, n_gpu_layers=1), (ENDLESS_BYTES,))
    return (no_gpu_finding(question.budget, question.limits, one_layer.gpu_bytes[0]),)


def _written_out(case: Case, top: Rung, findings: tuple[Finding, ...]) -> OffloadPlan:
    return replace(
        top.plan,
        ladder=ladder_steps(top, lower_rungs(case, top.placement)),
        findings=findings,
        bigger_context=bigger_context(case, top),
        expert_cache=expert_cache_outlook(case, top.placement),
    )
