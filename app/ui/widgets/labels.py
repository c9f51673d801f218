"""Words and signs that are only looked at."""

import re
from math import ceil
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.theme.tokens import TYPE

_CHINESE = re.compile("[\u3400-\u9fff]")
_CHINESE_LINE: Final = 1.6
_WRAPPED_EMS: Final = 24
_LEAST_EMS: Final = 4
"""Width wrapped text asks for, and the least it takes, in heights of its font."""


class TextLabel(QLabel):
    """Text in a type style of `tokens.TYPE`; `ink` is soft, faint, accent, info, success, warning, danger.

    Plain text always: names of files and models may hold marks that Qt would read as rich text. Wrapped text
    has the line of its style, a larger one where it is Chinese, and breaks long paths anywhere.
    """

    def __init__(self, style: str = "body", ink: str | None = None, *, wrap: bool = False) -> None:
        super().__init__()
        self._style = TYPE[style]
        self._heights: dict[int, int] = {}  # of the text by width: layouts ask many times
        self._hint_size: QSize | None = None  # likewise
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("style", style)
        self.setProperty("ink", ink)
        self._is_wrapped = wrap  # kept here: layouts ask thousands of times
        self._can_be_marked = False
        if wrap:
            self.setWordWrap(True)
            policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
            policy.setHeightForWidth(True)
            self.setSizePolicy(policy)

    def setTextInteractionFlags(self, flags: Qt.TextInteractionFlag) -> None:
        self._can_be_marked = flags != Qt.TextInteractionFlag.LinksAccessibleByMouse
        super().setTextInteractionFlags(flags)

    def set_ink(self, ink: str | None) -> None:
        """Change the colour."""
        if ink != self.property("ink"):
            self.setProperty("ink", ink)
            restyle(self)

    def setText(self, text: str) -> None:
        if text != self.text():
            self._forget_sizes()
            super().setText(text)

    def changeEvent(self, event: QEvent) -> None:
        self._forget_sizes()
        super().changeEvent(event)

    def heightForWidth(self, width: int) -> int:
        if not self._wraps_itself():
            return super().heightForWidth(width)
        if width not in self._heights:
            margins = self.contentsMargins()
            inner = width - margins.left() - margins.right()
            height = self._lines(max(1, inner))[1]
            self._heights[width] = ceil(height) + margins.top() + margins.bottom()
        return self._heights[width]

    def sizeHint(self) -> QSize:
        if not self._wraps_itself():
            return super().sizeHint()
        if self._hint_size is None:
            self._hint_size = self._measured()
        return self._hint_size

    def _measured(self) -> QSize:
        margins = self.contentsMargins()
        lines = self.text().split("\n")
        widest = max(self.fontMetrics().horizontalAdvance(line) for line in lines) + 1
        em = self.fontMetrics().height()
        width = min(widest, _WRAPPED_EMS * em) + margins.left() + margins.right()
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        if not self._wraps_itself():
            return super().minimumSizeHint()
        hint = self.sizeHint()
        return QSize(min(hint.width(), _LEAST_EMS * self.fontMetrics().height()), ceil(self._pitch()))

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._wraps_itself():
            super().paintEvent(event)
            return
        box = self.contentsRect()
        layout, height = self._lines(box.width())
        spare = box.height() - height
        share = {Qt.AlignmentFlag.AlignTop: 0.0, Qt.AlignmentFlag.AlignBottom: 1.0}
        top = box.top() + max(0.0, spare) * share.get(
            self.alignment() & Qt.AlignmentFlag.AlignVertical_Mask, 0.5
        )
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        layout.draw(painter, QPointF(box.left(), top))

    def _forget_sizes(self) -> None:
        self._heights.clear()
        self._hint_size = None

    def _wraps_itself(self) -> bool:
        return self._is_wrapped and not self._can_be_marked

    def _pitch(self) -> float:
        """Return the height of a line."""
        ratio = self._style.line / self._style.size
        if _CHINESE.search(self.text()):
            ratio = max(ratio, _CHINESE_LINE)
        return max(self.font().pixelSize() * ratio, float(self.fontMetrics().height()))

    def _lines(self, width: int) -> tuple[QTextLayout, float]:
        """Return the text laid out within `width`, and its height."""
        option = QTextOption(self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout = QTextLayout(self.text().replace("\n", "\N{LINE SEPARATOR}"), self.font())
        layout.setTextOption(option)
        layout.beginLayout()
        pitch, height = self._pitch(), 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, height + (pitch - line.height()) / 2))
            height += pitch
        layout.endLayout()
        return layout, height


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
        self._hint = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def set_hint(self, text: str) -> None:
        """Have the tool tip say more than the text."""
        self._hint = text

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
            lines = (self.text() if is_cut else "", self._hint)
            self.setToolTip("\n".join(filter(None, lines)))
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
