"""A device's memory by parts: a stacked bar with its legend; each part has its colour and its pattern."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.tokens import TYPE
from app.ui.widgets.parts_facts import BarPart, PartKind
from app.ui.widgets.patterns import rounded

_CACHE_SERIES: Final = 4
_BAR_HEIGHT: Final = 14.0
_SWATCH: Final = 12.0
_GAP: Final = 6.0
_BETWEEN: Final = 14.0
_LEAST_WIDTH: Final = 3.0
_STEP: Final = 4.0


@dataclass(frozen=True, slots=True)
class _Entry:
    part: BarPart
    words: str
    at: QPointF


class PartsBar(QWidget):
    """Parts of one device against what is free there; a mark shows what is free where more is needed."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._parts: tuple[BarPart, ...] = ()
        self._total = 0
        self._mark: int | None = None
        self._tier = "vram"
        self._legend: list[tuple[BarPart, str, float]] = []
        self._shown: object = None
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        looks.changed.connect(self._set_words)

    def show_parts(
        self, name: str, tier: str, parts: tuple[BarPart, ...], total_bytes: int, mark_bytes: int | None
    ) -> None:
        """Show `parts` of `total_bytes`; `tier` is `vram` or `ram`.

        Args:
            mark_bytes: What is free where more is needed; None for no mark.
        """
        shown = (name, tier, parts, total_bytes, mark_bytes)
        if shown == self._shown:
            return
        self._shown = shown
        self._parts, self._total, self._mark = parts, total_bytes, mark_bytes
        self._tier = tier
        self.setAccessibleName(name)
        self._set_words()

    def value_text(self) -> str:
        """Return the parts in words, as readers of the screen are told."""
        return ", ".join(words for _, words, _ in self._legend)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = self._entries(width)
        bottom = max((entry.at.y() for entry in lines), default=0.0)
        return round(_BAR_HEIGHT * self._zoom + (bottom + self._line + _GAP if lines else 0))

    def sizeHint(self) -> QSize:
        return QSize(280, self.heightForWidth(max(self.width(), 200)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, round(_BAR_HEIGHT * self._zoom))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(0, 0, self.width(), _BAR_HEIGHT * self._zoom)
        painter.save()
        painter.setClipPath(rounded(bar, 4))
        painter.fillRect(bar, look.color("pressed"))
        for part, box in self._boxes(bar):
            self._paint_part(painter, box, part.kind)
        painter.restore()
        if self._mark is not None:
            x = bar.width() * self._mark / max(1, self._total)
            painter.fillRect(QRectF(x - 1, bar.top(), 2, bar.height()), look.color("text"))
        painter.setFont(look.font("caption"))
        top = bar.bottom() + _GAP
        for entry in self._entries(self.width()):
            middle = top + entry.at.y() + (self._line - self._swatch) / 2
            box = QRectF(entry.at.x(), middle, self._swatch, self._swatch)
            painter.save()
            painter.setClipPath(rounded(box, 2.5))
            self._paint_part(painter, box, entry.part.kind)
            painter.restore()
            painter.setPen(look.color("text_soft"))
            left = box.right() + _GAP
            room = QRectF(left, top + entry.at.y(), self.width() - left, self._line)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, entry.words)

    @property
    def _zoom(self) -> float:
        return self._looks.look.zoom

    @property
    def _line(self) -> float:
        return (TYPE["caption"].line + 2) * self._zoom

    @property
    def _swatch(self) -> float:
        return _SWATCH * self._zoom

    def _words(self, part: BarPart) -> str:
        name = self._looks.look.text(f"ui.plan.part.{part.kind.value}")
        return self._looks.look.text("ui.plan.part.line", name=name, size=part.size_bytes)

    def _entries(self, width: float) -> list[_Entry]:
        """Return the legend, wrapped to `width`."""
        entries: list[_Entry] = []
        x = y = 0.0
        for part, words, wide in self._legend:
            if x and x + wide > width:
                x, y = 0.0, y + self._line
            entries.append(_Entry(part, words, QPointF(x, y)))
            x += wide + _BETWEEN
        return entries

    def _boxes(self, bar: QRectF) -> Iterator[tuple[BarPart, QRectF]]:
        x = bar.left()
        for part in self._parts:
            width = max(_LEAST_WIDTH, bar.width() * part.size_bytes / max(1, self._total))
            yield part, QRectF(x, bar.top(), width - 1, bar.height())
            x += width

    def _paint_part(self, painter: QPainter, box: QRectF, kind: PartKind) -> None:
        color = self._color(kind)
        if kind is PartKind.RESERVE:
            painter.setPen(QPen(color, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(1, 1, -1, -1))
            return
        painter.fillRect(box, color)
        painter.setPen(QPen(self._looks.look.color("raised", 0.75), 1.2))
        painter.drawLines(_lines(box, kind))

    def _color(self, kind: PartKind) -> QColor:
        """Weights are in the colour of their tier; what is made for answering is not."""
        look = self._looks.look
        match kind:
            case PartKind.DENSE | PartKind.EXPERTS:
                return look.color(f"tier_{self._tier}")
            case PartKind.CACHE:
                return QColor(look.colors.series[_CACHE_SERIES])
            case PartKind.COMPUTE:
                return look.color("tier_other")
        return look.color("control")

    def _set_words(self) -> None:
        metrics = QFontMetricsF(self._looks.look.font("caption"))
        before = self._swatch + _GAP
        said = [(part, self._words(part)) for part in self._parts]
        self._legend = [(part, words, before + metrics.horizontalAdvance(words)) for part, words in said]
        said_at_once = self.value_text()
        self.setAccessibleDescription(said_at_once)
        self.setToolTip(said_at_once)
        self.updateGeometry()
        self.update()


def _lines(box: QRectF, kind: PartKind) -> list[QLineF]:
    """Return the pattern of a part: dense none, experts dashes, cache upright lines, compute level ones."""
    if kind is PartKind.CACHE:
        xs = (box.left() + _STEP * (i + 0.5) for i in range(int(box.width() / _STEP)))
        return [QLineF(x, box.top(), x, box.bottom()) for x in xs]
    if kind is PartKind.COMPUTE:
        ys = (box.top() + _STEP * (i + 0.5) for i in range(int(box.height() / _STEP)))
        return [QLineF(box.left(), y, box.right(), y) for y in ys]
    if kind is PartKind.EXPERTS:
        y, third = box.center().y(), box.height() / 6
        xs = (box.left() + _STEP * 2 * (i + 0.5) for i in range(max(1, int(box.width() / _STEP / 2))))
        return [QLineF(x, y - third, x, y + third) for x in xs]
    return []
