"""One memory as a bar: what others use, what is ours, what was planned."""

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.texts import NO_VALUE
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import SPACE, TYPE
from app.ui.widgets.patterns import hatched_box, rounded

_THICKNESS: Final = 10.0
_MARK_OVERHANG: Final = 3.0
_PIECE_GAP: Final = 1.5
_LEAST_BAR_WIDTH: Final = 60.0
_GIB: Final = 1024**3


@dataclass(frozen=True, slots=True)
class _Memory:
    title: str
    total_bytes: int | None
    other_bytes: int | None
    ours_bytes: int | None
    planned_bytes: int | None
    tier: str

    @property
    def used_bytes(self) -> int | None:
        if self.other_bytes is None and self.ours_bytes is None:
            return None
        return (self.other_bytes or 0) + (self.ours_bytes or 0)

    @property
    def plan_end_bytes(self) -> int | None:
        """Where the plan ends on the bar: beside what others use."""
        return None if self.planned_bytes is None else (self.other_bytes or 0) + self.planned_bytes

    @property
    def is_over(self) -> bool:
        end = self.plan_end_bytes
        return end is not None and self.total_bytes is not None and end > self.total_bytes


class MemoryBar(QWidget):
    """Other programs grey, ours in the tier's colour, still planned hatched, a mark where the plan ends."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._memory = _Memory("", None, None, None, None, "vram")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self._set_words)

    def show_memory(
        self,
        title: str,
        total_bytes: int | None,
        other_bytes: int | None,
        ours_bytes: int | None,
        planned_bytes: int | None,
        tier: str,
    ) -> None:
        """Show one memory; None = not known, or for `ours_bytes` not loaded.

        Args:
            other_bytes: In use by other programs.
            ours_bytes: Measured, of our engine.
            planned_bytes: What the plan gives to our engine; the figure and the mark add `other_bytes`.
            tier: `vram`, `ram` or `disk`.
        """
        memory = _Memory(title, total_bytes, other_bytes, ours_bytes, planned_bytes, tier)
        if memory != self._memory:
            self._memory = memory
            self._set_words()

    def sizeHint(self) -> QSize:
        line = round(TYPE["label"].line * self._looks.look.zoom)
        return QSize(240, max(line, round(_THICKNESS + 2 * _MARK_OVERHANG)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = self._paint_words(painter)
        self._paint_bar(painter, bar)

    def _paint_words(self, painter: QPainter) -> QRectF:
        """Paint title and figures; return the box left for the bar. A narrow row drops the plan's figure."""
        look, memory = self._looks.look, self._memory
        label, caption = look.font("label", 400), look.font("caption")
        wide, small = QFontMetricsF(label), QFontMetricsF(caption)
        used, plan = self._figures(), self._plan_text()
        # room for the largest figure there can be, so that bars above each other end alike
        used_width = wide.horizontalAdvance(look.text("ui.memory_bar.figures", used=888.8, total=888.8))
        used_width = max(wide.horizontalAdvance(used), used_width * 0.86)
        plan_width = small.horizontalAdvance(look.text("ui.memory_bar.plan", planned=88.8)) + SPACE["s"]
        left = wide.horizontalAdvance("RAM ") + SPACE["s"]
        left = max(left, wide.horizontalAdvance(memory.title) + SPACE["s"])
        if left + _LEAST_BAR_WIDTH + used_width + plan_width + SPACE["m"] > self.width():
            plan, plan_width = "", 0.0
        height = float(self.height())
        right = self.width() - plan_width
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(label)
        painter.setPen(look.color("text_soft"))
        painter.drawText(QRectF(0, 0, left, height), middle, memory.title)
        painter.setPen(look.color("text"))
        painter.drawText(QRectF(right - used_width, 0, used_width, height), middle, used)
        painter.setFont(caption)
        painter.setPen(look.color("danger_text" if memory.is_over else "text_soft"))
        painter.drawText(QRectF(right + SPACE["s"], 0, plan_width, height), middle, plan)
        width = max(0.0, right - used_width - SPACE["m"] - left)
        return QRectF(left, (height - _THICKNESS) / 2, width, _THICKNESS)

    def _paint_bar(self, painter: QPainter, bar: QRectF) -> None:
        look, memory = self._looks.look, self._memory
        painter.save()
        painter.setClipPath(rounded(bar, 4))
        painter.fillRect(bar, look.color("pressed"))
        if memory.total_bytes:
            per_byte = bar.width() / memory.total_bytes
            other, used = memory.other_bytes or 0, memory.used_bytes or 0
            painter.fillRect(_piece(bar, 0, other * per_byte), look.color("tier_other"))
            painter.fillRect(
                _piece(bar, other * per_byte, used * per_byte), look.color(f"tier_{memory.tier}")
            )
            if memory.plan_end_bytes is not None and memory.plan_end_bytes > used:
                planned = _piece(bar, used * per_byte, memory.plan_end_bytes * per_byte)
                hatched_box(painter, planned, look, f"tier_{memory.tier}")
        painter.restore()
        if memory.plan_end_bytes is not None and memory.total_bytes:
            at = bar.left() + bar.width() * min(1.0, memory.plan_end_bytes / memory.total_bytes)
            self._paint_mark(painter, bar, at)

    def _paint_mark(self, painter: QPainter, bar: QRectF, at: float) -> None:
        look = self._looks.look
        top, bottom = bar.top() - _MARK_OVERHANG, bar.bottom() + _MARK_OVERHANG
        for color, width in (("surface", 4.0), ("danger" if self._memory.is_over else "text", 2.0)):
            painter.setPen(QPen(look.color(color), width))
            painter.drawLine(QLineF(at, top, at, bottom))

    def _figures(self) -> str:
        memory = self._memory
        used, total = _in_gib(memory.used_bytes), _in_gib(memory.total_bytes)
        if used is None and total is None:
            return NO_VALUE
        return self._looks.look.text("ui.memory_bar.figures", used=used, total=total)

    def _plan_text(self) -> str:
        end = _in_gib(self._memory.plan_end_bytes)
        return "" if end is None else self._looks.look.text("ui.memory_bar.plan", planned=end)

    def _set_words(self) -> None:
        look, memory = self._looks.look, self._memory
        self.setAccessibleName(memory.title)
        parts = [self._figures()]
        if memory.other_bytes is not None:
            parts.append(look.text("ui.memory_bar.other", other=_in_gib(memory.other_bytes)))
        if memory.ours_bytes is not None:
            parts.append(look.text("ui.memory_bar.ours", ours=_in_gib(memory.ours_bytes)))
        if plan := self._plan_text():
            parts.append(plan)
        if memory.is_over:
            parts.append(look.text("ui.memory_bar.over"))
        words = look.text("ui.list_separator").join(parts)
        self.setAccessibleDescription(words)
        self.setToolTip(words)
        self.updateGeometry()
        self.update()


def _piece(bar: QRectF, start: float, end: float) -> QRectF:
    return QRectF(bar.left() + start, bar.top(), max(0.0, end - start - _PIECE_GAP), bar.height())


def _in_gib(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else size_bytes / _GIB
