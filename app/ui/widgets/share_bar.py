"""A small stacked bar of shares; each has its colour and its pattern, and the words stand beside it."""

from typing import Final

from PySide6.QtCore import QLineF, QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.patterns import hatch, rounded

_HEIGHT: Final = 12
_LEAST_SHARE_WIDTH: Final = 3.0
_STEP: Final = 4.0


class ShareBar(QWidget):
    """Shares of a whole from left to right: plain, rising lines, upright lines, level lines, then again."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._shares: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self._on_look_changed)

    def show_shares(self, shares: tuple[float, ...], name: str, words: str) -> None:
        """Show `shares`, 0..1 of the bar each; `words` say them to readers of the screen."""
        self._shares = shares
        self.setAccessibleName(name)
        self.setAccessibleDescription(words)
        self.setToolTip(words)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(round(120 * self._looks.look.zoom), round(_HEIGHT * self._looks.look.zoom))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(
            0, (self.height() - self.sizeHint().height()) / 2, self.width(), self.sizeHint().height()
        )
        painter.setClipPath(rounded(bar, 4))
        painter.fillRect(bar, look.color("pressed"))
        x = bar.left()
        for number, share in enumerate(self._shares):
            width = max(_LEAST_SHARE_WIDTH, bar.width() * share)
            paint_share(painter, QRectF(x, bar.top(), width - 1, bar.height()), self._looks, number)
            x += width

    def _on_look_changed(self) -> None:
        self.updateGeometry()
        self.update()


class ShareSwatch(QWidget):
    """The square of a legend for share `number`; the word stands beside it."""

    def __init__(self, looks: LookSource, number: int) -> None:
        super().__init__()
        self._looks = looks
        self._number = number
        looks.changed.connect(self._on_look_changed)
        self._on_look_changed()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setClipPath(rounded(box, 2.5))
        paint_share(painter, box, self._looks, self._number)

    def _on_look_changed(self) -> None:
        size = round(_HEIGHT * self._looks.look.zoom)
        self.setFixedSize(size, size)
        self.update()


def paint_share(painter: QPainter, box: QRectF, looks: LookSource, number: int) -> None:
    """Fill `box` as share `number` of a bar."""
    look = looks.look
    painter.fillRect(box, QColor(look.colors.series[number % (len(look.colors.series) - 1)]))
    lines = look.color("raised", 0.75)
    match number % 4:
        case 1:
            hatch(painter, box, lines)
        case 2:
            painter.setPen(QPen(lines, 1.2))
            xs = (box.left() + _STEP * (i + 0.5) for i in range(int(box.width() / _STEP)))
            painter.drawLines([QLineF(x, box.top(), x, box.bottom()) for x in xs])
        case 3:
            painter.setPen(QPen(lines, 1.2))
            ys = (box.top() + _STEP * (i + 0.5) for i in range(int(box.height() / _STEP)))
            painter.drawLines([QLineF(box.left(), y, box.right(), y) for y in ys])
