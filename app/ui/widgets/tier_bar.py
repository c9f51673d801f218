"""A thin bar: how much of one kind of memory something takes."""

from typing import Final

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.layer_facts import Tier
from app.ui.widgets.patterns import hatched_box, rounded

_HEIGHT: Final = 8
_LEAST_WIDTH: Final = 3.0


class TierBar(QWidget):
    """Filled in the colour of its tier, hatched for the disk. The figure stands beside it."""

    def __init__(self, looks: LookSource, tier: Tier) -> None:
        super().__init__()
        self._looks = looks
        self._tier = tier
        self._share = 0.0
        self.setFixedHeight(_HEIGHT)
        self.setMinimumWidth(40)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self.update)

    def show_share(self, amount_bytes: int, total_bytes: int) -> None:
        """Show how much of `total_bytes` is taken."""
        self._share = min(1.0, amount_bytes / total_bytes) if total_bytes > 0 else 0.0
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect())
        painter.setClipPath(rounded(box, _HEIGHT / 2))
        painter.fillRect(box, look.color("pressed"))
        if self._share <= 0:
            return
        box.setWidth(max(_LEAST_WIDTH, box.width() * self._share))
        if self._tier is Tier.DISK:
            hatched_box(painter, box, look, "tier_disk")
        else:
            painter.fillRect(box, look.color(f"tier_{self._tier.value}"))
