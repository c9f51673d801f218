"""What is worth telling about a plan: wishes that could not be met as they are, and memory that is short."""

from typing import Final

from app.findings import Finding, FindingCode, FindingValue, error, note, warning
from app.gguf.facts import ModelFacts
from app.options import ALL_LAYERS, BOUNDS, CONTEXT_DEFAULT, default_n_ctx, reserve_bytes
from app.planner.facts import MemoryBudget, Part, SpeedForecast, Wishes
from app.planner.measured_speeds import SpeedBasis
from app.planner.placement import Placement
from app.planner.search import KV_DEFAULT, is_remote
from app.planner.sizes import block_count

MARGIN_BYTES: Final = 512 * 1024**2
MARGIN_SHARE: Final = 0.05
GARBLED_ON_WINDOWS: Final = frozenset({"glm-dsa"})
"""Right on Linux; with Windows builds of llama.cpp (b10087) nothing but question marks came out."""

DOUBTFUL_ON_GPUS: Final = frozenset({"deepseek4"})
"""Answers got worse and worse with its experts on CUDA cards, and other kinds of GPU crashed (b10276); with
the experts in RAM they were right."""

LARGEST_CONTEXT: Final = int(BOUNDS["n_ctx"][1])


def vram_margin_bytes(free_bytes: int) -> int:
    """Return the free VRAM below which a plan warns: drivers move memory to RAM unseen when VRAM is full."""
    return max(MARGIN_BYTES, int(free_bytes * MARGIN_SHARE))


def vram_margins(budget: MemoryBudget) -> tuple[int, ...]:
    """Return what must stay free on each GPU whoever decides."""
    return tuple(vram_margin_bytes(free) for free in budget.vram_free_bytes)


def vram_kept(budget: MemoryBudget) -> tuple[int, ...]:
    """Return what a plan of its own accord leaves free on each GPU."""
    screens = [*budget.drives_display, *(True for _ in budget.vram_free_bytes)]
    return tuple(
        max(reserve_bytes(drives_display=screen), margin)
        for screen, margin in zip(screens, vram_margins(budget), strict=False)
    )


def wished_context(model: ModelFacts, wishes: Wishes) -> tuple[int | None, tuple[Finding, ...]]:
    """Return the context to plan for, in tokens, None for "you decide"; never beyond what the model knows."""
    asked, limit = wishes.n_ctx, model.context_length
    if asked == 0:
        return min(limit or CONTEXT_DEFAULT, LARGEST_CONTEXT), ()
    if asked is not None and limit and asked > limit:
        return limit, (note(FindingCode.CONTEXT_BEYOND_MODEL, asked=asked, context_length=limit),)
    return asked, ()


PLAIN_KV_TYPES: Final = ("f16", "bf16", "f32")


def possible_kv_type(wishes: Wishes) -> tuple[str | None, tuple[Finding, ...]]:
    """Return the cache type to plan for: quantised values need flash attention, keys go with them."""
    wished = wishes.kv_type
    if wishes.expert.flash_attn != "off" or wished is None or wished in PLAIN_KV_TYPES:
        return wished, ()
    code = FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION
    return KV_DEFAULT, (warning(code, type_k=wished, type_v=wished, applied=KV_DEFAULT),)


def layer_findings(placement: Placement, wishes: Wishes, item_count: int) -> tuple[Finding, ...]:
    """Return that fewer layers than were fixed by hand fit on the GPUs."""
    asked, held = wishes.expert.n_gpu_layers, sum(placement.gpu_items)
    if not asked or not placement.gpu_items or held >= min(asked, item_count):
        return ()
    return (note(FindingCode.GPU_LAYERS_REDUCED, asked=min(asked, item_count), n_gpu_layers=held),)


def moe_findings(model: ModelFacts, wishes: Wishes) -> tuple[int | None, tuple[Finding, ...]]:
    """Return N as llama.cpp counts it, None for "as few as fit", and what is odd about the wish."""
    wish = wishes.moe
    blocks = block_count(model)
    if not model.routed_expert_bytes:
        odd = wish not in ("auto", "off", 0)
        return 0, (note(FindingCode.MOE_NOT_APPLICABLE, asked=str(wish)),) if odd else ()
    if isinstance(wish, str):
        return {"auto": None, "off": 0, "all": blocks}[wish], ()
    findings = []
    if wish > blocks:
        findings.append(note(FindingCode.MOE_N_CLAMPED, asked=wish, n_cpu_moe=blocks))
    first = model.expert_layers[0].index
    if 0 < wish <= first:
        findings.append(note(FindingCode.MOE_N_FREES_NOTHING, n_cpu_moe=wish, first_expert_block=first))
    return min(wish, blocks), tuple(findings)


def placement_findings(
    placement: Placement, budget: MemoryBudget, wishes: Wishes, model: ModelFacts
) -> tuple[Finding, ...]:
    """Judge a placement against the memory there is."""
    findings = [
        *_given_up(placement, budget, wishes, model),
        *_vram(placement, budget),
        *_ram(placement, budget),
    ]
    if any(placement.gpu_items) and placement.cut.n_gpu_layers != ALL_LAYERS:
        layers, total = sum(placement.gpu_items), block_count(model) + 1
        findings.append(note(FindingCode.LAYERS_IN_RAM, gpu_layers=layers, layers=total))
    return tuple(findings)


