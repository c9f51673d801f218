"""The rail on the left edge: the places of the window."""

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QVBoxLayout, QWidget

from app.ui.theme.icons import paint_icon, paint_logo
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.widgets.panel import Panel

LOGO_PIXELS: Final = 34
ICON_PIXELS: Final = 22
BUTTON_WIDTH: Final = 56
BUTTON_PADDING: Final = 7
CORNER: Final = 10


@dataclass(frozen=True, slots=True)
class Place:
    """One page of the window.

    Attributes:
        key: Also the name of its icon and the end of its text key.
        is_at_foot: Sits at the lower end of the rail.
    """

    key: str
    is_at_foot: bool = False


PLACES: Final = (Place("chat"), Place("models"), Place("settings", is_at_foot=True))
"""In the order of the short cuts Ctrl+1, Ctrl+2, ...; a new place is a new row here."""


def place_shortcut(index: int) -> str:
    """Return the key of the place at `index`."""
    return f"Ctrl+{index + 1}"


class Rail(Panel):
    """Shows the places and which one is open.

    Signals:
        place_chosen: `key` of the place the person wants.
    """

    place_chosen = Signal(str)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, "right", parent=parent)
        self._looks = looks
        self._logo = _Logo(looks)
        self._buttons = {place.key: _PlaceButton(looks, place.key) for place in PLACES}
        self._group = QButtonGroup(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 14, 6, 10)
        layout.setSpacing(6)
        layout.addWidget(self._logo, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(12)
        for place in PLACES:
            if place.is_at_foot:
                layout.addStretch(1)
            self._add(layout, place)
        layout.addStrut(LAYOUT["rail"] - 12)
        looks.changed.connect(self._apply_look)
        self._apply_look()
        self.set_place(PLACES[0].key)

    def set_place(self, key: str) -> None:
        """Mark the place that is open."""
        self._buttons[key].setChecked(True)

    def button(self, key: str) -> QAbstractButton:
        """Return the button of a place."""
        return self._buttons[key]

    def _add(self, layout: QVBoxLayout, place: Place) -> None:
        button = self._buttons[place.key]
        button.clicked.connect(lambda _checked=False, key=place.key: self.place_chosen.emit(key))
        self._group.addButton(button)
        layout.addWidget(button, alignment=Qt.AlignmentFlag.AlignHCenter)

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setAccessibleName(look.text("ui.rail.name"))
        self._logo.setAccessibleName(look.text("ui.rail.logo"))
        for index, place in enumerate(PLACES):
            text = look.text(f"ui.rail.{place.key}")
            button = self._buttons[place.key]
            button.setText(text)
            button.setAccessibleName(text)
            button.setToolTip(f"{text}  {place_shortcut(index)}")
            button.updateGeometry()


class _Logo(QWidget):
    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.setFixedSize(LOGO_PIXELS, LOGO_PIXELS)
        looks.changed.connect(self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        paint_logo(QPainter(self), QRectF(self.rect()), self._looks.look.colors)


class _PlaceButton(QAbstractButton):
    """Icon over word; the open place has a tinted ground and a heavier word."""

    def __init__(self, looks: LookSource, icon_name: str) -> None:
        super().__init__()
        self._looks = looks
        self._icon_name = icon_name
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        looks.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._looks.look.font("caption", 600))
        height = 2 * BUTTON_PADDING + self._icon_size() + 2 + metrics.height()
        return QSize(max(BUTTON_WIDTH, metrics.horizontalAdvance(self.text()) + 8), height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = self._looks.look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        is_open, is_hot = self.isChecked(), self.underMouse()
        if is_open or is_hot:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent_soft" if is_open else "hover"))
            painter.drawRoundedRect(box, CORNER, CORNER)
        if self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, CORNER, CORNER)
        ink = "accent_text" if is_open else "text" if is_hot else "text_soft"
        size = self._icon_size()
        icon_box = QRectF((self.width() - size) / 2, BUTTON_PADDING, size, size)
        paint_icon(painter, self._icon_name, icon_box, look.color(ink))
        painter.setPen(look.color(ink))
        painter.setFont(look.font("caption", 600 if is_open else 500))
        words = QRectF(0, icon_box.bottom() + 2, self.width(), self.height() - icon_box.bottom() - 5)
        painter.drawText(words, Qt.AlignmentFlag.AlignCenter, self.text())

    def _icon_size(self) -> int:
        return round(ICON_PIXELS * self._looks.look.zoom)
