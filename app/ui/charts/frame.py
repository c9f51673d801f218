"""What one strip shows at one moment, as facts. No Qt."""

from dataclasses import dataclass

import numpy as np

from app.ui.charts.ring import FloatArray
from app.ui.charts.scale import Scale

Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class CurveStyle:
    """How one curve is drawn; `series` picks colour and dash of the tokens."""

    series: int
    is_filled: bool = False
    is_dashed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StripFrame:
    """All a strip shows at one moment. Times are seconds before now, so 0 is the right edge.

    Attributes:
        lines: One per curve, in the unit of its scale; NaN leaves a gap.
        scales: One per curve: the first stands left, the second right.
        budget: Where the limit of the first curve is; None without.
        shades: Times in which prompts were read.
        marks: Times of events.
    """

    times: FloatArray
    lines: tuple[FloatArray, ...]
    scales: tuple[Scale, ...]
    budget: float | None = None
    shades: Spans = ()
    marks: tuple[float, ...] = ()


def lone_points(line: FloatArray) -> list[int]:
    """Return where a line has a value between two gaps, or between a gap and an end."""
    has_value = np.concatenate(([False], np.isfinite(line), [False]))
    alone = has_value[1:-1] & ~has_value[:-2] & ~has_value[2:]
    return [int(index) for index in np.flatnonzero(alone)]
