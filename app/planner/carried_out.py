"""A placement and its options -> what each device holds, and how fast that answers."""

from collections.abc import Mapping

from app.gguf.facts import ModelFacts
from app.options import EngineOptions
from app.planner.accuracy import expected_error_bytes
from app.planner.corrections import Corrections
from app.planner.facts import DevicePlan, MemoryBudget, OffloadPlan, Part
from app.planner.placement import Placement
from app.planner.speed import forecast
from app.planner.speed_reads import TypeShares


def carried_out(
    model: ModelFacts,
    budget: MemoryBudget,
    placement: Placement,
    options: EngineOptions,
    shares: TypeShares | None = None,
) -> OffloadPlan:
    """Return the plan as far as the placement decides it.

    Args:
        shares: Of the model, where they are known already.
    """
    disk_bytes = disk_share_bytes(placement, budget)
    told = forecast(model, placement, disk_bytes, budget, options, shares)
    devices = (*_gpu_plans(placement, budget), _cpu_plan(placement, budget, disk_bytes))
    return OffloadPlan(
        options=options,
        devices=devices,
        ram_bytes=devices[-1].planned_bytes,
        disk_bytes=disk_bytes,
        kv_cache_bytes=_sum_of(devices, Part.KV_CACHE) + _sum_of(devices, Part.STATE),
        compute_bytes=_sum_of(devices, Part.COMPUTE),
        tokens_per_second=told.decode if told else None,
        forecast=told,
    )


def disk_share_bytes(placement: Placement, budget: MemoryBudget) -> int:
    """Return the routed expert bytes that RAM cannot hold beside everything else in it."""
    excess = placement.cpu_bytes - budget.ram_left(placement.gpu_bytes)
    return max(0, min(excess, placement.cpu_parts.get(Part.ROUTED_EXPERTS, 0)))


def _gpu_plans(placement: Placement, budget: MemoryBudget) -> list[DevicePlan]:
    return [
        DevicePlan(f"GPU{gpu}", free, sum(parts.values()), dict(parts), _error(parts, budget, on_gpu=True))
        for gpu, (free, parts) in enumerate(zip(budget.vram_free_bytes, placement.gpu_parts, strict=True))
    ]


def _cpu_plan(placement: Placement, budget: MemoryBudget, disk_bytes: int) -> DevicePlan:
    parts = dict(placement.cpu_parts)
    if disk_bytes:
        parts[Part.ROUTED_EXPERTS] -= disk_bytes
    held = {part: size for part, size in parts.items() if size}
    free, error_bytes = budget.ram_left(placement.gpu_bytes), _error(held, budget, on_gpu=False)
    return DevicePlan("CPU", free, sum(held.values()), held, error_bytes)


def _error(parts: Mapping[Part, int], budget: MemoryBudget, *, on_gpu: bool) -> int:
    return expected_error_bytes(parts, budget.corrections or Corrections(), on_gpu=on_gpu)


def _sum_of(devices: tuple[DevicePlan, ...], part: Part) -> int:
    return sum(device.parts.get(part, 0) for device in devices)
