"""The curves of one strip, drawn by pyqtgraph. Import it through `late`."""

import pyqtgraph as pg
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QWidget

from app.ui.charts.frame import CurveStyle, StripFrame
from app.ui.charts.pens import AREA_ALPHA, series_color, series_pen
from app.ui.theme.look import Look


class PlottedCurves:
    """A transparent view over its parent; it gets no layout, so its size hint does no harm."""

    def __init__(self, parent: QWidget, styles: tuple[CurveStyle, ...], span_seconds: float) -> None:
        self._styles = styles
        self._view = pg.GraphicsView(parent, background=None)
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0)
        self._curves = [_curve(style) for style in styles]
        self._build(span_seconds)

    def show_frame(self, frame: StripFrame) -> None:
        """Take over the lines of a moment, as shares of their scales."""
        for curve, line, scale in zip(self._curves, frame.lines, frame.scales, strict=True):
            curve.setData(frame.times, line / scale.top)

    def apply_look(self, look: Look) -> None:
        """Take over the colours."""
        for curve, style in zip(self._curves, self._styles, strict=True):
            curve.setPen(series_pen(look, style.series, is_dashed=style.is_dashed))
            if style.is_filled:
                curve.setFillLevel(0.0)
                curve.setBrush(series_color(look, style.series, AREA_ALPHA))

    def set_place(self, place: QRect) -> None:
        """Lie there in the parent."""
        self._view.setGeometry(place)
        self._view.show()

    def _build(self, span_seconds: float) -> None:
        self._view.setCentralItem(self._box)
        self._view.setAntialiasing(True)
        self._view.setProperty("surface", "plain")  # transparent: the ground is painted below it
        self._view.setCacheMode(pg.GraphicsView.CacheModeFlag.CacheNone)
        # painted whenever its parent is; left to itself the scene would paint most of it a second time
        self._view.setViewportUpdateMode(pg.GraphicsView.ViewportUpdateMode.NoViewportUpdate)
        self._view.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for curve in self._curves:
            self._box.addItem(curve)
        self._box.setRange(xRange=(-span_seconds, 0.0), yRange=(0.0, 1.0), padding=0, disableAutoRange=True)


def _curve(style: CurveStyle) -> pg.PlotCurveItem:
    """Return a curve drawn piece by piece: the outline of a wide line of many points takes ten times as long.

    A dash would begin anew with each piece, so dashed curves are drawn in one.
    """
    return pg.PlotCurveItem(connect="finite", segmentedLineMode="off" if style.is_dashed else "on")
