"""Which numbers to choose: everything but experts on the GPU first, then as many blocks of experts as fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.options import (
    ALL_LAYERS,
    BIG_VOCABULARY,
    CONTEXT_DEFAULT,
    UBATCH_BIG_VOCABULARY,
    default_n_ctx,
    default_n_ubatch,
)
from app.planner.caches import Extent, can_be_quantized
from app.planner.facts import ExpertWishes, MemoryBudget
from app.planner.model_sizes import ModelSizes
from app.planner.placement import Cut, Placement, fits, largest_n_gpu_layers, place, smallest_n_cpu_moe

KV_DEFAULT: Final = "f16"
KV_SMALLER: Final = "q8_0"
RPC_DEVICE: Final = "RPC"
"""How engines name devices on other machines: RPC0, RPC1, ..."""

SHORTER_CONTEXTS: Final = (4096, 2048)
SMALL_MACHINE_RAM_BYTES: Final = 16 * 1024**3
"""A machine that can give less RAM than this is small; VRAM plays no part, so that more of it never costs."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the search is given. `None` = free to choose.

    Attributes:
        limits: Bytes each GPU may take: what is free minus the reserve.
        n_cpu_moe: Fixed number of blocks; None = as few as fit. Always 0 for a model without experts.
        context_length: What the model was made for.
        prompt_cache_bytes: RAM for prompts already read.
        expert: What else is fixed.
    """

    sizes: ModelSizes
    limits: tuple[int, ...]
    budget: MemoryBudget
    n_ctx: int | None
    kv_type: str | None
    n_cpu_moe: int | None
    context_length: int | None
    vocabulary_size: int | None
    prompt_cache_bytes: int = 0
    expert: ExpertWishes = field(default_factory=ExpertWishes)

    @property
    def all_experts(self) -> int:
        """The N that keeps all routed experts in RAM."""
        blocks = self.sizes.expert_blocks
        return blocks[-1] + 1 if blocks else 0


def choose(question: Question) -> Placement:
    """Return the best placement there is; the caller checks whether RAM can carry it.

    More VRAM never leads to a larger N: whatever gives up quality or context does so only once all
    experts are in RAM, and keeps them there. One GPU that holds everything works alone: cards that work one
    after the other are no faster, and copy what passes between them.
    """
    for limits in _one_gpu_each(question):
        alone = replace(question, limits=limits)
        if place(
            question.sizes, replace(_first_cut(alone), n_cpu_moe=alone.n_cpu_moe or 0), limits
        ).fits_gpus:
            return _chosen(alone)
    return _chosen(question)


def _chosen(question: Question) -> Placement:
    first = _first_cut(question)
    n = question.n_cpu_moe
    if n is None and question.limits:
        n = _fewest_experts_in_ram(question, first)
    if n is not None or not question.limits:
        placement = place(question.sizes, replace(first, n_cpu_moe=n or 0), question.limits)
        if _is_good(question, placement):
            return _with_roomy_context(question, placement)
    fallback = question.all_experts if question.n_cpu_moe is None and question.limits else n or 0
    return _given_up(question, replace(first, n_cpu_moe=fallback))


def _one_gpu_each(question: Question) -> Iterator[tuple[int, ...]]:
    """Yield the limits with one GPU only, those of this machine before others, the largest first."""
    limits = question.limits
    usable = [index for index, limit in enumerate(limits) if limit > 0]
    if len(limits) == 1:  # nothing to choose from
        return
    order = sorted(usable, key=lambda index: (is_remote(question.budget, index), -limits[index]))
    for chosen in order:
        yield tuple(limit if index == chosen else 0 for index, limit in enumerate(limits))


def _fewest_experts_in_ram(question: Question, first: Cut) -> int | None:
    """Return the smallest N that fits; no expert goes into memory shared with the processor if RAM is short.

    What a chip takes of RAM cannot be given back, while pages of the model's file can, and are read again.
    """
    budget, sizes = question.budget, question.sizes
    n = smallest_n_cpu_moe(sizes, first, question.limits)
    if n is None or not any(budget.shared_vram_bytes):
        return n
    placement = place(sizes, replace(first, n_cpu_moe=n), question.limits)
    if placement.cpu_bytes <= budget.ram_left(placement.gpu_bytes):
        return n
    own = _own_limits(question.limits, budget)
    in_own = smallest_n_cpu_moe(sizes, first, own) if any(own) else None
    return question.all_experts if in_own is None else in_own


def expert_limits(budget: MemoryBudget, placement: Placement, limits: Sequence[int]) -> Sequence[int]:
    """Return what GPUs may take when experts are exchanged: no memory that is RAM while RAM is short."""
    is_short = placement.cpu_bytes > budget.ram_left(placement.gpu_bytes)
    return _own_limits(limits, budget) if is_short and any(budget.shared_vram_bytes) else limits


def _own_limits(limits: Sequence[int], budget: MemoryBudget) -> list[int]:
    return [max(0, limit - part) for limit, part in zip(limits, budget.shared_vram_bytes, strict=True)]


def is_unreduced(question: Question, placement: Placement) -> bool:
    """Return whether the GPUs hold all layers and nothing was given up for that."""
    cut, first = placement.cut, _first_cut(question)
    if not placement.fits_gpus or cut.extent.n_ctx < first.extent.n_ctx:
        return False
    return replace(first, n_cpu_moe=cut.n_cpu_moe) == replace(
        cut, extent=replace(cut.extent, n_ctx=first.extent.n_ctx)
    )


def _given_up(question: Question, cut: Cut) -> Placement:
    if question.limits:
        for lesser in _lesser_cuts(question, cut):
            if not fits(question.sizes, lesser, question.limits):
                continue
            placement = place(question.sizes, lesser, question.limits)
            if _is_good(question, placement):
                return placement
    placement = _with_fewer_layers(question, cut)
    for lesser in _lesser_cuts(question, cut):
        if _is_good(question, placement):
            break
        placement = _with_fewer_layers(question, lesser)
    return placement


def _first_cut(question: Question) -> Cut:
    is_small = question.budget.ram_free_bytes < SMALL_MACHINE_RAM_BYTES
    fixed = question.expert
    usual = default_n_ubatch(question.vocabulary_size, is_small_machine=is_small)
    layers = ALL_LAYERS if fixed.n_gpu_layers is None else fixed.n_gpu_layers
    return Cut(
        Extent(
            n_ctx=question.n_ctx or default_n_ctx(question.context_length),
            n_ubatch=fixed.n_ubatch or (min(usual, fixed.n_batch) if fixed.n_batch else usual),
            kv_type=question.kv_type or KV_DEFAULT,
            flash_attn=fixed.flash_attn != "off",
            swa_full=bool(fixed.swa_full),
        ),
        n_gpu_layers=ALL_LAYERS if layers >= question.sizes.item_count else layers,
        op_offload=not _are_all_remote(question) if fixed.op_offload is None else fixed.op_offload,
        prompt_cache_bytes=question.prompt_cache_bytes,
    )


def _are_all_remote(question: Question) -> bool:
    """Return whether no GPU would copy weights out of this machine's RAM: RPC devices never do."""
    used = [index for index, limit in enumerate(question.limits) if limit > 0]
    return bool(used) and all(is_remote(question.budget, index) for index in used)


