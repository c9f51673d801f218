"""Words and signs that are only looked at."""

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle


class TextLabel(QLabel):
    """Text in a type style of `tokens.TYPE`; `ink` is soft, faint, accent, info, success, warning, danger.

    Plain text always: names of files and models may hold marks that Qt would read as rich text.
    """

    def __init__(self, style: str = "body", ink: str | None = None, *, wrap: bool = False) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("style", style)
        self.setProperty("ink", ink)
        if wrap:
            self.setWordWrap(True)
            policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
            policy.setHeightForWidth(True)
            self.setSizePolicy(policy)

    def set_ink(self, ink: str | None) -> None:
        """Change the colour."""
        if ink != self.property("ink"):
            self.setProperty("ink", ink)
            restyle(self)


class ElidedLabel(TextLabel):
    """One line that is shortened where there is no room; the whole text is then the tool tip."""

    def __init__(
        self,
        style: str = "body",
        ink: str | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(style, ink)
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance("…") * 2, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.setFont(self.font())
        box = self.contentsRect()
        painter.drawText(box, self.alignment() | Qt.TextFlag.TextSingleLine, self._shown(box))

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip:
            is_cut = self._shown(self.contentsRect()) != self.text()
            self.setToolTip(self.text() if is_cut else "")
        return super().event(event)

    def _shown(self, box: QRect) -> str:
        return self.fontMetrics().elidedText(self.text(), self._mode, box.width())


class Chip(QLabel):
    """A small rounded word that names a state: neutral, accent, info, success, warning or danger."""

    def __init__(self, tone: str = "neutral") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("chip", tone)
        self.setProperty("style", "caption")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_tone(self, tone: str) -> None:
        """Change the colours."""
        if tone != self.property("chip"):
            self.setProperty("chip", tone)
            restyle(self)


class KeyCap(QLabel):
    """A key of the keyboard."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("key", True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)


class IconLabel(QWidget):
    """An icon beside words that say the same: readers of the screen pass it by."""

    def __init__(self, looks: LookSource, name: str, ink: str = "text_soft", size: int = 20) -> None:
        """Show icon `name` in palette colour `ink`."""
        super().__init__()
        self._looks = looks
        self._name = name
        self._ink = ink
        self._size = size
        self._on_look_changed()
        looks.changed.connect(self._on_look_changed)

    def set_icon(self, name: str, ink: str | None = None) -> None:
        """Show another icon; without `ink` in the same colour."""
        self._name, self._ink = name, ink or self._ink
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        paint_icon(painter, self._name, QRectF(self.rect()), self._looks.look.color(self._ink))

    def _on_look_changed(self) -> None:
        size = round(self._size * self._looks.look.zoom)
        self.setFixedSize(size, size)
        self.update()
