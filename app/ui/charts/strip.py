"""One strip of the monitor: up to two curves over the common time axis, each with a scale of its own."""

from typing import Final

from PySide6.QtCore import QEvent, QLineF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.charts.curves import Plot, paint_curve
from app.ui.charts.frame import CurveStyle, StripFrame
from app.ui.charts.pens import BUDGET_SERIES, SHADE_ALPHA, series_color, series_pen
from app.ui.charts.scale import Scale, tick_text
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import TYPE

LEFT_AXIS: Final = 32
RIGHT_AXIS: Final = 30
"""The same for every strip, with or without a second scale: a moment has one place across all of them."""

LEAST_HEIGHT: Final = 62
_FRAME: Final = 2
"""Room for the focus ring above and below the curves."""
_RADIUS: Final = 6.0
_KEY_STEPS: Final = {
    Qt.Key.Key_Left: -1.0,
    Qt.Key.Key_Right: 1.0,
    Qt.Key.Key_PageUp: -10.0,
    Qt.Key.Key_PageDown: 10.0,
}


class StripChart(QWidget):
    """The newest moment is at the right edge.

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

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look, plot = self._looks.look, self._plot()
        painter.setPen(QPen(look.color("accent"), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(look.color("sunken"))
        painter.drawRoundedRect(plot.box.adjusted(-1, -1, 1, 1), _RADIUS, _RADIUS)
        if self._frame is None:
            return
        self._paint_ticks(painter, plot, self._frame.scales)
        painter.setClipRect(plot.box)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        first = self._frame.scales[0]
        for tick in first.ticks:
            self._paint_level(painter, QPen(look.color("border"), 1), plot, tick / first.top)
        self._paint_times(painter, plot, self._frame)
        if self._frame.budget is not None:
            pen = series_pen(look, BUDGET_SERIES, width=1.2)
            self._paint_level(painter, pen, plot, self._frame.budget / first.top)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for style, line, scale in zip(self._styles, self._frame.lines, self._frame.scales, strict=True):
            paint_curve(painter, look, style, plot, (self._frame.times, line / scale.top))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        box = self._plot().box
        x = event.position().x()
        if box.left() <= x <= box.right():
            self.pointed.emit((x - box.right()) / box.width() * self._span_seconds)
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

    def _on_look_changed(self) -> None:
        self.updateGeometry()
        self.update()

    def _plot(self) -> Plot:
        width, height = self.width() - LEFT_AXIS - RIGHT_AXIS, self.height() - 2 * _FRAME
        return Plot(QRectF(LEFT_AXIS, _FRAME, max(1, width), max(1, height)), self._span_seconds)

    def _paint_level(self, painter: QPainter, pen: QPen, plot: Plot, share: float) -> None:
        painter.setPen(pen)
        painter.drawLine(QLineF(plot.box.left(), plot.level(share), plot.box.right(), plot.level(share)))

    def _paint_times(self, painter: QPainter, plot: Plot, frame: StripFrame) -> None:
        """Paint reading times, events and the cursor."""
        look, box = self._looks.look, plot.box
        for start, end in frame.shades:
            left = max(box.left(), plot.x(start))
            right = min(box.right(), plot.x(end))
            if right > left:
                shade = QRectF(left, box.top(), max(1.0, right - left), box.height())
                painter.fillRect(shade, series_color(look, BUDGET_SERIES, SHADE_ALPHA))
        pens = [(mark, QPen(look.color("text_faint"), 1, Qt.PenStyle.DotLine)) for mark in frame.marks]
        if self._cursor is not None:
            pens.append((self._cursor, QPen(look.color("text"), 1)))
        for seconds, pen in pens:
            if -self._span_seconds <= seconds <= 0:
                x = round(plot.x(seconds))
                painter.setPen(pen)
                painter.drawLine(QLineF(x, box.top(), x, box.bottom()))

    def _paint_ticks(self, painter: QPainter, plot: Plot, scales: tuple[Scale, ...]) -> None:
        look = self._looks.look
        painter.setFont(look.font("caption"))
        painter.setPen(look.color("text_faint"))
        height = TYPE["caption"].line * look.zoom
        sides = (
            (QRectF(0, 0, LEFT_AXIS - 5, height), Qt.AlignmentFlag.AlignRight),
            (QRectF(plot.box.right() + 5, 0, RIGHT_AXIS - 5, height), Qt.AlignmentFlag.AlignLeft),
        )
        for scale, (box, side) in zip(scales, sides, strict=False):
            for tick in scale.ticks:
                top = plot.level(tick / scale.top) - height / 2
                box.moveTop(max(0.0, min(self.height() - height, top)))
                painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, tick_text(tick))
