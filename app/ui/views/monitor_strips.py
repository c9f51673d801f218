"""Which strips the monitor has, and what each shows of the history. No Qt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.findings import Finding, FindingCode
from app.ui.charts.frame import CurveStyle, StripFrame
from app.ui.charts.scale import Scale, round_scale
from app.ui.views.monitor_history import SHOWN_SECONDS, Curve, MonitorHistory

_GIB: Final = 1024.0**3
_MIB: Final = 1024.0**2


@dataclass(frozen=True, slots=True)
class StripSpec:
    """One strip.

    Attributes:
        name: Part of its text keys: `ui.monitor.NAME`, `ui.monitor.figure.NAME`.
        curves: What is drawn, and how.
        legend_keys: Texts of the curves; empty for a curve that the title names.
        needs_gpu: Its values come from a graphics card's driver.
    """

    name: str
    curves: Mapping[Curve, CurveStyle]
    legend_keys: tuple[str, ...] = ()
    needs_gpu: bool = False


STRIPS: Final = (
    StripSpec("vram", {Curve.VRAM: CurveStyle(0, is_filled=True)}, needs_gpu=True),
    StripSpec(
        "gpu",
        {Curve.TEMPERATURE: CurveStyle(1), Curve.POWER: CurveStyle(3, is_dashed=True)},
        ("ui.monitor.legend.temperature", "ui.monitor.legend.power"),
        needs_gpu=True,
    ),
    StripSpec("speed", {Curve.SPEED: CurveStyle(0)}),
    StripSpec("disk", {Curve.DISK: CurveStyle(3, is_filled=True)}, ("ui.monitor.legend.disk_mb",)),
    StripSpec(
        "host",
        {Curve.RAM: CurveStyle(2, is_filled=True), Curve.CPU: CurveStyle(4, is_dashed=True)},
        ("ui.monitor.legend.ram", "ui.monitor.legend.cpu"),
    ),
)

_PERCENT: Final = Scale(100.0)
_LEAST: Final = {Curve.POWER: 40.0, Curve.SPEED: 4.0}
_LEAST_DISK_MIB: Final = 10.0
_GPU_PROBES: Final = ("gpus", "driver")


def frame_of(spec: StripSpec, history: MonitorHistory) -> StripFrame:
    """Return what a strip shows now."""
    now = history.now_seconds
    ring = history.ring
    times = ring.times - now
    start = int(np.searchsorted(times, -SHOWN_SECONDS))
    start = max(0, start - 1)  # the line comes in from the left edge
    scales = tuple(scale_of(curve, history) for curve in spec.curves)
    lines = tuple(ring.values(curve)[start:] / _divisor(curve, history) for curve in spec.curves)
    total = history.vram_total_bytes
    return StripFrame(
        times=times[start:],
        lines=lines,
        scales=scales,
        budget=total / _GIB if spec.name == "vram" and total else None,
        shades=tuple((begin - now, end - now) for begin, end in history.reading_spans()),
        marks=tuple(event.seconds - now for event in history.events),
    )


def scale_of(curve: Curve, history: MonitorHistory) -> Scale:
    """Return the scale of a curve: of a memory its size, of a share 100, else round."""
    total = {Curve.VRAM: history.vram_total_bytes, Curve.RAM: history.ram_total_bytes}.get(curve)
    if total:
        return Scale(total / _GIB)
    if curve in (Curve.TEMPERATURE, Curve.CPU):
        return _PERCENT
    largest = _largest(curve, history)
    if curve is Curve.DISK:
        return round_scale(largest, _LEAST_DISK_MIB if _divisor(curve, history) == _MIB else 1.0)
    return round_scale(largest, _LEAST.get(curve, 1.0))


def shows_gigabytes_per_second(history: MonitorHistory) -> bool:
    """Return whether the disk strip counts in GB/s rather than MB/s."""
    return _divisor(Curve.DISK, history) == _GIB


def has_source(spec: StripSpec, history: MonitorHistory) -> bool:
    """Return whether a strip has anything to show, or may still get it: the speed waits for an answer."""
    if spec.name == "speed" or not len(history.ring):
        return True
    return any(history.ring.has_values(curve) for curve in spec.curves)


def reason_of(spec: StripSpec, findings: tuple[Finding, ...], history: MonitorHistory) -> Finding | None:
    """Return the finding that explains why a strip has no values; None when none does."""
    if not spec.needs_gpu:
        return next((f for f in findings if f.values.get("probe") == "host"), None)
    if history.gpu_count:
        return None
    driver = (FindingCode.NVIDIA_DRIVER_MISSING, FindingCode.NVIDIA_DRIVER_FAILED)
    found = [f for f in findings if f.code in driver or f.values.get("probe") in _GPU_PROBES]
    found += [f for f in findings if f.code is FindingCode.GPU_NOT_FOUND]
    return found[0] if found else None


def _divisor(curve: Curve, history: MonitorHistory) -> float:
    if curve in (Curve.VRAM, Curve.RAM):
        return _GIB
    if curve is not Curve.DISK:
        return 1.0
    values = _shown(curve, history)
    return _GIB if values.size and float(values.max()) >= _GIB else _MIB


def _largest(curve: Curve, history: MonitorHistory) -> float | None:
    values = _shown(curve, history)
    return float(values.max()) / _divisor(curve, history) if values.size else None


def _shown(curve: Curve, history: MonitorHistory) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the values of the time shown, gaps left out."""
    times = history.ring.times
    values = history.ring.values(curve)[times >= history.now_seconds - SHOWN_SECONDS]
    return values[np.isfinite(values)]
