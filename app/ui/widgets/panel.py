"""A ground with a hairline on one side: rail, bars, lists and the side panel."""

from typing import Final

from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import LookSource

NO_EDGE: Final = ""


class Panel(QWidget):
    """Paints a surface of the palette and the line towards its neighbour."""

    def __init__(
        self, looks: LookSource, edge: str = NO_EDGE, ground: str = "surface", parent: QWidget | None = None
    ) -> None:
        """Take the side with the line (`left`, `right`, `top`, `bottom`) and the ground's palette name."""
        super().__init__(parent)
        self._panel_looks = looks
        self._edge = edge
        self._ground = ground
        looks.changed.connect(self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = self._panel_looks.look
        painter = QPainter(self)
        painter.fillRect(self.rect(), look.color(self._ground))
        line = self._line()
        if line is not None:
            painter.setPen(QPen(look.color("border"), 1))
            painter.drawLine(line)

    def _line(self) -> QLineF | None:
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        return {
            "left": QLineF(box.topLeft(), box.bottomLeft()),
            "right": QLineF(box.topRight(), box.bottomRight()),
            "top": QLineF(box.topLeft(), box.topRight()),
            "bottom": QLineF(box.bottomLeft(), box.bottomRight()),
        }.get(self._edge)
