"""What the person wrote: a quiet bubble on the right, as it was typed."""

from typing import Final

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.markdown.part import Part
from app.ui.markdown.parts import PartEvents
from app.ui.markdown.selection import SelectionOwner
from app.ui.theme.look import LookSource
from app.ui.views.answer_body import AnswerBody
from app.ui.widgets.buttons import Button

BUBBLE_MAX: Final = 560
_SIDE: Final = 16
_ABOVE: Final = 10
_RADIUS: Final = 14
_LONG: Final = 3_000
"""Characters; a longer message is folded, as 200 kB pasted into the box would take the whole conversation."""
_LONG_LINES: Final = 30


class UserBubble(Part):
    """Shows one message of the person.

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
        self._is_open = False
        self._body = AnswerBody(looks, owner, events, self)
        self._body.height_changed.connect(self.height_changed)
        self._more = Button(looks, "link", size="compact")
        self._more.setParent(self)
        self._more.hide()
        self._more.clicked.connect(self._on_more)

    def show_text(self, text: str) -> None:
        """Show `text`, its beginning only where it is long."""
        self._text, self._is_open = text, False
        self._show()

    def fit(self, width: int) -> int:
        inner_max = min(BUBBLE_MAX, width) - 2 * _SIDE
        inner = min(inner_max, self._natural_width(inner_max))
        height = 2 * _ABOVE + self._body.fit(inner)
        self._body.move(_SIDE, _ABOVE)
        if not self._more.isHidden():
            self._more.adjustSize()
            self._more.move(_SIDE, height - _ABOVE + 4)
            height += self._more.height() + 4
        self.resize(inner + 2 * _SIDE, height)
        return height

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._looks.look.color("hover"))
        painter.drawRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)

    def _natural_width(self, inner_max: int) -> int:
        beginning = self._beginning()
        if len(beginning) > 200:
            return inner_max
        metrics = QFontMetricsF(self._looks.look.font("prose"))
        widest = max((metrics.horizontalAdvance(line) for line in beginning.split("\n")), default=0)
        least = 0 if self._more.isHidden() else self._more.sizeHint().width()
        return max(8, least, int(widest) + 4)

    def _beginning(self) -> str:
        lines = self._text.split("\n")
        return "\n".join(lines[:_LONG_LINES])[:_LONG]

    def _show(self) -> None:
        beginning = self._beginning()
        is_long = len(beginning) < len(self._text)
        self._more.setVisible(is_long)
        key = "ui.chat.show_less" if self._is_open else "ui.chat.show_all"
        self._more.setText(self._looks.look.text(key, count=len(self._text)))
        self._body.show_plain(self._text if self._is_open or not is_long else f"{beginning.rstrip()} …")

    def _on_more(self) -> None:
        self._is_open = not self._is_open
        self._show()
