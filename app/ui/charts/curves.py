"""Paints one curve of a strip: a line per stretch without a gap, the area below it, and points alone.

Lines are drawn piece by piece, dashes too: for a wide line of many points, dashed or not, Qt would work out
the outline of the whole, which takes ten times as long.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from app.ui.charts.frame import CurveStyle, lone_points
from app.ui.charts.pens import AREA_ALPHA, series_color, series_pen
from app.ui.charts.ring import FloatArray
from app.ui.theme.look import Look
from app.ui.theme.tokens import SERIES_DASH

DOT_RADIUS: Final = 2.5


@dataclass(frozen=True, slots=True)
class Plot:
    """Where a strip draws: `box` spans `span_seconds` up to now, and shares of a scale from 0 to 1."""

    box: QRectF
    span_seconds: float

    def x(self, seconds: float) -> float:
        """Return where a moment is; seconds before now are negative."""
        return self.box.right() + seconds * self.box.width() / self.span_seconds

    def level(self, share: float) -> float:
        """Return where a share of the scale is."""
        return self.box.bottom() - share * self.box.height()

    def places(self, times: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return x and y of the points of a line."""
        xs = self.box.right() + times * (self.box.width() / self.span_seconds)
        return xs, self.box.bottom() - shares * self.box.height()


def paint_curve(
    painter: QPainter, look: Look, style: CurveStyle, plot: Plot, line: tuple[FloatArray, FloatArray]
) -> None:
    """Paint a `line` of times and shares; NaN leaves a gap."""
    times, shares = line
    pen = series_pen(look, style.series, is_dashed=False)
    pattern = np.array(SERIES_DASH[style.series] if style.is_dashed else ()) * pen.widthF()
    for start, end in _runs(shares):
        xs, ys = plot.places(times[start:end], shares[start:end])
        if style.is_filled:
            _paint_area(painter, series_color(look, style.series, AREA_ALPHA), (xs, ys), plot.box.bottom())
        painter.setPen(pen)
        painter.drawLines(pieces(xs, ys, pattern))
    _paint_lone_points(painter, look, style, plot, line)


def pieces(xs: FloatArray, ys: FloatArray, pattern: FloatArray) -> list[QLineF]:
    """Return the lines between the points, or only the dashes: `pattern` is pixels drawn, left out ..."""
    is_drawn = np.ones(len(xs) - 1, dtype=bool)
    if len(pattern):
        along = np.concatenate(([0.0], np.cumsum(np.hypot(np.diff(xs), np.diff(ys)))))
        period, ends = pattern.sum(), np.cumsum(pattern)
        breaks = (np.arange(0.0, along[-1], period)[:, None] + ends).ravel()
        cuts = np.unique(np.concatenate((along, breaks[breaks < along[-1]])))
        xs, ys = np.interp(cuts, along, xs), np.interp(cuts, along, ys)
        is_drawn = np.searchsorted(ends, (cuts[:-1] + cuts[1:]) / 2 % period) % 2 == 0
    ends_of = (xs[:-1], ys[:-1], xs[1:], ys[1:])
    return list(map(QLineF, *(values[is_drawn].tolist() for values in ends_of)))


def _paint_area(painter: QPainter, color: QColor, line: tuple[FloatArray, FloatArray], floor: float) -> None:
    """Paint upright bars, one where neighbours are equal: an outline of so many points takes longer."""
    xs, ys = (np.round(values).astype(int) for values in line)
    tops = (ys[:-1] + ys[1:]) // 2
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(tops)) + 1))
    lefts = xs[firsts]
    bars = (lefts, tops[firsts], np.diff(lefts, append=xs[-1]), round(floor) - tops[firsts])
    for x, y, width, height in zip(*(values.tolist() for values in bars), strict=True):
        painter.fillRect(x, y, width, height, color)


def _runs(shares: FloatArray) -> list[tuple[int, int]]:
    """Return begin and end of each stretch of two values or more."""
    has_value = np.concatenate(([False], np.isfinite(shares), [False]))
    edges = np.flatnonzero(has_value[1:] != has_value[:-1]).tolist()
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if end - start > 1]


def _paint_lone_points(
    painter: QPainter, look: Look, style: CurveStyle, plot: Plot, line: tuple[FloatArray, FloatArray]
) -> None:
    """Paint the points no line reaches: an answer of one sample would not be seen."""
    times, shares = line
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(series_color(look, style.series))
    for index in lone_points(shares):
        seconds = float(times[index])
        if -plot.span_seconds <= seconds <= 0:
            x = min(plot.x(seconds), plot.box.right() - DOT_RADIUS)
            painter.drawEllipse(QPointF(x, plot.level(float(shares[index]))), DOT_RADIUS, DOT_RADIUS)
