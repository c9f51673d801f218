"""Why a plan is as it is, and what its safer steps change, as sentences not yet said. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.findings import Severity
from app.gguf.facts import ModelFacts
from app.options import ALL_LAYERS, EngineOptions, changed_options
from app.planner.facts import LadderStep, OffloadPlan
from app.planner.sizes import block_count
from app.ui.model_view import ModelView
from app.ui.views.measured import CPU
from app.ui.views.moe_steps import moe_steps
from app.ui.views.words import Words

_MOE: Final = frozenset({"n_cpu_moe", "cpu_moe", "cpu_moe_blocks"})
_FOLLOWS: Final = ("offload_kqv", "op_offload", "tensor_split", "n_batch", "n_threads_batch", "type_v")
"""Options that change because another one does; the other one is told."""


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The plan in one line and one sentence.

    Attributes:
        tone: `accent`, or `danger` when the plan does not work.
    """

    title: Words
    why: Words
    tone: str = "accent"


def plan_summary(view: ModelView) -> PlanSummary | None:
    """Return what a plan comes to and why; None without a plan."""
    plan, facts = view.plan, view.facts
    if plan is None or facts is None:
        return None
    for finding in plan.findings:
        if finding.severity is Severity.ERROR:
            why = Words("ui.plan.why.too_big", {"missing": finding.values.get("missing_bytes")})
            return PlanSummary(Words("ui.plan.title.too_big"), why, "danger")
    values = _figures(plan, facts)
    title, reason = _kind(view, values)
    return PlanSummary(Words(f"ui.plan.title.{title}", values), Words(f"ui.plan.why.{reason}", values))


def step_changes(before: EngineOptions, after: EngineOptions, facts: ModelFacts | None) -> tuple[Words, ...]:
    """Return what a step changes against another; what only follows from a change is left out."""
    changed = changed_options(before, after)
    if changed.get("n_gpu_layers", (0, None))[1] == 0:
        changed = {k: v for k, v in changed.items() if k not in _MOE}
    elif not _MOE.isdisjoint(changed):
        steps = moe_steps(facts)
        changed = {k: v for k, v in changed.items() if k not in _MOE}
        changed["n_cpu_moe"] = (steps.step_of_options(before), steps.step_of_options(after))
    return tuple(_change(name, *pair) for name, pair in changed.items() if name not in _FOLLOWS)


def steps_of(plan: OffloadPlan) -> tuple[LadderStep, ...]:
    """Return the plans there are to choose from: the ladder, then the one with the bigger context."""
    return plan.ladder if plan.bigger_context is None else (*plan.ladder, plan.bigger_context)


def step_memory(step: LadderStep) -> tuple[Words, ...]:
    """Return what a step takes, by place; places it leaves empty are left out."""
    sizes = {"vram": step.vram_bytes, "ram": step.ram_bytes, "disk": step.disk_bytes}
    return tuple(Words(f"ui.plan.step.{place}", {"size": size}) for place, size in sizes.items() if size)


def chosen_step(view: ModelView) -> LadderStep | None:
    """Return the step that is loaded, or that loading would take."""
    plan = view.plan
    if plan is None:
        return None
    options = view.asked if view.is_loaded and view.asked is not None else plan.options
    return next((step for step in steps_of(plan) if step.options == options), None)


def _figures(plan: OffloadPlan, facts: ModelFacts) -> dict[str, int]:
    gpus = [device for device in plan.devices if device.name != CPU]
    vram_free = sum(device.free_bytes for device in gpus)
    vram = sum(device.planned_bytes for device in gpus)
    steps, items = moe_steps(facts), block_count(facts) + 1
    return {
        "total": vram + plan.ram_bytes + plan.disk_bytes,
        "vram": vram,
        "vram_free": vram_free,
        "vram_left": vram_free - vram,
        "ram": plan.ram_bytes,
        "disk": plan.disk_bytes,
        "experts": steps.step_of_options(plan.options),
        "expert_layers": steps.count,
        "gpu_layers": min(plan.options.n_gpu_layers, items),
        "layers": items,
    }


def _kind(view: ModelView, values: Mapping[str, int]) -> tuple[str, str]:
    """Return which title and which reason fit."""
    if values["disk"]:
        return "disk", "disk"
    if not values["vram"]:
        return "ram", "ram_no_room" if values["vram_free"] else "ram"
    if values["gpu_layers"] < values["layers"]:
        return "layers", "layers"
    if values["experts"]:
        return "experts", "experts" if view.wishes.moe == "auto" else "experts_asked"
    return "vram", "vram"


def _change(name: str, before: Any, after: Any) -> Words:
    if name == "n_gpu_layers" and after == 0:
        return Words("ui.plan.change.no_gpu")
    return Words(
        "ui.plan.change.line",
        {"name": Words(f"ui.plan.change.{name}"), "before": _value(before), "after": _value(after)},
    )


def _value(value: Any) -> Words:
    if isinstance(value, bool):
        return Words("ui.plan.value.on" if value else "ui.plan.value.off")
    if value == ALL_LAYERS:
        return Words("ui.plan.value.all")
    if isinstance(value, int):
        return Words("ui.plan.value.count", {"value": value})
    return Words("ui.plan.value.name", {"value": value})
