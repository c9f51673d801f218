"""What a model thought: one line that unfolds."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.markdown.part import Part
from app.ui.markdown.parts import PartEvents
from app.ui.markdown.selection import SelectionOwner
from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource
from app.ui.views.answer_body import AnswerBody

_LINE: Final = 36
_RADIUS: Final = 10
_SIDE: Final = 12


class ReasoningFold(Part):
    """The line, and below it the thoughts when unfolded; they are drawn only then.

    Signals:
        height_changed: `fit` gives another height now.
    """

    height_changed = Signal()

    def __init__(
        self, looks: LookSource, owner: SelectionOwner, events: PartEvents, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._looks = looks
        self._text = ""
        self._is_streaming = False
        self._line = _FoldLine(looks)
        self._line.setParent(self)
        self._line.toggled.connect(self._on_toggled)
        self._body = AnswerBody(looks, owner, events, self, "text_soft")
        self._body.hide()
        self._body.height_changed.connect(self.height_changed)

    @property
    def is_open(self) -> bool:
        """The thoughts are shown."""
        return self._line.isChecked()

    def set_open(self, *, is_open: bool) -> None:
        """Show or hide the thoughts."""
        self._line.setChecked(is_open)

    def show_reasoning(self, text: str, seconds: float | None) -> None:
        """Show finished thoughts."""
        self._text, self._is_streaming = text, False
        self._line.set_words(self._headline(seconds))
        if self.is_open:
            self._body.show_markdown(text)

    def start_stream(self, text: str) -> None:
        """Show thoughts to which more is added."""
        self._text, self._is_streaming = text, True
        self._line.set_words(self._looks.look.text("ui.chat.thinking"))
        if self.is_open:
            self._body.start_stream(text)

    def append(self, text: str) -> None:
        """Add streamed thoughts."""
        if self.is_open:
            self._body.append(text)
        self._text += text  # CPython appends in place while nobody else holds the string

    def end_thinking(self, seconds: float | None) -> None:
        """Say that the answer has begun."""
        if self._is_streaming:
            self._is_streaming = False
            self._body.end_stream()
            self._line.set_words(self._headline(seconds))

    def fit(self, width: int) -> int:
        zoom = self._looks.look.zoom
        line = round(_LINE * zoom)
        self._line.setGeometry(0, 0, width, line)
        height = line
        if self.is_open:
            self._body.move(_SIDE, line + 6)
            height += 6 + self._body.fit(width - 2 * _SIDE) + 12
        self.resize(width, height)
        return height

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        if self.is_open:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self._looks.look.color("border"), 1))
            painter.setBrush(self._looks.look.color("surface"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)

    def _headline(self, seconds: float | None) -> str:
        if seconds is None:
            return self._looks.look.text("ui.chat.thought")
        return self._looks.look.text("ui.chat.thought_for", seconds=max(1, round(seconds)))

    def _on_toggled(self, is_open: bool) -> None:
        self._body.setVisible(is_open)
        if is_open and self._is_streaming:
            self._body.start_stream(self._text)
        elif is_open:
            self._body.show_markdown(self._text)
        self.height_changed.emit()


class _FoldLine(QAbstractButton):
    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_words(self, text: str) -> None:
        self.setText(text)
        self.setAccessibleName(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, round(_LINE * self._looks.look.zoom))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        has_ring = self.hasFocus()
        width = 2 if has_ring else 1
        edge = width / 2
        painter.setPen(QPen(look.color("accent" if has_ring else "border"), width))
        is_open = self.isChecked()
        painter.setBrush(look.color("hover" if self.underMouse() else "surface"))
        if not is_open or self.underMouse() or has_ring:  # else the frame round line and thoughts is enough
            box = QRectF(self.rect()).adjusted(edge, edge, -edge, -edge)
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        size = round(18 * look.zoom)
        middle = self.height() / 2
        paint_icon(painter, "think", QRectF(_SIDE, middle - size / 2, size, size), look.color("text_soft"))
        painter.setFont(look.font("label"))
        painter.setPen(look.color("text"))
        room = QRectF(_SIDE + size + 8, 0, self.width() - 90, self.height())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())
        sign = round(16 * look.zoom)
        place = QRectF(self.width() - sign - 10, middle - sign / 2, sign, sign)
        paint_icon(painter, "down" if is_open else "right", place, look.color("text_faint"))
