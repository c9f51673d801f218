"""The button that names the model and opens the palette."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.gguf.facts import ModelFacts
from app.ui.model_view import ModelView
from app.ui.theme.icons import paint_icon
from app.ui.theme.look import Look, LookSource
from app.ui.views.state_words import model_name

SHORTCUT: Final = "Ctrl+L"
CORNER: Final = 10
WIDTH: Final = 300
WIDTH_MOST: Final = 460
"""Long names may take this much before they are elided."""
WIDTH_LEAST: Final = 190
ICON_PIXELS: Final = 22
ARROW_PIXELS: Final = 16
TEXT_LEFT: Final = 44
TEXT_RIGHT: Final = 34


def facts_line(look: Look, facts: ModelFacts) -> str:
    """Return what is known of quantization, size, layers and experts, in one line."""
    known = [facts.quantization_name] if facts.quantization_name else []
    if facts.size_bytes:
        known.append(look.text("ui.model_bar.size", size=facts.size_bytes))
    layers = facts.trunk_layers or facts.block_count
    if layers:
        key = "ui.model_bar.moe_layers" if facts.is_moe else "ui.model_bar.dense_layers"
        known.append(look.text(key, layers=layers, experts=facts.expert_count))
    return look.text("ui.model_bar.separator").join(known)


class ModelPicker(QAbstractButton):
    """Two lines: the model's name, and what it is; long ones are elided and whole in the tool tip."""

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._view = ModelView()
        self._name = ""
        self._detail = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        looks.changed.connect(self._set_texts)
        self._set_texts()

    def show_view(self, view: ModelView) -> None:
        """Show which model it is."""
        self._view = view
        self._set_texts()

    def texts(self) -> tuple[str, str]:
        """Return both lines in full."""
        return self._name, self._detail

    def sizeHint(self) -> QSize:
        zoom = max(1.0, self._looks.look.zoom)
        least, most = round(WIDTH * zoom), round(WIDTH_MOST * zoom)
        return QSize(min(most, max(least, self._needed_width())), self._height())

    def minimumSizeHint(self) -> QSize:
        return QSize(WIDTH_LEAST, self._height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = self._looks.look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        outline = "accent" if self.hasFocus() else "control" if self.underMouse() else "border"
        painter.setPen(QPen(look.color(outline), 2 if self.hasFocus() else 1))
        painter.setBrush(look.color("pressed" if self.isDown() else "raised"))
        painter.drawRoundedRect(box, CORNER, CORNER)
        middle = self.height() / 2
        icon_box = QRectF(12, middle - ICON_PIXELS / 2, ICON_PIXELS, ICON_PIXELS)
        paint_icon(painter, "models", icon_box, look.color("accent_text"))
        arrow = QRectF(self.width() - 27, middle - ARROW_PIXELS / 2, ARROW_PIXELS, ARROW_PIXELS)
        paint_icon(painter, "down", arrow, look.color("text_faint"))
        self._paint_texts(painter)

    def _paint_texts(self, painter: QPainter) -> None:
        look = self._looks.look
        width = self.width() - TEXT_LEFT - TEXT_RIGHT
        lines = ((self._name, "subtitle", "text"), (self._detail, "caption", "text_faint"))
        heights = [QFontMetrics(look.font(style)).height() for _text, style, _ink in lines]
        top = (self.height() - sum(heights) - 1) / 2
        for (text, style, ink), height in zip(lines, heights, strict=True):
            font = look.font(style)
            painter.setFont(font)
            painter.setPen(look.color(ink))
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideMiddle, width)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(TEXT_LEFT, top, width, height), flags, shown)
            top += height + 1

    def _needed_width(self) -> int:
        lines = ((self._name, "subtitle"), (self._detail, "caption"))
        widths = [QFontMetrics(self._looks.look.font(style)).horizontalAdvance(text) for text, style in lines]
        return max(widths) + 1 + TEXT_LEFT + TEXT_RIGHT

    def _height(self) -> int:
        look = self._looks.look
        return sum(QFontMetrics(look.font(style)).height() for style in ("subtitle", "caption")) + 16

    def _set_texts(self) -> None:
        look, view = self._looks.look, self._view
        name = model_name(view)
        self._name = name or look.text("ui.model_bar.no_model")
        if name is None:
            self._detail = look.text("ui.model_bar.no_model_detail")
        elif view.facts is None:
            self._detail = look.text("ui.model_bar.checking_detail")
        else:
            self._detail = facts_line(look, view.facts)
        says = look.text("ui.model_bar.pick")
        self.setAccessibleName(says)
        self.setAccessibleDescription(f"{self._name}. {self._detail}")
        path = view.facts.path if view.facts is not None else view.path
        lines = (f"{says}  {SHORTCUT}", self._name, path.name if path is not None else "", self._detail)
        self.setToolTip("\n".join(filter(None, lines)))
        self.updateGeometry()
        self.update()
