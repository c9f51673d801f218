"""The count of findings in the status bar, as a button."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from app.findings import Severity
from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource

ICON_PIXELS: Final = 14
_PADDING: Final = 6
_GAP: Final = 5
_HEIGHT: Final = 24

_SIGNS: Final = {
    Severity.ERROR: ("error", "danger_text"),
    Severity.WARNING: ("warning", "warning_text"),
    Severity.NOTE: ("info", "text_faint"),
    None: ("ok", "text_faint"),
}


class FindingsButton(QAbstractButton):
    """Sign and words in the colour of the gravest finding."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._severity: Severity | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self.updateGeometry)

    def show_count(self, text: str, severity: Severity | None) -> None:
        """Show how many there are; None = nothing was found."""
        self._severity = severity
        self.setText(text)
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._looks.look.font("caption"))
        width = metrics.horizontalAdvance(self.text()) + ICON_PIXELS + _GAP + 2 * _PADDING
        return QSize(width, max(_HEIGHT, metrics.height() + 6))

    def paintEvent(self, _event: QPaintEvent) -> None:
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self.underMouse() or self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(look.color("hover"))
            painter.drawRoundedRect(box, 6, 6)
        icon_name, ink = _SIGNS[self._severity]
        sign = QRectF(_PADDING, (self.height() - ICON_PIXELS) / 2, ICON_PIXELS, ICON_PIXELS)
        paint_icon(painter, icon_name, sign, look.color(ink))
        painter.setPen(look.color(ink))
        painter.setFont(look.font("caption"))
        words = box.adjusted(_PADDING + ICON_PIXELS + _GAP - 1, 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self.text())
