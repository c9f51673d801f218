"""Views of the model for tests of plan and parameters: one machine, one MoE model, every phase."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from app.engine.protocol import BufferUse, DeviceInfo, Hello, Loaded, LoadProgress
from app.findings import Finding, FindingCode, FindingValue, Severity, error, note, warning
from app.options import EngineOptions
from app.planner.facts import DevicePlan, MemoryBudget, Part, Wishes
from app.planner.plan import plan_offload
from app.ui.model_view import ModelPhase, ModelView
from tests.planner_models import GIB, MIB, moe_facts, one_gpu

MODEL = moe_facts()
BUDGET = replace(
    one_gpu(12 * GIB, 32 * GIB), ram_bytes_per_second=48.0 * GIB, vram_bytes_per_second=400.0 * GIB
)
HELLO = Hello("worker", "b1", (DeviceInfo("CUDA0", "card", "gpu"), DeviceInfo("CPU", "processor", "cpu")))


def planned_view(wishes: Wishes | None = None, budget: MemoryBudget = BUDGET) -> ModelView:
    """Return a model that is planned and not loaded."""
    wishes = wishes or Wishes()
    plan = plan_offload(MODEL, budget, wishes)
    return ModelView(
        phase=ModelPhase.PLANNED,
        path=Path("models/Qwen3-30B-A3B-Q4_K_M.gguf"),
        facts=replace(MODEL, name="Qwen3-30B-A3B"),
        findings=plan.findings,
        wishes=wishes,
        budget=budget,
        plan=plan,
    )


def loaded_view(more_vram: int = 0, **applied: object) -> ModelView:
    """Return a loaded model whose engine holds what was planned, `more_vram` bytes of cache apart."""
    view = planned_view()
    assert view.plan is not None
    gpu, cpu = view.plan.devices
    in_force = applied_as_asked(view.plan.options) | applied
    buffers = (*buffers_of(gpu, "CUDA0", more_vram), *buffers_of(cpu, "CPU"))
    loaded = Loaded(in_force, buffers, view.plan.options.n_ctx)
    return replace(view, phase=ModelPhase.READY, asked=view.plan.options, hello=HELLO, loaded=loaded)


def applied_as_asked(options: EngineOptions) -> dict[str, object]:
    """Return what an engine reports that does as it is told, as backends word it."""
    applied: dict[str, object] = dict(options.to_json())
    del applied["repack"]  # allowed but unused says nothing
    return applied | {"n_gpu_layers": 49, "flash_attn": "on"}


def buffers_of(device: DevicePlan, name: str, more: int = 0) -> tuple[BufferUse, ...]:
    """Return what an engine would say of a device that holds exactly its plan, and `more` of cache."""
    cache = device.parts.get(Part.KV_CACHE, 0) + more
    compute = device.parts.get(Part.COMPUTE, 0)
    weights = device.planned_bytes - device.parts.get(Part.KV_CACHE, 0) - compute
    return (
        BufferUse(name, "model", weights),
        BufferUse(name, "kv_cache", cache),
        BufferUse(name, "compute", compute),
    )


def differing_view() -> ModelView:
    """Return a loaded model of which the engine did not do all as told."""
    view = loaded_view(700 * MIB, type_k="f16", type_v="f16")
    assert view.asked is not None and view.plan is not None and view.loaded is not None
    options = replace(view.asked, type_k="q8_0", type_v="q8_0")
    found = warning(FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION, type_k="q8_0", type_v="q8_0", applied="f16")
    return replace(
        view,
        asked=options,
        plan=replace(view.plan, options=options),
        loaded=replace(view.loaded, findings=(found,)),
        findings=(found, *view.findings),
    )


def failed_view() -> ModelView:
    """Return a load that ran out of memory."""
    view = planned_view()
    assert view.plan is not None
    failure = error(FindingCode.ENGINE_OUT_OF_VRAM, device="CUDA0", needed_bytes=2 * GIB)
    return replace(
        view,
        phase=ModelPhase.FAILED,
        asked=view.plan.options,
        hello=HELLO,
        failure=failure,
        next_step=view.plan.ladder[1],
        log_tail=("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0", "failed"),
    )


def too_big_view() -> ModelView:
    """Return a plan for a card that lost memory meanwhile, with more findings than fit above the table."""
    view = planned_view(Wishes(moe=0, n_ctx=65_536), replace(BUDGET, vram_free_bytes=(48 * GIB,)))
    assert view.plan is not None and view.budget is not None
    now = replace(view.budget, vram_free_bytes=(12 * GIB,))
    gpu = replace(view.plan.devices[0], free_bytes=12 * GIB)
    values: dict[str, FindingValue] = {
        "device": gpu.name,
        "planned_bytes": gpu.planned_bytes,
        "free_bytes": gpu.free_bytes,
    }
    missing = error(FindingCode.VRAM_EXCEEDED, **values, missing_bytes=gpu.planned_bytes - gpu.free_bytes)
    findings = (missing, note(FindingCode.CONTEXT_BEYOND_MODEL, asked=65_536, context_length=40_960))
    plan = replace(view.plan, devices=(gpu, *view.plan.devices[1:]), findings=findings)
    view = replace(view, budget=now, plan=plan, findings=findings)
    extra = (note(FindingCode.CHAT_TEMPLATE_MISSING, file="model.gguf"), note(FindingCode.TRAILING_BYTES))
    return replace(view, findings=tuple(sorted((*view.findings, *extra), key=gravity)))


def gravity(finding: Finding) -> int:
    """Return 0 for the gravest."""
    return list(Severity).index(finding.severity)


def every_phase() -> Iterator[tuple[str, ModelView]]:
    """Yield a view of each phase, by name."""
    planned, ready = planned_view(), loaded_view()
    loading = replace(planned, asked=planned.plan.options if planned.plan else None, hello=HELLO)
    yield "none", ModelView()
    yield "checking", ModelView(phase=ModelPhase.CHECKING, path=planned.path)
    yield "planned", planned
    yield "loading", replace(loading, phase=ModelPhase.LOADING, progress=LoadProgress("weights", 0.4))
    yield "warming", replace(loading, phase=ModelPhase.WARMING, progress=LoadProgress("warmup"))
    yield "ready", ready
    yield "generating", replace(ready, phase=ModelPhase.GENERATING)
    yield "stopping", replace(ready, phase=ModelPhase.STOPPING)
    yield "unloading", replace(planned, phase=ModelPhase.UNLOADING)
    yield "failed", failed_view()
    yield "differing", differing_view()
    yield "too_big", too_big_view()
