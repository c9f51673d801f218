"""What a device's memory is planned for, in the few parts a person tells apart. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.options import reserve_bytes
from app.planner.facts import DevicePlan, MemoryBudget, OffloadPlan, Part
from app.ui.views.measured import CPU
from app.ui.widgets.parts_facts import BarPart, PartKind

_KINDS: Final[Mapping[Part, PartKind]] = {
    Part.ROUTED_EXPERTS: PartKind.EXPERTS,
    Part.KV_CACHE: PartKind.CACHE,
    Part.STATE: PartKind.CACHE,
    Part.PROMPT_CACHE: PartKind.CACHE,
    Part.COMPUTE: PartKind.COMPUTE,
}


@dataclass(frozen=True, slots=True)
class DeviceParts:
    """One device of a plan.

    Attributes:
        total_bytes: The length of its bar: what is free, or what is needed where that is more.
        parts: In the order they are drawn, the reserve last; none is empty.
        error_bytes: By how much it may turn out fuller or emptier; None where nobody can tell.
    """

    name: str
    free_bytes: int
    planned_bytes: int
    total_bytes: int
    parts: tuple[BarPart, ...]
    error_bytes: int | None = None


def device_parts(plan: OffloadPlan, budget: MemoryBudget | None) -> tuple[DeviceParts, ...]:
    """Return the devices of a plan; a GPU the plan does not use is left out."""
    return tuple(
        _parts_of(device, _reserve(device, index, budget))
        for index, device in enumerate(plan.devices)
        if device.planned_bytes or device.name == CPU
    )


def _parts_of(device: DevicePlan, reserve: int) -> DeviceParts:
    sizes: Counter[PartKind] = Counter()
    for part, size in device.parts.items():
        sizes[_KINDS.get(part, PartKind.DENSE)] += size
    sizes[PartKind.RESERVE] = min(reserve, max(0, device.free_bytes - device.planned_bytes))
    return DeviceParts(
        name=device.name,
        free_bytes=device.free_bytes,
        planned_bytes=device.planned_bytes,
        total_bytes=max(device.free_bytes, device.planned_bytes),
        parts=tuple(BarPart(kind, sizes[kind]) for kind in PartKind if sizes[kind]),
        error_bytes=device.expected_error_bytes,
    )


def _reserve(device: DevicePlan, index: int, budget: MemoryBudget | None) -> int:
    """Return what a plan leaves free on a GPU; in RAM the budget has already set it aside."""
    if device.name == CPU:
        return 0
    known = budget.drives_display if budget is not None else ()
    return reserve_bytes(drives_display=known[index] if index < len(known) else True)
