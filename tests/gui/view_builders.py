"""One `ModelView` per phase, with facts of a true-size model and plans the planner really makes."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from app.chat.conversation import ConversationSummary
from app.engine.protocol import BufferUse, DeviceInfo, Hello, Loaded, LoadProgress
from app.findings import FindingCode, error, warning
from app.gguf.facts import ModelFacts
from app.hardware.facts import (
    CpuInfo,
    DiskInfo,
    DriverInfo,
    GpuInfo,
    GpuSample,
    HardwareFacts,
    HostInfo,
    HostSample,
    Sample,
)
from app.planner.facts import MemoryBudget, Part, Wishes
from app.planner.plan import plan_offload
from app.ui.model_view import LOADED_PHASES, ModelPhase, ModelView
from tests.planner_models import GIB, MIB, dense_facts, moe_facts, one_gpu, weight_bytes

VRAM_BYTES = 12 * GIB
RAM_BYTES = 32 * GIB
BUDGET = one_gpu(VRAM_BYTES - 600 * MIB, 22 * GIB)
CPU_BUDGET = MemoryBudget(22 * GIB, performance_cores=8)
NOW = 1_796_000_000.0


@cache
def qwen_facts(*, leading_dense: int = 0) -> ModelFacts:
    """Return a model shaped like Qwen3-30B-A3B in Q4_K_M."""
    facts = moe_facts(leading_dense=leading_dense)
    path = Path("models") / "Qwen3-30B-A3B-Q4_K_M.gguf"
    return replace(
        facts,
        path=path,
        files=(path,),
        name="Qwen3-30B-A3B",
        quantization="Q4_K",
        size_bytes=weight_bytes(facts),
    )


def dense_model_facts() -> ModelFacts:
    """Return a dense model."""
    facts = dense_facts()
    path = Path("models") / "Llama-3.1-8B-Q4_K_M.gguf"
    return replace(
        facts, path=path, files=(path,), name=None, quantization="Q4_K", size_bytes=weight_bytes(facts)
    )


def model_view(
    phase: ModelPhase,
    *,
    facts: ModelFacts | None = None,
    budget: MemoryBudget = BUDGET,
    wishes: Wishes = Wishes(),  # noqa: B008 frozen
    **changes: Any,
) -> ModelView:
    """Return the view of a model in `phase`, as the controller would make it."""
    if phase is ModelPhase.NONE:
        return replace(ModelView(), **changes)
    facts = facts or qwen_facts()
    if phase is ModelPhase.CHECKING:
        return replace(ModelView(phase=phase, path=facts.path), **changes)
    plan = plan_offload(facts, budget, wishes)
    view = ModelView(
        phase=phase,
        path=facts.path,
        facts=facts,
        findings=plan.findings,
        wishes=wishes,
        budget=budget,
        plan=plan,
        engine_name="llama-server",
    )
    return replace(_further(view), **changes)


def every_phase() -> tuple[tuple[str, ModelView], ...]:
    """Return a name and a view for every phase, and for the states within a phase that look different."""
    ready = model_view(ModelPhase.READY, tokens_per_second=31.4)
    few = Wishes(moe=30)
    changed = replace(ready, wishes=few, plan=plan_offload(qwen_facts(), BUDGET, few), needs_reload=True)
    refused = model_view(ModelPhase.PLANNED)
    shard = error(FindingCode.SHARD_MISSING, missing=(3,), found=4, parts=5)
    refused = replace(refused, plan=None, findings=(shard,))
    return (
        *((phase.value, model_view(phase)) for phase in ModelPhase if phase is not ModelPhase.READY),
        ("ready", ready),
        ("ready-changed", changed),
        ("refused", refused),
        ("dense", model_view(ModelPhase.PLANNED, facts=dense_model_facts())),
        ("cpu-only", model_view(ModelPhase.PLANNED, budget=CPU_BUDGET)),
    )


def sample_with_gpu(used_bytes: int = 600 * MIB, ram_used_bytes: int = 9 * GIB) -> Sample:
    """Return a reading of a machine with one 12 GB card and 32 GB of RAM."""
    gpu = GpuSample(0, used_bytes, VRAM_BYTES, 44, 31_000, 3)
    return Sample(1.0, HostSample(12.0, ram_used_bytes, RAM_BYTES - ram_used_bytes, 0), (gpu,))


def sample_without_gpu() -> Sample:
    """Return a reading of a machine without a card."""
    return Sample(1.0, HostSample(12.0, 9 * GIB, RAM_BYTES - 9 * GIB, 0))


def hardware(*, with_gpu: bool = True) -> HardwareFacts:
    """Return a usual PC."""
    cpu = CpuInfo("AMD Ryzen 7 7700", 8, 16, 8, 8, ("avx", "avx2", "avx512f"))
    disks = (DiskInfo("C:", 930 * GIB, 214 * GIB, "NTFS"),)
    host = HostInfo("Windows", "11", cpu, RAM_BYTES, 23 * GIB, disks=disks)
    if not with_gpu:
        return HardwareFacts(host)
    gpu = GpuInfo(0, "NVIDIA GeForce RTX 4070", "nvidia", None, None, VRAM_BYTES, VRAM_BYTES - 600 * MIB)
    return HardwareFacts(host, DriverInfo("581.42", (13, 0)), (gpu,))


def conversations(now: float = NOW) -> tuple[ConversationSummary, ...]:
    """Return conversations of every group, newest first."""
    hour = 3600.0
    titles = (
        ("CSV clean-up script", 0.2),
        ("为什么 MoE 单机也快？", 1.5),
        ("Summary of the lease, with all the small print", 26.0),
        ("Letter to the landlord", 24.0 * 3),
        (None, 24.0 * 5),
        ("Recipe: mapo tofu", 24.0 * 40),
    )
    return tuple(
        ConversationSummary(number, title, 2 * number, now - age * hour)
        for number, (title, age) in enumerate(titles, 1)
    )


def _further(view: ModelView) -> ModelView:
    assert view.plan is not None
    phase, options = view.phase, view.plan.options
    if phase is ModelPhase.PLANNED:
        return view
    gpu = DeviceInfo("CUDA0", "NVIDIA GeForce RTX 4070", "gpu", VRAM_BYTES, VRAM_BYTES)
    view = replace(view, asked=options, hello=Hello("llama-server", "b10434", (gpu,)))
    if phase is ModelPhase.LOADING:
        return replace(view, progress=LoadProgress("weights", 0.41))
    if phase is ModelPhase.WARMING:
        return replace(view, progress=LoadProgress("warmup"))
    if phase is ModelPhase.FAILED:
        return _failed(view)
    if phase in LOADED_PHASES:
        speed = None if phase is ModelPhase.READY else 31.4
        return replace(view, loaded=_loaded(view), tokens_per_second=speed)
    return view


def _failed(view: ModelView) -> ModelView:
    assert view.plan is not None
    failure = error(FindingCode.ENGINE_OUT_OF_VRAM, device="CUDA0", needed_bytes=int(1.7 * GIB))
    safer = view.plan.ladder[1] if len(view.plan.ladder) > 1 else None
    lines = ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating failed", "exiting")
    return replace(view, failure=failure, findings=(failure, *view.findings), next_step=safer, log_tail=lines)


def _loaded(view: ModelView) -> Loaded:
    assert view.plan is not None
    buffers: list[BufferUse] = []
    for device in view.plan.devices:
        name = "CPU" if device.name == "CPU" else "CUDA0"
        caches = sum(device.parts.get(part, 0) for part in (Part.KV_CACHE, Part.STATE))
        compute = device.parts.get(Part.COMPUTE, 0)
        weights = device.planned_bytes - caches - compute - device.parts.get(Part.PROMPT_CACHE, 0)
        model = f"{name}_Mapped" if name == "CPU" else name
        buffers += [BufferUse(model, "model", weights), BufferUse(name, "kv_cache", caches)]
        buffers.append(BufferUse(name, "compute", compute + 40 * MIB))
    differs = warning(FindingCode.OPTION_NOT_APPLIED, name="type_k", asked="q8_0", applied="f16")
    applied = {"n_ctx": view.plan.options.n_ctx, "n_gpu_layers": view.plan.options.n_gpu_layers}
    return Loaded(applied, tuple(buffers), view.plan.options.n_ctx, (differs,))
