"""The little square of a legend."""

from typing import Final

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.patterns import hatched_box, rounded, tier_box

_SIZE: Final = 12


class Swatch(QWidget):
    """A square as the maps and bars draw it; the word stands beside it, so it has none of its own."""

    def __init__(self, looks: LookSource, what: str) -> None:
        """`what` is a tier (`vram`, `ram`, `disk`), `planned`, or the name of a plain colour."""
        super().__init__()
        self._looks = looks
        self._what = what
        self.setFixedSize(_SIZE, _SIZE)
        looks.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(1, 1, _SIZE - 2, _SIZE - 2)
        painter.setClipPath(rounded(box, 2.5))
        if self._what in ("vram", "ram", "disk"):
            tier_box(painter, box, look, self._what)
        elif self._what == "planned":
            hatched_box(painter, box, look, "text_soft")
        else:
            painter.fillRect(box, look.color(self._what))
