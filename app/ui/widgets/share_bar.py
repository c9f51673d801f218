"""A small stacked bar of shares; each has its colour and its pattern, and the words stand beside it."""

from typing import Final

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.tokens import TYPE
from app.ui.widgets.patterns import hatch, rounded

_HEIGHT: Final = 12
_LEAST_SHARE_WIDTH: Final = 3.0
_STEP: Final = 4.0
_WORD_GAP: Final = 5.0
_BETWEEN: Final = 12.0


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


class ShareLegend(QWidget):
    """The words of the shares, each behind its swatch, in as many lines as they need."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._words: tuple[str, ...] = ()
        self._widths: tuple[float, ...] = ()  # of the words with their swatches: layouts ask many times
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        looks.changed.connect(self._measure)

    def show_words(self, words: tuple[str, ...], name: str) -> None:
        """Show a word per share of the bar; `name` says what they are of."""
        self._words = words
        self.setAccessibleName(name)
        self.setAccessibleDescription(self._looks.look.text("ui.list_separator").join(words))
        self._measure()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return round((places[-1].y() if places else 0) + self._line)

    def sizeHint(self) -> QSize:
        width = sum(self._widths) + _BETWEEN * len(self._words)
        return QSize(round(width), self.heightForWidth(round(width)))

    def minimumSizeHint(self) -> QSize:
        return QSize(round(max(self._widths, default=0)), round(self._line))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(look.font("caption"))
        places = self._places(self.width())
        spare = (self.height() - self.heightForWidth(self.width())) / 2
        for number, (words, place) in enumerate(zip(self._words, places, strict=True)):
            top = place.y() + max(0.0, spare)
            box = QRectF(place.x() + 1, top + (self._line - self._swatch) / 2, self._swatch, self._swatch)
            painter.save()
            painter.setClipPath(rounded(box, 2.5))
            paint_share(painter, box, self._looks, number)
            painter.restore()
            painter.setPen(look.color("text_soft"))
            room = QRectF(box.right() + _WORD_GAP, top, self.width(), self._line)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, words)

    @property
    def _line(self) -> float:
        return (TYPE["caption"].line + 2) * self._looks.look.zoom

    @property
    def _swatch(self) -> float:
        return (_HEIGHT - 2) * self._looks.look.zoom

    def _measure(self) -> None:
        metrics = QFontMetricsF(self._looks.look.font("caption"))
        before = self._swatch + _WORD_GAP + 2
        self._widths = tuple(before + metrics.horizontalAdvance(words) for words in self._words)
        self.updateGeometry()
        self.update()

    def _places(self, width: float) -> list[QPointF]:
        """Return where each word begins, wrapped to `width`."""
        places: list[QPointF] = []
        x = y = 0.0
        for wide in self._widths:
            if x and x + wide > width:
                x, y = 0.0, y + self._line
            places.append(QPointF(x, y))
            x += wide + _BETWEEN
        return places


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
