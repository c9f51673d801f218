"""A block of code: its language, a copy button, and coloured text that scrolls sideways."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QPen, QTextCursor, QWheelEvent
from PySide6.QtWidgets import QFrame, QScrollArea

from app.ui.markdown.blocks import Fence
from app.ui.markdown.document import char_format, line_height, plain_document
from app.ui.markdown.highlight import colored
from app.ui.markdown.part import Part
from app.ui.markdown.selection import Selection
from app.ui.markdown.text_view import TextView
from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import ElidedLabel

_HEAD: Final = 34
_SIDE: Final = 14
_FOOT: Final = 12
_RADIUS: Final = 10
_SCROLLBAR: Final = 10
_LINES_AT_ONCE: Final = 12


class CodeView(Part):
    """Shows a `Fence`; `fill` puts the text in, in steps, while the height is right from the start.

    Signals:
        copied: the whole code is in the clipboard.
    """

    copied = Signal()

    def __init__(self, looks: LookSource, fence: Fence, selection: Selection) -> None:
        super().__init__()
        self._looks = looks
        self._fence = fence
        self._document = plain_document(looks.look, "code")
        self._text = TextView(looks, self._document, selection, wraps=False)
        self._text.setAccessibleName(fence.code[:1000])
        self._language = ElidedLabel("caption", "faint")
        self._language.setParent(self)
        self._language.setText(fence.language)
        self._copy = IconButton(looks, "copy", small=True)
        self._copy.setParent(self)
        self._copy.set_words(looks.look.text("ui.chat.copy_code"))
        self._copy.clicked.connect(self._on_copy)
        self._area = _SidewaysArea()
        self._area.setParent(self)
        self._area.setWidget(self._text)

    @property
    def code(self) -> str:
        """What the copy button copies."""
        return self._fence.code

    def fill(self) -> Iterator[None]:
        """Put the text in, some lines at a time; between two steps the caller may do something else."""
        look = self._looks.look
        cursor = QTextCursor(self._document)
        lines = 0
        cursor.beginEditBlock()
        for text, color in _runs(self._fence):
            cursor.insertText(text, char_format(look, "code", color))
            lines += text.count("\n")
            if lines >= _LINES_AT_ONCE:
                lines = 0
                cursor.endEditBlock()
                self._document.size()  # lays out what is new, and only that
                yield
                cursor.beginEditBlock()
        cursor.endEditBlock()
        self._text.text_changed()

    def fit(self, width: int) -> int:
        inner = width - 2 * _SIDE
        lines = self._fence.code.count("\n") + 1
        text_height = lines * line_height(self._looks.look, "code")
        self._text.text_changed()
        self._text.fit(inner)
        self._text.resize(max(inner, self._text.natural_width()), text_height)
        is_wide = self._text.natural_width() > inner
        bar = _SCROLLBAR if is_wide else 0
        head = round(_HEAD * self._looks.look.zoom)
        height = head + text_height + bar + _FOOT
        self._area.setGeometry(_SIDE, head, inner, text_height + bar)
        self._copy.adjustSize()
        copy_width = self._copy.width()
        self._copy.move(width - copy_width - 6, (head - self._copy.height()) // 2 + 2)
        label_height = self._language.sizeHint().height()
        room = max(0, width - _SIDE - copy_width - 12)
        self._language.setGeometry(_SIDE, (head - label_height) // 2, room, label_height)
        self.resize(width, height)
        return height

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        paint_box(self, self._looks, "sunken")

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._fence.code)
        self.copied.emit()


def paint_box(part: Part, looks: LookSource, ground: str) -> None:
    """Paint the rounded ground and outline of a block in an answer."""
    painter = QPainter(part)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(looks.look.color("border"), 1))
    painter.setBrush(looks.look.color(ground))
    painter.drawRoundedRect(QRectF(part.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)


class _SidewaysArea(QScrollArea):
    """Scrolls left and right only; the wheel goes on to the conversation unless it is turned sideways."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta()
        if abs(turned.x()) > abs(turned.y()) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()


def _runs(fence: Fence) -> Iterator[tuple[str, str]]:
    """Yield the code in pieces of one palette colour, each of some lines at most."""
    read = 0
    for start, length, color in colored(fence.language, fence.code):
        yield from _in_lines(fence.code[read:start], "text")
        yield from _in_lines(fence.code[start : start + length], color)
        read = start + length
    yield from _in_lines(fence.code[read:], "text")


def _in_lines(text: str, color: str) -> Iterator[tuple[str, str]]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    for start in range(0, len(lines), _LINES_AT_ONCE):
        if piece := "".join(lines[start : start + _LINES_AT_ONCE]):
            yield piece, color
