"""The round button of the composer: painted, as its shape is its own."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource

_SIZE: Final = 36
_ICON: Final = 20


class RoundButton(QAbstractButton):
    """A disc with an icon, primary or secondary."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._icon_name = "send"
        self._kind = "primary"
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        looks.changed.connect(self.updateGeometry)

    @property
    def icon_name(self) -> str:
        """What is painted: `send` or `stop`."""
        return self._icon_name

    def show_action(self, icon_name: str, kind: str, words: str, shortcut: str) -> None:
        """Say what a click does."""
        self._icon_name, self._kind = icon_name, kind
        self.setAccessibleName(words)
        self.setAccessibleDescription(shortcut)
        self.setToolTip(f"{words}  {shortcut}")
        self.update()

    def sizeHint(self) -> QSize:
        size = round(_SIZE * self._looks.look.zoom)
        return QSize(size, size)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground, outline, ink = self._colors()
        width = 2 if self.hasFocus() else 1
        painter.setPen(QPen(look.color(outline), width))
        painter.setBrush(look.color(ground))
        edge = width / 2
        painter.drawEllipse(QRectF(self.rect()).adjusted(edge, edge, -edge, -edge))
        size = round(_ICON * look.zoom)
        box = QRectF((self.width() - size) / 2, (self.height() - size) / 2, size, size)
        paint_icon(painter, self._icon_name, box, look.color(ink))

    def _colors(self) -> tuple[str, str, str]:
        """Ground, outline and ink."""
        if not self.isEnabled():
            return "sunken", "border", "text_faint"
        if self._kind == "primary":
            ground = "accent_pressed" if self.isDown() else "accent_hover" if self.underMouse() else "accent"
            return ground, "text" if self.hasFocus() else ground, "on_accent"
        ground = "pressed" if self.isDown() else "hover" if self.underMouse() else "raised"
        return ground, "accent" if self.hasFocus() else "border_strong", "text_soft"
