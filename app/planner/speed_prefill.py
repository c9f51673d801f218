"""How long a prompt takes: arithmetic, not memory, unless experts have to be fetched for each batch."""

from collections.abc import Iterable
from math import ceil
from statistics import median
from typing import TYPE_CHECKING

from app.gguf.facts import ModelFacts
from app.planner.facts import DiskReads, MemoryBudget, Part
from app.planner.measured_speeds import Calibration, MachineSpeeds
from app.planner.placement import Placement
from app.planner.speed_reads import Group, elements_of, used_share

if TYPE_CHECKING:
    from app.planner.speed import Tier


def prefill_seconds(
    model: ModelFacts,
    placement: Placement,
    tiers: "Iterable[Tier]",
    disk: DiskReads | None,
    budget: MemoryBudget,
    prompt_tokens: int,
) -> float | None:
    """Return what so many tokens take; None when a device they are computed on was never calibrated.

    A GPU that works on experts in RAM (`op_offload`) has them sent for every batch.
    """
    speeds = budget.speeds or MachineSpeeds()
    batches = ceil(prompt_tokens / placement.cut.extent.n_ubatch)
    in_batch = min(prompt_tokens, placement.cut.extent.n_ubatch)
    touched = 1.0 - (1.0 - used_share(model)) ** in_batch
    total = 0.0
    gpu = next((tier for tier in tiers if tier.name == "vram"), None)
    for tier in tiers:
        sends = tier.name == "ram" and gpu is not None and placement.cut.op_offload
        calibration = gpu.calibration if sends and gpu is not None else tier.calibration
        for group, size in tier.reads.weights.items():
            rate = _rate(calibration, group)
            if not rate:
                return None
            total += prompt_tokens * elements_of(group[0], size) / rate
        if sends and tier.reads.experts:
            if not speeds.pcie_bytes_per_second:
                return None
            routed = placement.cpu_parts.get(Part.ROUTED_EXPERTS, 0)
            total += batches * routed * touched / speeds.pcie_bytes_per_second
    if disk is not None and disk.bytes_per_second:
        missing = placement.cpu_parts.get(Part.ROUTED_EXPERTS, 0) * touched - disk.cache_bytes
        total += batches * max(0.0, missing) / disk.bytes_per_second
    return total or None


def _rate(calibration: Calibration | None, group: Group) -> float | None:
    if calibration is None:
        return None
    name, kind = group
    known = [t for t in calibration.types if t.prefill_elements_per_second]
    of_kind = [t for t in known if t.kind is kind] or known
    exact = [t.prefill_elements_per_second for t in of_kind if t.type_name == name]
    if exact:
        return exact[0]
    return median(t.prefill_elements_per_second or 0.0 for t in of_kind) if of_kind else None
