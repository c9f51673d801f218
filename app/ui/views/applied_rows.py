"""The table planned / asked / applied / measured, as facts: which rows there are and what differs. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from app.engine.comparison import option_findings
from app.findings import FindingCode
from app.options import ALL_LAYERS, EngineOptions
from app.planner.facts import DevicePlan
from app.ui.model_view import ModelView
from app.ui.views.measured import CPU, DeviceUse, Share, measured_uses, planned_shares
from app.ui.views.moe_steps import MoeSteps, moe_steps
from app.ui.views.words import Words

TOLERATED_SHARE: Final = 0.05
TOLERATED_BYTES: Final = 8 * 1024**2
_KV: Final = ("type_k", "type_v")
_MOE: Final = ("n_cpu_moe", "cpu_moe", "cpu_moe_blocks")
_THREADS: Final = ("n_threads", "n_threads_batch")
_OWN_REASONS: Final[Mapping[tuple[str, ...], tuple[FindingCode, str]]] = {
    _KV: (FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION, "kv_type"),
    ("n_gpu_layers",): (FindingCode.ENGINE_GPU_UNSEEN, "gpu_unseen"),
}
"""What an engine itself gave as the reason, by the options it is about."""

CellOf = Callable[[Mapping[str, Any]], Words | None]
"""Option values by name -> what to say of them; None when there is nothing."""


class Column(StrEnum):
    """The four values of a setting."""

    PLANNED = "planned"
    ASKED = "asked"
    APPLIED = "applied"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class AppliedRow:
    """One row.

    Attributes:
        name: What the row is about; several options may share one.
        cells: What to say by column; a column without a value is absent.
        marked: The value that is not what the one before promised; None when all is as it should be.
        reason: Why, when something is marked; also why less memory than planned is taken, which is no harm.
    """

    name: Words
    cells: Mapping[Column, Words]
    marked: Column | None = None
    reason: Words | None = None


def applied_rows(view: ModelView) -> tuple[AppliedRow, ...]:
    """Return the rows for a model; empty when there is neither plan nor load."""
    if view.plan is None and view.asked is None:
        return ()
    return (*_option_rows(view), *_device_rows(view))


def is_plan_of_load(view: ModelView) -> bool:
    """Return whether the plan shown is the one loaded: only then planned and measured can differ."""
    return view.plan is not None and view.asked == view.plan.options


def differs_enough(planned_bytes: int, measured_bytes: int) -> bool:
    """Return whether a plan was off by more than can be expected of one."""
    return abs(measured_bytes - planned_bytes) > max(TOLERATED_BYTES, planned_bytes * TOLERATED_SHARE)


def _option_rows(view: ModelView) -> Iterator[AppliedRow]:
    steps = moe_steps(view.facts)
    yield _context_row(view)
    yield _option_row(view, "gpu_layers", ("n_gpu_layers",), _layers_cell)
    if steps.count:
        row = _option_row(view, "experts", _MOE, lambda values: _experts_cell(values, steps))
        yield replace(row, cells=_with_asked_experts(row.cells, view.asked, steps))
    yield _option_row(view, "kv_type", _KV, _pair_cell(_KV))
    yield _option_row(view, "flash_attention", ("flash_attn",), lambda v: _word_cell(v.get("flash_attn")))
    yield _option_row(view, "threads", _THREADS, _pair_cell(_THREADS))
    yield _option_row(view, "repack", ("repack",), lambda v: _word_cell(v.get("repack")))
    yield _option_row(view, "load_mode", ("load_mode",), lambda v: _word_cell(v.get("load_mode")))


def _option_row(view: ModelView, name: str, fields: tuple[str, ...], cell_of: CellOf) -> AppliedRow:
    sources = {
        Column.PLANNED: _values(view.plan.options if view.plan else None),
        Column.ASKED: _values(view.asked),
        Column.APPLIED: dict(view.loaded.applied) if view.loaded else {},
    }
    cells = {column: words for column, values in sources.items() if (words := cell_of(values))}
    found = _difference(view, fields)
    title = Words(f"ui.plan.row.{name}")
    if found is None or Column.APPLIED not in cells:
        return AppliedRow(title, cells)
    values = {"asked": cells.get(Column.ASKED), "applied": cells[Column.APPLIED]}
    return AppliedRow(title, cells, Column.APPLIED, Words(f"ui.plan.reason.{found}", values))


def _context_row(view: ModelView) -> AppliedRow:
    row = _option_row(view, "context", ("n_ctx",), lambda values: _count_cell(values.get("n_ctx")))
    length = view.loaded.context_length if view.loaded else None
    measured = _count_cell(length)
    cells = {**row.cells, Column.MEASURED: measured} if measured else row.cells
    return AppliedRow(row.name, cells, row.marked, row.reason)


def _device_rows(view: ModelView) -> Iterator[AppliedRow]:
    uses = {use.name: use for use in measured_uses(view)}
    for device in view.plan.devices if view.plan else ():
        use = uses.pop(device.name, None)
        row = _device_row(view, device, use)
        yield row
        yield from _part_rows(view, device, use, is_told=row.reason is not None)
    for use in uses.values():
        cells = {Column.MEASURED: _bytes_cell(use.size_bytes)}
        yield AppliedRow(_device_name(use.name), cells)


def _device_row(view: ModelView, device: DevicePlan, use: DeviceUse | None) -> AppliedRow:
    disk_bytes = view.plan.disk_bytes if view.plan and device.name == CPU else 0
    cells = {Column.PLANNED: _bytes_cell(device.planned_bytes + disk_bytes)}
    name = _device_name(device.name, with_disk=disk_bytes > 0)
    if view.loaded is None or not view.loaded.buffers:
        return AppliedRow(name, cells)
    use = use or DeviceUse(device.name, {})
    cells[Column.MEASURED] = _bytes_cell(use.size_bytes)
    planned = planned_shares(device.parts)
    planned[Share.WEIGHTS] += disk_bytes
    del planned[Share.PROMPT_CACHE]  # filled while answering, nothing of it is taken by the load
    if not is_plan_of_load(view) or not differs_enough(sum(planned.values()), use.size_bytes):
        return AppliedRow(name, cells)
    is_harm = use.size_bytes > sum(planned.values()) or not use.size_bytes  # left empty: it was not used
    return AppliedRow(name, cells, Column.MEASURED if is_harm else None, _memory_reason(planned, use))


def _part_rows(
    view: ModelView, device: DevicePlan, use: DeviceUse | None, *, is_told: bool
) -> Iterator[AppliedRow]:
    """Yield what each part of a device was to take and took, once there is something to compare.

    Args:
        is_told: The row of the device says already what is off.
    """
    if view.loaded is None or not view.loaded.buffers or use is None or not is_plan_of_load(view):
        return
    planned = planned_shares(device.parts)
    planned[Share.WEIGHTS] += view.plan.disk_bytes if view.plan and device.name == CPU else 0
    for share in (Share.WEIGHTS, Share.CACHE, Share.COMPUTE):
        pair = (planned.get(share, 0), use.shares.get(share, 0))
        if any(pair):
            yield _part_row(share, *pair, is_told=is_told)


def _part_row(share: Share, planned_bytes: int, measured_bytes: int, *, is_told: bool) -> AppliedRow:
    part = Words(f"ui.plan.share.{share.value}")
    cells = {Column.PLANNED: _bytes_cell(planned_bytes), Column.MEASURED: _bytes_cell(measured_bytes)}
    name = Words("ui.plan.row.part", {"part": part})
    if is_told or not differs_enough(planned_bytes, measured_bytes):
        return AppliedRow(name, cells)
    off = measured_bytes - planned_bytes
    values = {"delta": abs(off), "part": part, "planned": planned_bytes, "measured": measured_bytes}
    reason = Words("ui.plan.reason.more" if off > 0 else "ui.plan.reason.less", values)
    return AppliedRow(name, cells, Column.MEASURED if off > 0 else None, reason)


def _memory_reason(planned: Mapping[Share, int], use: DeviceUse) -> Words:
    total = sum(planned.values())
    deltas = {share: use.shares.get(share, 0) - planned.get(share, 0) for share in Share}
    off = use.size_bytes - total
    worst = max(deltas, key=lambda share: deltas[share] * (1 if off > 0 else -1))
    return Words(
        "ui.plan.reason.more" if off > 0 else "ui.plan.reason.less",
        {
            "delta": abs(off),
            "part": Words(f"ui.plan.share.{worst.value}"),
            "planned": planned.get(worst, 0),
            "measured": use.shares.get(worst, 0),
        },
    )


def _difference(view: ModelView, fields: tuple[str, ...]) -> str | None:
    """Return which sentence says why one of the options is not in force as asked; None when all are."""
    if view.asked is None or view.loaded is None:
        return None
    if not any(f.values["name"] in fields for f in option_findings(view.asked, view.loaded.applied)):
        return None
    code, reason = _OWN_REASONS.get(fields, (None, ""))
    return reason if any(finding.code is code for finding in view.loaded.findings) else "applied"


def _values(options: EngineOptions | None) -> dict[str, Any]:
    return {} if options is None else {name: getattr(options, name) for name in options.__dataclass_fields__}


def _layers_cell(values: Mapping[str, Any]) -> Words | None:
    layers = values.get("n_gpu_layers")
    return Words("ui.plan.value.all") if layers == ALL_LAYERS else _count_cell(layers)


def _experts_cell(values: Mapping[str, Any], steps: MoeSteps) -> Words | None:
    if values.get("n_gpu_layers") == 0 or values.get("cpu_moe"):
        return _count_cell(steps.count)
    if values.get("cpu_moe_blocks"):
        return _count_cell(sum(1 for block in steps.blocks if block in values["cpu_moe_blocks"]))
    blocks = values.get("n_cpu_moe")
    return None if not isinstance(blocks, int) else _count_cell(steps.step_of(blocks))


def _with_asked_experts(
    cells: Mapping[Column, Words], asked: EngineOptions | None, steps: MoeSteps
) -> Mapping[Column, Words]:
    """Return the cells with what the engine was sent; without a GPU it may do nothing, or never be sent."""
    if asked is None or asked.n_gpu_layers or asked.cpu_moe:
        return cells
    told = dict(cells)
    told.pop(Column.ASKED, None)
    if asked.n_cpu_moe and (sent := _count_cell(steps.step_of(asked.n_cpu_moe))):
        told[Column.ASKED] = sent
    return told


def _pair_cell(fields: tuple[str, ...]) -> CellOf:
    def cell(values: Mapping[str, Any]) -> Words | None:
        pair = [_word_cell(values[name]) for name in fields if values.get(name) is not None]
        if not pair:
            return None
        if all(word == pair[0] for word in pair):
            return pair[0]
        return Words("ui.plan.value.pair", {"first": pair[0], "second": pair[1]})

    return cell


def _word_cell(value: object) -> Words | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return Words("ui.plan.value.on" if value else "ui.plan.value.off")
    if value in ("auto", "on", "off"):
        return Words(f"ui.plan.value.{value}")
    return Words("ui.plan.value.name", {"value": value})


def _count_cell(value: object) -> Words | None:
    return Words("ui.plan.value.count", {"value": value}) if isinstance(value, int) else None


def _bytes_cell(size_bytes: int) -> Words:
    return Words("ui.plan.value.bytes", {"value": size_bytes})


def _device_name(name: str, *, with_disk: bool = False) -> Words:
    if name == CPU:
        return Words("ui.plan.row.ram_and_disk" if with_disk else "ui.plan.row.ram")
    return Words("ui.plan.row.vram" if name.startswith("GPU") else "ui.plan.row.device", {"device": name})
