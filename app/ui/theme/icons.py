"""Icons and the mark, painted from `glyphs.py` in a colour of the theme."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap, QPixmapCache

from app.ui.theme.glyphs import GLYPHS, GRID, LOGO, LOGO_GRID, STROKE
from app.ui.theme.paths import painter_path
from app.ui.theme.tokens import Palette

Ink = QColor | str
"""A colour, or `#RRGGBB`."""

_SCALES = (1.0, 1.5, 2.0, 3.0)
"""Of screens a QIcon has a pixmap for; between them Qt scales the next larger one down."""


def paint_icon(painter: QPainter, name: str, box: QRectF, color: Ink, turn: float = 0.0) -> None:
    """Paint icon `name` into `box`, turned clockwise by `turn` degrees.

    Raises:
        KeyError: no icon of this name.
    """
    glyph = GLYPHS[name]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _map_grid(painter, box, GRID, turn)
    pen = QPen(QColor(color), STROKE)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.strokePath(painter_path(glyph.line), pen)
    painter.fillPath(painter_path(glyph.fill), QColor(color))
    painter.restore()


def paint_logo(painter: QPainter, box: QRectF, colors: Palette) -> None:
    """Paint the mark into `box`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _map_grid(painter, box, LOGO_GRID, 0.0)
    for part in LOGO:
        color = QColor(getattr(colors, part.color)) if part.color else QColor(Qt.GlobalColor.black)
        color.setAlphaF(part.opacity)
        painter.fillPath(painter_path(part.path), color)
    painter.restore()


def icon_pixmap(name: str, color: Ink, size: int = 20, scale: float = 1.0, turn: float = 0.0) -> QPixmap:
    """Return icon `name`, `size` wide; `scale` is the screen's device pixel ratio."""
    key = f"moxie {name} {QColor(color).rgba()} {size} {scale} {turn}"
    pixmap = QPixmap()
    if QPixmapCache.find(key, pixmap):
        return pixmap
    pixmap = _empty(size, scale)
    painter = QPainter(pixmap)
    paint_icon(painter, name, QRectF(0, 0, size, size), color, turn)
    painter.end()
    QPixmapCache.insert(key, pixmap)
    return pixmap


def icon(name: str, color: Ink, disabled: Ink | None = None, size: int = 20, turn: float = 0.0) -> QIcon:
    """Return a QIcon for all screens; `disabled` is its tint on a disabled control, else the same."""
    result = QIcon()
    for scale in _SCALES:
        result.addPixmap(icon_pixmap(name, color, size, scale, turn))
        result.addPixmap(icon_pixmap(name, disabled or color, size, scale, turn), QIcon.Mode.Disabled)
    return result


def logo_pixmap(colors: Palette, size: int = 32, scale: float = 1.0) -> QPixmap:
    """Return the mark in the accent of `colors`, `size` wide."""
    pixmap = _empty(size, scale)
    painter = QPainter(pixmap)
    paint_logo(painter, QRectF(0, 0, size, size), colors)
    painter.end()
    return pixmap


def _empty(size: int, scale: float) -> QPixmap:
    pixmap = QPixmap(round(size * scale), round(size * scale))
    pixmap.fill(Qt.GlobalColor.transparent)
    pixmap.setDevicePixelRatio(scale)
    return pixmap


def _map_grid(painter: QPainter, box: QRectF, grid: float, turn: float) -> None:
    painter.translate(box.center())
    painter.rotate(turn)
    painter.scale(box.width() / grid, box.height() / grid)
    painter.translate(-grid / 2, -grid / 2)
