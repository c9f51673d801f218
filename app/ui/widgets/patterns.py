"""The signs that stand beside colour: hatching for planned, notch for RAM, diagonals for disk."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPixmap, QPixmapCache, QTransform

from app.ui.theme.look import Look

HATCH_STEP: Final = 5.0
_GROUND_ALPHA: Final = 0.18
_NOTCH_WIDTH: Final = 3.0
_NOTCH_HEIGHT: Final = 6.0
_CELL_RADIUS: Final = 3.0
_TILE: Final = 4 * HATCH_STEP
"""Side of the picture that makes up a hatched brush: whole pixels on screens of quarter steps as well."""


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


def tier_cells(
    painter: QPainter,
    boxes: Sequence[QRectF],
    look: Look,
    tier: str,
    *,
    disk_share: float = 1.0,
    notch_every: float = 0,
) -> None:
    """Fill boxes of one height as `tier_box` does, with round corners.

    They are not clipped to their shape, and all that is alike is drawn together: a map has hundreds.
    """
    shows_ram = tier == "ram" or (tier == "disk" and disk_share < 1)
    if tier == "vram" or shows_ram:
        _fill_rounded(painter, boxes, look.color("tier_ram" if shows_ram else "tier_vram"))
    if shows_ram:
        notches = [notch for box in boxes for notch in _notch_boxes(box, notch_every)]
        painter.setBrush(look.color("raised"))
        painter.drawRects(notches)
    if tier != "disk" or not boxes:
        return
    painter.save()
    if shows_ram:
        on_disk = boxes[0].united(boxes[-1])
        on_disk.setTop(on_disk.bottom() - max(on_disk.height() * disk_share, HATCH_STEP))
        painter.setClipRect(on_disk)
    hatched = hatch_brush(look.color("tier_disk"), painter.device().devicePixelRatio())
    painter.setBrushOrigin(boxes[0].bottomLeft())
    for brush in (look.color("raised"), look.color("tier_disk", _GROUND_ALPHA), hatched):
        _fill_rounded(painter, boxes, brush)
    painter.restore()


def hatch_brush(color: QColor, ratio: float) -> QBrush:
    """Return the diagonals of `hatch` as a brush, for a device of so many pixels per point."""
    key = f"hatch {color.rgba()} {ratio}"
    tile = QPixmap()
    if not QPixmapCache.find(key, tile):
        size = round(_TILE * ratio)
        tile = QPixmap(size, size)
        tile.fill(Qt.GlobalColor.transparent)
        painter = QPainter(tile)
        painter.scale(size / _TILE, size / _TILE)
        hatch(painter, QRectF(0, 0, _TILE, _TILE), color)
        painter.end()
        QPixmapCache.insert(key, tile)
    brush = QBrush(tile)
    brush.setTransform(QTransform.fromScale(_TILE / tile.width(), _TILE / tile.height()))
    return brush


def rounded(box: QRectF, radius: float) -> QPainterPath:
    """Return `box` with round corners, for filling or clipping."""
    path = QPainterPath()
    radius = min(radius, box.width() / 2, box.height() / 2)
    path.addRoundedRect(box, radius, radius)
    return path


def _fill_rounded(painter: QPainter, boxes: Iterable[QRectF], brush: QBrush | QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(brush)
    for box in boxes:
        painter.drawRoundedRect(box, _CELL_RADIUS, _CELL_RADIUS)


def _notches(painter: QPainter, box: QRectF, color: QColor, every: float) -> None:
    for notch in _notch_boxes(box, every):
        painter.fillRect(notch, color)


def _notch_boxes(box: QRectF, every: float) -> Iterator[QRectF]:
    """Yield the notches of a box, as many as fit in; one in the middle for 0."""
    left, wide, high = box.left(), box.width(), box.height()
    count = max(1, int(wide / every)) if every else 1
    width = min(_NOTCH_WIDTH, wide / count / 2)
    top, height = box.top() + high * 0.15, min(_NOTCH_HEIGHT, high / 2)
    for index in range(count):
        yield QRectF(left + (index + 0.5) * wide / count - width / 2, top, width, height)
