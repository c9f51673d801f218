"""Facts and wishes -> OffloadPlan. Pure: the same question has the same answer."""

from dataclasses import dataclass, replace
from typing import Final

from app.findings import Finding
from app.gguf.facts import ModelFacts
from app.options import (
    EngineOptions,
    default_n_ctx,
    default_n_threads,
    default_repack,
)
from app.planner.caches import Extent
from app.planner.facts import DevicePlan, LadderStep, MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.judge import (
    moe_findings,
    no_gpu_finding,
    placement_findings,
    vram_kept,
    vram_margins,
    wished_context,
)
from app.planner.ladder import Rung, ladder_cuts, ladder_steps
from app.planner.placement import Cut, ModelSizes, Placement, model_sizes, place
from app.planner.search import Question, choose, is_unreduced
from app.planner.speed import tokens_per_second

ENDLESS_BYTES: Final = 2**80


@dataclass(frozen=True, slots=True)
class _Case:
    model: ModelFacts
    sizes: ModelSizes
    budget: MemoryBudget
    wishes: Wishes
    limits: tuple[int, ...]


def plan_offload(model: ModelFacts, budget: MemoryBudget, wishes: Wishes) -> OffloadPlan:
    """Decide what of the model goes into VRAM, RAM and stays on disk.

    Everything but routed experts goes to the GPU first, then the experts of as many blocks as fit, those with
    the highest index; what neither holds is read from the file while answering. When even all experts in RAM
    are not enough: smaller batch, smaller cache type, long prompts on the processor, shorter context, fewer
    layers, in this order.
    """
    n_ctx, context_findings = wished_context(model, wishes)
    wishes = replace(wishes, n_ctx=n_ctx)
    n_cpu_moe, wish_findings = moe_findings(model, wishes)
    question = Question(
        sizes=model_sizes(model),
        limits=gpu_limits(budget),
        budget=budget,
        n_ctx=n_ctx,
        kv_type=wishes.kv_type,
        n_cpu_moe=n_cpu_moe,
        context_length=model.context_length,
        vocabulary_size=model.vocabulary_size,
    )
    is_by_hand = wishes.moe != "auto" and model.routed_expert_bytes > 0
    question, placement = _chosen(question, budget, is_by_hand=is_by_hand)
    case = _Case(model, question.sizes, budget, wishes, question.limits)
    findings = (
        *context_findings,
        *wish_findings,
        *placement_findings(placement, budget, wishes, model),
        *_gpu_findings(case, placement),
    )
    return _written_out(case, placement, findings)


def plan_of_step(model: ModelFacts, budget: MemoryBudget, plan: OffloadPlan, step: LadderStep) -> OffloadPlan:
    """Return where everything would go with the options of one of the plan's steps."""
    options = step.options
    if options == plan.options:
        return plan
    sizes = model_sizes(model)
    cut = Cut(
        Extent(options.n_ctx, options.n_ubatch, options.type_k),
        options.n_gpu_layers,
        sizes.weights.block_count if options.cpu_moe else options.n_cpu_moe,
        options.op_offload,
    )
    placement = place(sizes, cut, gpu_limits(budget, into_reserve=True))
    return replace(_carried_out(model, budget, placement, options), ladder=plan.ladder)


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


def _gpu_findings(case: _Case, placement: Placement) -> tuple[Finding, ...]:
    """Say why no GPU works, with what the least it could do would need."""
    if any(placement.gpu_items):
        return ()
    one_layer = place(case.sizes, replace(placement.cut, n_gpu_layers=1), (ENDLESS_BYTES,))
    return (no_gpu_finding(case.budget, case.limits, one_layer.gpu_bytes[0]),)


def _written_out(case: _Case, placement: Placement, findings: tuple[Finding, ...]) -> OffloadPlan:
    options = _options(case, placement)
    rungs = [
        Rung(name, _options(case, place(case.sizes, cut, case.limits)))
        for name, cut in ladder_cuts(placement, case.sizes)
    ]
    plan = _carried_out(case.model, case.budget, placement, options)
    return replace(plan, ladder=ladder_steps(options, rungs), findings=findings)


def _carried_out(
    model: ModelFacts, budget: MemoryBudget, placement: Placement, options: EngineOptions
) -> OffloadPlan:
    disk_bytes = disk_share_bytes(placement, budget)
    devices = (*_gpu_plans(placement, budget), _cpu_plan(placement, budget, disk_bytes))
    return OffloadPlan(
        options=options,
        devices=devices,
        ram_bytes=devices[-1].planned_bytes,
        disk_bytes=disk_bytes,
        kv_cache_bytes=_sum_of(devices, Part.KV_CACHE) + _sum_of(devices, Part.STATE),
        compute_bytes=_sum_of(devices, Part.COMPUTE),
        tokens_per_second=tokens_per_second(model, placement, disk_bytes, budget),
    )


def disk_share_bytes(placement: Placement, budget: MemoryBudget) -> int:
    """Return the routed expert bytes that RAM cannot hold beside everything else in it."""
    excess = placement.cpu_bytes - budget.ram_left(placement.gpu_bytes)
    return max(0, min(excess, placement.cpu_parts.get(Part.ROUTED_EXPERTS, 0)))


def _options(case: _Case, placement: Placement) -> EngineOptions:
    cut, wishes, budget = placement.cut, case.wishes, case.budget
    repack = wishes.repack
    if repack is None:
        repack = default_repack(case.model.routed_expert_bytes, budget.ram_free_bytes)
    threads = wishes.n_threads or default_n_threads(budget.performance_cores, budget.busy_cores)
    uses_gpu = any(placement.gpu_items)
    overrides_experts = uses_gpu or wishes.moe != "auto"
    wants_all = wishes.moe == "all" and case.model.routed_expert_bytes > 0
    return EngineOptions(
        n_ctx=cut.extent.n_ctx,
        n_ubatch=cut.extent.n_ubatch,
        n_gpu_layers=cut.n_gpu_layers if uses_gpu else 0,
        cpu_moe=wants_all,
        n_cpu_moe=0 if wants_all or not overrides_experts else cut.n_cpu_moe,
        n_threads=threads,
        n_threads_batch=threads,
        type_k=cut.extent.kv_type,
        type_v=cut.extent.kv_type,
        repack=repack,
        offload_kqv=uses_gpu,
        op_offload=uses_gpu and cut.op_offload,
        devices=budget.devices,
        tensor_split=tuple(map(float, placement.gpu_items)) if uses_gpu and len(case.limits) > 1 else (),
        kv_overrides=case.model.kv_overrides,
        chat_template="chatml" if case.model.needs_chatml else "auto",
    )


def _gpu_plans(placement: Placement, budget: MemoryBudget) -> list[DevicePlan]:
    return [
        DevicePlan(f"GPU{gpu}", free, sum(parts.values()), dict(parts))
        for gpu, (free, parts) in enumerate(zip(budget.vram_free_bytes, placement.gpu_parts, strict=True))
    ]


def _cpu_plan(placement: Placement, budget: MemoryBudget, disk_bytes: int) -> DevicePlan:
    parts = dict(placement.cpu_parts)
    if disk_bytes:
        parts[Part.ROUTED_EXPERTS] -= disk_bytes
    held = {part: size for part, size in parts.items() if size}
    return DevicePlan("CPU", budget.ram_left(placement.gpu_bytes), sum(held.values()), held)


def _sum_of(devices: tuple[DevicePlan, ...], part: Part) -> int:
    return sum(device.parts.get(part, 0) for device in devices)
