"""What the Models page says of a model, as words not yet said. Pure."""

from app.findings import FindingCode
from app.gguf.facts import ModelFacts
from app.planner.facts import OffloadPlan
from app.ui.model_page_view import ModelPageView
from app.ui.views.measured import CPU
from app.ui.views.model_details.numbers import context_text
from app.ui.views.words import Words

_PARTS_IN_DOUBT = frozenset(
    {
        FindingCode.FILE_INCOMPLETE,
        FindingCode.SHARD_MISSING,
        FindingCode.SHARD_MISMATCH,
        FindingCode.SHARD_NAME_INVALID,
        FindingCode.TENSORS_MISSING,
        FindingCode.TENSOR_INVALID,
        FindingCode.HEADER_BROKEN,
        FindingCode.ACCESS_DENIED,
        FindingCode.PATH_MISSING,
    }
)


def fact_words(view: ModelPageView) -> tuple[Words, ...]:
    """Return the line of figures below the name; what the file does not tell is left out."""
    facts = view.facts
    if facts is None:
        return ()
    active = view.anatomy.active_parameter_count if view.anatomy is not None else None
    lines = [
        _counted("ui.models.fact.total", facts.parameter_count),
        _counted("ui.models.fact.active", active if facts.is_moe else None),
        _counted("ui.models.fact.layers", facts.trunk_layers or facts.block_count),
        _expert_words(facts),
        _counted("ui.models.fact.context", facts.context_length),
    ]
    return tuple(line for line in lines if line is not None)


def anatomy_words(view: ModelPageView) -> Words | None:
    """Return how much of the file is experts and what one token reads; None for what has no layers."""
    facts, anatomy = view.facts, view.anatomy
    if facts is None or anatomy is None or anatomy.bytes_per_token is None or not facts.layers:
        return None
    values: dict[str, object] = {"read": anatomy.bytes_per_token}
    if not facts.is_moe or not facts.expert_used_count:
        return Words("ui.models.anatomy.dense", values)
    values |= {
        "share": anatomy.expert_share,
        "used": facts.expert_used_count,
        "count": facts.expert_count,
    }
    disk_bytes = view.plan.disk_bytes if view.plan is not None else 0
    if not disk_bytes:
        return Words("ui.models.anatomy.moe", values)
    values["disk"] = round(disk_bytes * min(1.0, facts.expert_used_count / facts.expert_count))
    return Words("ui.models.anatomy.moe_disk", values)


def complete_words(view: ModelPageView) -> tuple[Words, Words] | None:
    """Return that all parts are there, with what they hold; None when that is in doubt."""
    facts = view.facts
    if facts is None or not facts.tensor_count or any(f.code in _PARTS_IN_DOUBT for f in view.findings):
        return None
    count = len(facts.files)
    key = "one" if count < 2 else "both" if count == 2 else "all"
    template = "with_template" if facts.has_chat_template else "without_template"
    figures = {"tensors": facts.tensor_count, "size": facts.size_bytes}
    return Words(f"ui.models.complete.{key}", {"count": count}), Words(
        f"ui.models.complete.{template}", figures
    )


def step_words(plan: OffloadPlan) -> Words:
    """Return what a step leaves to other programs."""
    gpus = [device for device in plan.devices if device.name != CPU and device.planned_bytes]
    if not gpus and plan.disk_bytes:
        return Words("ui.models.step.ram_full", {"n_ctx": context_text(plan.options.n_ctx)})
    left = sum(max(0, device.free_bytes - device.planned_bytes) for device in gpus or plan.devices[-1:])
    key = "vram_left" if gpus else "ram_left"
    return Words(f"ui.models.step.{key}", {"n_ctx": context_text(plan.options.n_ctx), "left": left})


def memory_of(plan: OffloadPlan) -> tuple[int, int, int]:
    """Return what a plan takes of VRAM, RAM and the disk."""
    vram = sum(device.planned_bytes for device in plan.devices if device.name != CPU)
    return vram, plan.ram_bytes, plan.disk_bytes


def parameter_figure(count: int) -> str:
    """Return a count of parameters as models are called by it: 30.5 B, 135 M."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if count >= size:
            value = count / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
    return str(count)


def _counted(key: str, value: int | None) -> Words | None:
    if not value:
        return None
    figure: object = value
    if key.endswith(("total", "active")):
        figure = parameter_figure(value)
    elif key.endswith("context"):
        figure = context_text(value)
    return Words(key, {"value": figure})


def _expert_words(facts: ModelFacts) -> Words | None:
    if not facts.is_moe:
        return None
    values = {
        "count": facts.expert_count,
        "used": facts.expert_used_count,
        "shared": facts.expert_shared_count,
    }
    if not facts.expert_used_count:
        return Words("ui.models.fact.experts", values)
    return Words(f"ui.models.fact.experts_{'shared' if facts.expert_shared_count else 'used'}", values)
