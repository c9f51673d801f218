"""The signs that stand beside colour: hatching for planned, notch for RAM, diagonals for disk."""

from typing import Final

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from app.ui.theme.look import Look

HATCH_STEP: Final = 5.0
_GROUND_ALPHA: Final = 0.18
_NOTCH_WIDTH: Final = 3.0
_NOTCH_HEIGHT: Final = 6.0


def hatch(painter: QPainter, box: QRectF, color: QColor, step: float = HATCH_STEP) -> None:
    """Draw rising diagonals over `box`."""
    painter.save()
    painter.setClipRect(box, Qt.ClipOperation.IntersectClip)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, 1.3))
    count = int((box.width() + box.height()) / step) + 2
    starts = [box.left() - box.height() + step * index for index in range(count)]
    painter.drawLines([QLineF(x, box.bottom(), x + box.height(), box.top()) for x in starts])
    painter.restore()


def hatched_box(painter: QPainter, box: QRectF, look: Look, color_name: str) -> None:
    """Fill `box` as planned or on disk: a tint of the colour under its diagonals."""
    painter.fillRect(box, look.color(color_name, _GROUND_ALPHA))
    hatch(painter, box, look.color(color_name))


def tier_box(
    painter: QPainter, box: QRectF, look: Look, tier: str, *, disk_share: float = 1.0, notch_every: float = 0
) -> None:
    """Fill `box` in a memory tier: `vram` full, `ram` with notches, `disk` with diagonals.

    Args:
        disk_share: Of a `disk` box, how much is on disk; the rest of its height is drawn as RAM.
        notch_every: Distance of the notches when the box stands for several; 0 for one in the middle.
    """
    if tier == "vram":
        painter.fillRect(box, look.color("tier_vram"))
        return
    on_disk = QRectF(box)
    if tier == "ram" or disk_share < 1:
        painter.fillRect(box, look.color("tier_ram"))
        _notches(painter, box, look.color("raised"), notch_every)
        on_disk.setTop(box.bottom() - max(box.height() * disk_share, HATCH_STEP))
    if tier == "disk":
        painter.fillRect(on_disk, look.color("raised"))
        hatched_box(painter, on_disk, look, "tier_disk")


def rounded(box: QRectF, radius: float) -> QPainterPath:
    """Return `box` with round corners, for filling or clipping."""
    path = QPainterPath()
    radius = min(radius, box.width() / 2, box.height() / 2)
    path.addRoundedRect(box, radius, radius)
    return path


def _notches(painter: QPainter, box: QRectF, color: QColor, every: float) -> None:
    count = max(1, int(box.width() / every)) if every else 1
    width = min(_NOTCH_WIDTH, box.width() / count / 2)
    top = box.top() + box.height() * 0.15
    for index in range(count):
        center = box.left() + (index + 0.5) * box.width() / count
        painter.fillRect(QRectF(center - width / 2, top, width, min(_NOTCH_HEIGHT, box.height() / 2)), color)
