"""A placement -> the options that make an engine do exactly that; and back, for options of a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.gguf.facts import ModelFacts
from app.options import EngineOptions, default_n_threads, default_repack
from app.planner.caches import Extent
from app.planner.facts import MemoryBudget, Wishes
from app.planner.model_sizes import ModelSizes
from app.planner.placement import Cut, Placement, place_items
from app.planner.precision import prefix_of, with_blocks_in_ram
from app.planner.search import RPC_DEVICE, Question
from app.planner.speed_reads import TypeShares

MIB: Final = 1024**2


@dataclass(frozen=True, slots=True)
class Case:
    """One question to the planner, whole: the model, what is wished, and what the search is given.

    Attributes:
        shares: How the model's bytes divide among types.
    """

    model: ModelFacts
    wishes: Wishes
    question: Question
    shares: TypeShares


@dataclass(frozen=True, slots=True)
class GpuSplit:
    """Options that say which GPU holds how many items; named as in `EngineOptions`."""

    devices: tuple[str, ...]
    rpc_servers: tuple[str, ...] = ()
    split_mode: str = "layer"
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()


def options_of(case: Case, placement: Placement) -> EngineOptions:
    """Return everything an engine is to be told."""
    cut, wishes, budget = placement.cut, case.wishes, case.question.budget
    threads = wishes.n_threads or default_n_threads(budget.performance_cores, budget.busy_cores)
    uses_gpu = any(placement.gpu_items)
    overrides_experts = uses_gpu or wishes.moe != "auto"
    wants_all = wishes.moe == "all" and case.model.routed_expert_bytes > 0
    split = gpu_split(placement.gpu_items, budget)
    fixed = wishes.expert
    usual = EngineOptions()
    return EngineOptions(
        n_ctx=cut.extent.n_ctx,
        n_batch=max(fixed.n_batch or usual.n_batch, cut.extent.n_ubatch),
        n_ubatch=cut.extent.n_ubatch,
        n_gpu_layers=cut.n_gpu_layers if uses_gpu else 0,
        cpu_moe=wants_all,
        n_cpu_moe=0 if wants_all or not overrides_experts or placement.ram_blocks else cut.n_cpu_moe,
        cpu_moe_blocks=placement.ram_blocks,
        n_threads=threads,
        n_threads_batch=fixed.n_threads_batch or threads,
        flash_attn=fixed.flash_attn or usual.flash_attn,
        swa_full=cut.extent.swa_full,
        load_mode=fixed.load_mode or usual.load_mode,
        check_tensors=bool(fixed.check_tensors),
        type_k=cut.extent.kv_type,
        type_v=cut.extent.kv_type,
        repack=_may_repack(case, placement) if wishes.repack is None else wishes.repack,
        offload_kqv=uses_gpu,
        op_offload=uses_gpu and cut.op_offload,
        cache_ram_mib=cut.prompt_cache_bytes // MIB,
        devices=split.devices,
        split_mode=split.split_mode,
        tensor_split=split.tensor_split,
        main_gpu=split.main_gpu,
        rpc_servers=split.rpc_servers,
        kv_overrides=case.model.kv_overrides,
        chat_template=fixed.chat_template or ("chatml" if case.model.needs_chatml else "auto"),
        extra_flags=fixed.extra_flags,
    )


def gpu_split(gpu_items: Sequence[int], budget: MemoryBudget) -> GpuSplit:
    """Return how engines are told of a split. One that is not used is not named, where names are known.

    A GPU that is listed gets buffers even without layers, and makes the others copy for a pipeline.
    """
    used = [gpu for gpu, count in enumerate(gpu_items) if count]
    names = budget.devices
    if not used:  # kept: GPUs that are not to be used stay out of the list
        return GpuSplit(tuple(name for name in names if not name.startswith(RPC_DEVICE)))
    shares = tuple(float(gpu_items[gpu]) for gpu in used) if len(used) > 1 else ()
    if names:
        of_used = tuple(names[gpu] for gpu in used)
        # all servers or none: devices are numbered over all of them
        is_remote = any(name.startswith(RPC_DEVICE) for name in of_used)
        return GpuSplit(of_used, budget.rpc_servers if is_remote else (), tensor_split=shares)
    if len(used) == 1 and len(gpu_items) > 1:
        return GpuSplit((), split_mode="none", main_gpu=used[0])
    return GpuSplit((), tensor_split=tuple(map(float, gpu_items)) if shares else ())


def gpu_items_of(options: EngineOptions, budget: MemoryBudget, item_count: int) -> tuple[int, ...]:
    """Return how many items each GPU of the budget gets with options that a plan for it holds."""
    counts = [0] * len(budget.vram_free_bytes)
    total = min(options.n_gpu_layers, item_count)
    used = [budget.devices.index(name) for name in options.devices if name in budget.devices]
    used = used or list(range(len(counts)))
    if not total or not used:
        return tuple(counts)
    if options.tensor_split:
        for gpu, share in zip(used, options.tensor_split, strict=True):
            counts[gpu] = int(share)
    else:
        counts[used[options.main_gpu if options.split_mode == "none" else 0]] = total
    return tuple(counts)


def placed(
    sizes: ModelSizes, options: EngineOptions, budget: MemoryBudget, limits: Sequence[int]
) -> Placement:
    """Return where everything lies with options that a plan for the budget holds."""
    gpu_items = gpu_items_of(options, budget, sizes.item_count)
    placement = place_items(sizes, cut_of(options, sizes), gpu_items, limits)
    if not options.cpu_moe_blocks:
        return placement
    return with_blocks_in_ram(sizes, placement, options.cpu_moe_blocks)


def cut_of(options: EngineOptions, sizes: ModelSizes) -> Cut:
    """Return the numbers that decide a placement; of single blocks in RAM, how many they are."""
    in_ram = options.n_cpu_moe
    if options.cpu_moe:
        in_ram = sizes.weights.block_count
    elif options.cpu_moe_blocks:
        in_ram = prefix_of(sizes, len(options.cpu_moe_blocks))
    return Cut(
        Extent(
            options.n_ctx,
            options.n_ubatch,
            options.type_k,
            options.flash_attn != "off",
            options.swa_full,
        ),
        options.n_gpu_layers,
        in_ram,
        options.op_offload,
        options.cache_ram_mib * MIB,
    )


def _may_repack(case: Case, placement: Placement) -> bool:
    """Return whether weights in RAM may be copies: those neither go back to the file nor are just mapped."""
    budget = case.question.budget
    left = budget.ram_left(placement.gpu_bytes)
    commit = budget.commit_left_bytes
    is_allowed = commit is None or placement.cpu_bytes + budget.ram_free_bytes - left <= commit
    is_usual = default_repack(case.model.routed_expert_bytes, budget.ram_free_bytes)
    return is_usual and placement.cpu_bytes <= left and is_allowed
