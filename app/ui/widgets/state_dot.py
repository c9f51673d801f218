"""The dot before the model's state: its shape tells the state, its colour repeats it."""

from enum import Enum
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.model_view import ModelPhase
from app.ui.theme.look import LookSource

_SIZE: Final = 12


class DotShape(Enum):
    """How a state looks."""

    RING = "ring"
    HALF = "half"
    FILLED = "filled"
    SQUARE = "square"


_LOOKS: Final = {
    ModelPhase.NONE: (DotShape.RING, "text_faint"),
    ModelPhase.PLANNED: (DotShape.RING, "accent"),
    ModelPhase.READY: (DotShape.FILLED, "accent"),
    ModelPhase.FAILED: (DotShape.SQUARE, "danger"),
}
"""Every other phase is at work: half a dot."""


def dot_shape(phase: ModelPhase) -> DotShape:
    """Return the shape that stands for `phase`."""
    return _LOOKS.get(phase, (DotShape.HALF, ""))[0]


class StateDot(QWidget):
    """Ring = idle, half = at work, filled = ready, square = failed. The word stands beside it."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._phase = ModelPhase.NONE
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self._set_words)
        self._set_words()

    def show_phase(self, phase: ModelPhase) -> None:
        """Show what the model is doing."""
        if phase is not self._phase:
            self._phase = phase
            self._set_words()

    def sizeHint(self) -> QSize:
        return QSize(_SIZE, _SIZE)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        shape, color_name = _LOOKS.get(self._phase, (DotShape.HALF, "accent"))
        color = self._looks.look.color(color_name)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate((self.width() - _SIZE) / 2, (self.height() - _SIZE) / 2)
        box = QRectF(2, 2, _SIZE - 4, _SIZE - 4)
        painter.setPen(QPen(color, 1.8))
        painter.setBrush(color if shape in (DotShape.FILLED, DotShape.SQUARE) else Qt.BrushStyle.NoBrush)
        if shape is DotShape.SQUARE:
            painter.drawRect(box)
            return
        painter.drawEllipse(box)
        if shape is DotShape.HALF:
            painter.setBrush(color)
            painter.drawPie(box, 90 * 16, -180 * 16)

    def _set_words(self) -> None:
        self.setAccessibleName(self._looks.look.text(f"ui.state.{self._phase.value}"))
        self.update()
