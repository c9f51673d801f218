"""One strip of the monitor: up to two curves over the common time axis, each with a scale of its own."""

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.charts.frame import CurveStyle, StripFrame, lone_points
from app.ui.charts.late import plotted_curves
from app.ui.charts.pens import BUDGET_SERIES, SHADE_ALPHA, series_color, series_pen
from app.ui.charts.scale import tick_text
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import TYPE

if TYPE_CHECKING:
    from app.ui.charts.plotted import PlottedCurves

LEFT_AXIS: Final = 32
RIGHT_AXIS: Final = 30
"""The same for every strip, with or without a second scale: a moment has one place across all of them."""

LEAST_HEIGHT: Final = 62
_FRAME: Final = 2
"""Room for the focus ring above and below the curves."""
_RADIUS: Final = 6.0
DOT_RADIUS: Final = 2.5
_KEY_STEPS: Final = {
    Qt.Key.Key_Left: -1.0,
    Qt.Key.Key_Right: 1.0,
    Qt.Key.Key_PageUp: -10.0,
    Qt.Key.Key_PageDown: 10.0,
}


class StripChart(QWidget):
    """Curves by pyqtgraph on a ground painted here; they come with the first frame.

    Signals:
        pointed: seconds before now under the mouse or the keys, None when they leave.
    """

    pointed = Signal(object)

    def __init__(self, looks: LookSource, curves: tuple[CurveStyle, ...], span_seconds: float) -> None:
        super().__init__()
        self._looks = looks
        self._styles = curves
        self._span_seconds = span_seconds
        self._frame: StripFrame | None = None
        self._cursor: float | None = None
        self._curves: PlottedCurves | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        looks.changed.connect(self._on_look_changed)
        self._on_look_changed()

    @property
    def frame(self) -> StripFrame | None:
        """What is shown; None before the first."""
        return self._frame

    @property
    def cursor_seconds(self) -> float | None:
        """The moment pointed at."""
        return self._cursor

    def show_frame(self, frame: StripFrame, *, paint_after_ms: int = 0) -> None:
        """Draw a moment; painting may wait, so that strips are not all painted in one go."""
        self._frame = frame
        if self._curves is None:
            self._make_curves()
        if self._curves is not None:
            self._curves.show_frame(frame)
        QTimer.singleShot(paint_after_ms, self, self.update)

    def set_cursor(self, seconds: float | None) -> None:
        """Mark a moment, or none."""
        if seconds != self._cursor:
            self._cursor = seconds
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        line = TYPE["caption"].line * self._looks.look.zoom
        return QSize(160, max(LEAST_HEIGHT, round(3 * line + 6 * _FRAME)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._curves is not None:
            self._curves.set_place(self._plot().toRect())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look, plot = self._looks.look, self._plot()
        painter.setPen(QPen(look.color("accent"), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(look.color("sunken"))
        painter.drawRoundedRect(plot.adjusted(-1, -1, 1, 1), _RADIUS, _RADIUS)
        if self._frame is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        for share in (0.0, 0.5, 1.0):
            self._paint_level(
                painter,
                QPen(look.color("border"), 1),
                share / self._frame.scales[0].top * self._frame.scales[0].highest_tick,
            )
        self._paint_times(painter)
        if self._frame.budget is not None:
            pen = series_pen(look, BUDGET_SERIES, width=1.2)
            self._paint_level(painter, pen, self._frame.budget / self._frame.scales[0].top)
        self._paint_ticks(painter)
        self._paint_lone_points(painter)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        plot = self._plot()
        x = event.position().x()
        if plot.left() <= x <= plot.right():
            self.pointed.emit((x - plot.left()) / plot.width() * self._span_seconds - self._span_seconds)
        else:
            self.pointed.emit(None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        at = 0.0 if self._cursor is None else self._cursor
        if key in _KEY_STEPS:
            self.pointed.emit(max(-self._span_seconds, min(0.0, at + _KEY_STEPS[key])))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.pointed.emit(-self._span_seconds if key is Qt.Key.Key_Home else 0.0)
        elif key is Qt.Key.Key_Escape and self._cursor is not None:
            self.pointed.emit(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.pointed.emit(None)
        self.update()

    def _make_curves(self) -> None:
        kind = plotted_curves()
        if kind is not None:
            self._curves = kind(self, self._styles, self._span_seconds)
            self._curves.apply_look(self._looks.look)
            self._curves.set_place(self._plot().toRect())

    def _on_look_changed(self) -> None:
        if self._curves is not None:
            self._curves.apply_look(self._looks.look)
        self.updateGeometry()
        self.update()

    def _plot(self) -> QRectF:
        width, height = self.width() - LEFT_AXIS - RIGHT_AXIS, self.height() - 2 * _FRAME
        return QRectF(LEFT_AXIS, _FRAME, max(1, width), max(1, height))

    def _level(self, share: float) -> float:
        plot = self._plot()
        return plot.bottom() - share * plot.height()

    def _paint_level(self, painter: QPainter, pen: QPen, share: float) -> None:
        plot = self._plot()
        painter.setPen(pen)
        painter.drawLine(QLineF(plot.left(), self._level(share), plot.right(), self._level(share)))

    def _paint_times(self, painter: QPainter) -> None:
        """Paint reading times, events and the cursor."""
        assert self._frame is not None
        look, plot = self._looks.look, self._plot()
        per_second = plot.width() / self._span_seconds
        for start, end in self._frame.shades:
            left = max(plot.left(), plot.right() + start * per_second)
            right = min(plot.right(), plot.right() + end * per_second)
            if right > left:
                box = QRectF(left, plot.top(), max(1.0, right - left), plot.height())
                painter.fillRect(box, series_color(look, BUDGET_SERIES, SHADE_ALPHA))
        pens = [(mark, QPen(look.color("text_faint"), 1, Qt.PenStyle.DotLine)) for mark in self._frame.marks]
        if self._cursor is not None:
            pens.append((self._cursor, QPen(look.color("text"), 1)))
        for seconds, pen in pens:
            if -self._span_seconds <= seconds <= 0:
                x = round(plot.right() + seconds * per_second)
                painter.setPen(pen)
                painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))

    def _paint_lone_points(self, painter: QPainter) -> None:
        """Paint the points no line reaches: an answer of one sample would not be seen."""
        assert self._frame is not None
        plot = self._plot()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for style, line, scale in zip(self._styles, self._frame.lines, self._frame.scales, strict=True):
            painter.setBrush(series_color(self._looks.look, style.series))
            for index in lone_points(line):
                seconds = float(self._frame.times[index])
                if -self._span_seconds <= seconds <= 0:
                    x = plot.right() + seconds * plot.width() / self._span_seconds
                    x = min(x, plot.right() - DOT_RADIUS)
                    painter.drawEllipse(
                        QPointF(x, self._level(float(line[index]) / scale.top)), DOT_RADIUS, DOT_RADIUS
                    )

    def _paint_ticks(self, painter: QPainter) -> None:
        assert self._frame is not None
        look, plot = self._looks.look, self._plot()
        painter.setFont(look.font("caption"))
        painter.setPen(look.color("text_faint"))
        height = TYPE["caption"].line * look.zoom
        sides = (
            (QRectF(0, 0, LEFT_AXIS - 5, height), Qt.AlignmentFlag.AlignRight),
            (QRectF(plot.right() + 5, 0, RIGHT_AXIS - 5, height), Qt.AlignmentFlag.AlignLeft),
        )
        for scale, (box, side) in zip(self._frame.scales, sides, strict=False):
            for tick in scale.ticks:
                top = self._level(tick / scale.top) - height / 2
                box.moveTop(max(0.0, min(self.height() - height, top)))
                painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, tick_text(tick))
