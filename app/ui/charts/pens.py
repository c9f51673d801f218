"""How a curve is drawn: colour and dash together, in charts and in their legends."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import SERIES_DASH

AREA_ALPHA = 0.16
SHADE_ALPHA = 0.18
BUDGET_SERIES = 5


def series_color(look: Look, series: int, alpha: float = 1.0) -> QColor:
    """Return the colour of a series, from `Palette.series`."""
    color = QColor(look.colors.series[series])
    color.setAlphaF(alpha)
    return color


def series_pen(look: Look, series: int, *, width: float = 1.8, is_dashed: bool = True) -> QPen:
    """Return the pen of a series; only a curve that is alone in its strip may do without its dash."""
    pen = QPen(series_color(look, series), width)
    pen.setCosmetic(True)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if is_dashed and SERIES_DASH[series]:
        pen.setDashPattern(list(SERIES_DASH[series]))
    return pen


class LineKey(QWidget):
    """A short stroke of a legend, drawn like its curve. The word stands beside it."""

    def __init__(self, looks: LookSource, series: int, *, is_dashed: bool) -> None:
        super().__init__()
        self._looks = looks
        self._series = series
        self._is_dashed = is_dashed
        self.setFixedSize(18, 12)
        looks.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setPen(series_pen(self._looks.look, self._series, width=2, is_dashed=self._is_dashed))
        painter.drawLine(0, 6, 18, 6)


class ShadeKey(QWidget):
    """A small area of a legend, drawn like the shaded times of a strip."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.setFixedSize(14, 12)
        looks.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        look = self._looks.look
        painter.setPen(QPen(series_color(look, BUDGET_SERIES), 1))
        painter.setBrush(series_color(look, BUDGET_SERIES, SHADE_ALPHA))
        painter.drawRect(QRectF(0.5, 0.5, 13, 11))