def no_gpu_finding(budget: MemoryBudget, limits: tuple[int, ...], needed_bytes: int) -> Finding:
    """Return why the processor works alone.

    Args:
        limits: What each GPU may take.
        needed_bytes: What a GPU would have to take at least: one layer and its working memory.
    """
    if not limits:
        return note(FindingCode.PLAN_WITHOUT_GPU)
    gpu = max(range(len(limits)), key=lambda index: limits[index])
    free = budget.vram_free_bytes[gpu]
    return note(
        FindingCode.NO_GPU_IN_PLAN,
        gpu_count=len(limits),
        device=f"GPU{gpu}",
        free_bytes=free,
        kept_bytes=min(free, free - limits[gpu]),
        needed_bytes=needed_bytes,
    )


def slower_gpu_finding(with_gpus: SpeedForecast | None, alone: SpeedForecast | None) -> Finding | None:
    """Return that the processor alone is faster: answers of this model were, or nothing speaks against it.

    Args:
        with_gpus: Expected with the plan for the GPUs; alone without. None when something was not measured.
    """
    if with_gpus is None or alone is None:
        return None
    gpu, cpu = with_gpus.decode.high, alone.decode.low
    if with_gpus.basis is alone.basis is SpeedBasis.MEASURED_HERE:
        gpu, cpu = with_gpus.expected, alone.expected
    if gpu >= cpu:
        return None
    values = {"gpu_tokens_per_second": round(gpu, 1), "cpu_tokens_per_second": round(cpu, 1)}
    return note(FindingCode.GPU_SLOWER_THAN_CPU, **values)


def known_troubles(model: ModelFacts, budget: MemoryBudget, placement: Placement) -> tuple[Finding, ...]:
    """Return what was reported of engines with this kind of model, where the plan would meet it."""
    name = model.architecture
    findings = []
    if name in GARBLED_ON_WINDOWS and budget.os_name == "Windows":
        findings.append(warning(FindingCode.MODEL_GARBLED_ON_WINDOWS, architecture=name))
    on_gpus = sum(parts.get(Part.ROUTED_EXPERTS, 0) for parts in placement.gpu_parts)
    if name in DOUBTFUL_ON_GPUS and on_gpus:
        findings.append(warning(FindingCode.EXPERTS_ON_GPU_DOUBTFUL, architecture=name, gpu_bytes=on_gpus))
    return tuple(findings)


def _given_up(placement: Placement, budget: MemoryBudget, wishes: Wishes, model: ModelFacts) -> list[Finding]:
    extent = placement.cut.extent
    findings = []
    usual = wishes.n_ctx or default_n_ctx(model.context_length)
    if extent.n_ctx < usual:
        findings.append(note(FindingCode.CONTEXT_REDUCED, asked=usual, n_ctx=extent.n_ctx))
    helpers = [gpu for gpu, count in enumerate(placement.gpu_items) if count and not is_remote(budget, gpu)]
    if helpers and not placement.cut.op_offload:
        findings.append(note(FindingCode.PROMPT_ON_CPU, n_ubatch=extent.n_ubatch))
    if wishes.kv_type is None and extent.kv_type != KV_DEFAULT:
        findings.append(note(FindingCode.KV_TYPE_CHANGED, before=KV_DEFAULT, kv_type=extent.kv_type))
    return findings


def _vram(placement: Placement, budget: MemoryBudget) -> list[Finding]:
    """Judge what is on GPUs. No plan of ours overdraws one: `VRAM_EXCEEDED` guards that."""
    findings = []
    devices = zip(budget.vram_free_bytes, placement.gpu_bytes, vram_kept(budget), strict=True)
    for gpu, (free, planned, kept) in enumerate(devices):
        values: dict[str, FindingValue] = {
            "device": f"GPU{gpu}",
            "planned_bytes": planned,
            "free_bytes": free,
        }
        if planned > free:
            findings.append(error(FindingCode.VRAM_EXCEEDED, **values, missing_bytes=planned - free))
        elif planned and free - planned < kept:
            values |= {"left_bytes": free - planned, "margin_bytes": kept}
            findings.append(warning(FindingCode.VRAM_MARGIN_SMALL, **values))
    return findings


def _ram(placement: Placement, budget: MemoryBudget) -> list[Finding]:
    needed, free = placement.cpu_required_bytes, budget.ram_left(placement.gpu_bytes)
    if needed > free:
        return [
            error(
                FindingCode.MODEL_EXCEEDS_MEMORY,
                needed_bytes=needed,
                ram_free_bytes=free,
                missing_bytes=needed - free,
            )
        ]
    excess = placement.cpu_bytes - free
    if excess <= 0:
        return []
    routed = placement.cpu_parts[Part.ROUTED_EXPERTS]
    return [
        warning(
            FindingCode.EXPERTS_ON_DISK, disk_bytes=excess, routed_bytes=routed, disk_share=excess / routed
        )
    ]
