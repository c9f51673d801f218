"""What the GPU and RAM bars show: readings, plan and the engine's own account in one place. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.hardware.facts import Sample
from app.ui.model_view import ModelPhase, ModelView
from app.ui.views.measured import CPU, measured_uses

_LOADING = (ModelPhase.LOADING, ModelPhase.WARMING)
_GPU = "GPU"


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """One bar. `None` = not known.

    Attributes:
        total_bytes: Of all GPUs, or of the RAM.
        other_bytes: Taken by other programs.
        ours_bytes: Taken by the model, measured; None while nothing of it is loaded.
        planned_bytes: What the plan wants for the model; None without a plan.
    """

    total_bytes: int | None
    other_bytes: int | None
    ours_bytes: int | None
    planned_bytes: int | None


def gpu_figures(sample: Sample, view: ModelView) -> MemoryFigures | None:
    """Return the bar of all GPUs together; None when the machine has none."""
    if not sample.gpus:
        return None
    used = _sum(gpu.vram_used_bytes for gpu in sample.gpus)
    total = _sum(gpu.vram_total_bytes for gpu in sample.gpus)
    ours: int | None = None
    if view.is_loaded and view.loaded is not None:  # other names are another PC's memory
        ours = sum(use.size_bytes for use in measured_uses(view) if use.name.startswith(_GPU))
    elif view.phase in _LOADING and view.budget is not None and total is not None and used is not None:
        before = total - sum(view.budget.vram_free_bytes)
        ours = max(0, used - before)
    planned = None
    if view.plan is not None:
        planned = sum(device.planned_bytes for device in view.plan.devices if device.name != CPU)
    return _figures(total, used, ours, planned)


def ram_figures(sample: Sample, view: ModelView) -> MemoryFigures:
    """Return the bar of the RAM.

    Mapped weights lie in the page cache, which systems count as available: they are added to what is used.
    """
    host = sample.host
    used = host.ram_used_bytes if host else None
    available = host.ram_available_bytes if host else None
    total = None if used is None or available is None else used + available
    planned = view.plan.ram_bytes if view.plan is not None else None
    held = [use for use in measured_uses(view) if use.name == CPU] if view.is_loaded else []
    if not held:
        return _figures(total, used, None, planned)
    ours = sum(use.size_bytes for use in held)
    mapped = sum(use.mapped_bytes for use in held)
    other = None if used is None else max(0, used - (ours - mapped))
    if total is not None and other is not None:
        ours = min(ours, total - other)  # what is beyond is read from the file again and again
    return MemoryFigures(total, other, ours, planned)


def _figures(total: int | None, used: int | None, ours: int | None, planned: int | None) -> MemoryFigures:
    other = None if used is None else max(0, used - (ours or 0))
    return MemoryFigures(total, other, ours, planned)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