def is_remote(budget: MemoryBudget, gpu: int) -> bool:
    """Return whether a GPU of the budget belongs to an RPC server."""
    return gpu < len(budget.devices) and budget.devices[gpu].startswith(RPC_DEVICE)


def _lesser_cuts(question: Question, cut: Cut) -> Iterator[Cut]:
    """Yield what may be given up, the least painful first, each on top of the one before."""
    extent = cut.extent
    fixed = question.expert
    is_big = (question.vocabulary_size or 0) > BIG_VOCABULARY
    if is_big and extent.n_ubatch > UBATCH_BIG_VOCABULARY and fixed.n_ubatch is None:
        extent = replace(extent, n_ubatch=UBATCH_BIG_VOCABULARY)
        yield replace(cut, extent=extent)
    if question.kv_type is None and extent.flash_attn and can_be_quantized(question.sizes.caches):
        extent = replace(extent, kv_type=KV_SMALLER)
        yield replace(cut, extent=extent)
    may_refuse = cut.op_offload and fixed.op_offload is None
    if may_refuse and question.limits and question.sizes.graph.largest_expert_tensor:
        cut = replace(cut, op_offload=False)
        yield replace(cut, extent=extent)
    if question.n_ctx is None:
        for shorter in SHORTER_CONTEXTS:
            if shorter < extent.n_ctx:
                extent = replace(extent, n_ctx=shorter)
                yield replace(cut, extent=extent)


def _with_fewer_layers(question: Question, cut: Cut) -> Placement:
    layers = min(cut.n_gpu_layers, largest_n_gpu_layers(question.sizes, cut, question.limits))
    return place(question.sizes, replace(cut, n_gpu_layers=layers), question.limits)


def _with_roomy_context(question: Question, placement: Placement) -> Placement:
    """Return the same placement with the longer default context, if that pushes nothing out of its place."""
    cut = placement.cut
    roomy = default_n_ctx(question.context_length, has_room=True)
    if question.n_ctx is not None or cut.extent.n_ctx != default_n_ctx(question.context_length):
        return placement
    if roomy <= CONTEXT_DEFAULT:
        return placement
    wider = place(question.sizes, replace(cut, extent=replace(cut.extent, n_ctx=roomy)), question.limits)
    has_room = wider.fits_gpus and wider.cpu_bytes <= question.budget.ram_left(wider.gpu_bytes)
    return wider if has_room and can_be_promised(question.budget, wider) else placement


def can_be_promised(budget: MemoryBudget, placement: Placement) -> bool:
    """Return whether Windows lets programs allocate what a placement does beside mapped weights."""
    if budget.commit_left_bytes is None:
        return True
    shared = budget.ram_free_bytes - budget.ram_left(placement.gpu_bytes)
    return placement.allocated_bytes + shared <= budget.commit_left_bytes


def can_be_carried(budget: MemoryBudget, placement: Placement) -> bool:
    """Return whether RAM holds everything but routed experts, and the system allows it."""
    return can_be_held(budget, placement) and can_be_promised(budget, placement)


def can_be_held(budget: MemoryBudget, placement: Placement) -> bool:
    """Return whether RAM holds everything but routed experts."""
    return placement.cpu_required_bytes <= budget.ram_left(placement.gpu_bytes)


def _is_good(question: Question, placement: Placement) -> bool:
    has_own_memory = not any(question.budget.shared_vram_bytes)
    if question.limits and placement.cut.n_gpu_layers == ALL_LAYERS and has_own_memory:
        return placement.fits_gpus  # what is left in RAM cannot be made less by giving anything up
    return placement.fits_gpus and can_be_carried(question.budget, placement)
