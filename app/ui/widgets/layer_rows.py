"""The wide layer map: attention, feed-forward or shared experts, and routed experts, each with its size."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent

from app.texts import format_bytes
from app.ui.widgets.layer_facts import LayerCell, Tier
from app.ui.widgets.layer_map import LayerMap, TierOf

_ROW_STEP: Final = 32.0
_ROW_HEIGHT: Final = 26.0
_TOP: Final = 3.0
_LABEL_GAP: Final = 20.0
_AMOUNT_GAP: Final = 14.0


class LayerRows(LayerMap):
    """Rows without any bytes are left out. What it says of a layer comes as a signal, not as a tool tip.

    Signals:
        words_changed: what to say of the selected layer; empty when none is.
    """

    words_changed = Signal(str)

    def layer_words(self, cell: LayerCell) -> str:
        """Return one sentence about a layer."""
        look = self._looks.look
        key = "ui.layer_map.mtp_layer" if cell.is_mtp else "ui.layer_map.layer"
        parts = [
            look.text(
                "ui.layer_rows.part", name=name, size=size, tier=look.text(f"ui.plan.tier.{tier.value}")
            )
            for name, size, tier in self._parts(cell)
        ]
        if cell.disk_share > 0:
            parts.append(look.text("ui.layer_map.disk_line", share=cell.disk_share))
        sizes = look.text("ui.list_separator").join(parts)
        return look.text("ui.layer_rows.sentence", layer=look.text(key, index=cell.index), parts=sizes)

    def row_amounts(self) -> tuple[str, ...]:
        """Return the size beside each row."""
        return tuple(format_bytes(size) for _key, size in self._sizes())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._cells:
            return
        look, painter = self._looks.look, QPainter(self)
        painter.setFont(look.font("caption"))
        painter.setPen(look.color("text_soft"))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for row, words in enumerate(self.row_amounts()):
            painter.drawText(QRectF(0, _TOP + row * _ROW_STEP, self.width(), _ROW_HEIGHT), side, words)
        painter.setPen(look.color("text_faint"))
        foot = QRectF(0, self._axis_top, self._left, self.height() - self._axis_top)
        painter.drawText(foot, Qt.AlignmentFlag.AlignVCenter, look.text("ui.layer_rows.axis"))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._set_words()

    def _sides(self) -> tuple[float, float]:
        names, amounts = (QFontMetricsF(self._looks.look.font(style)) for style in ("label", "caption"))
        left = max(names.horizontalAdvance(name) for name, _ in self._rows())
        right = max((amounts.horizontalAdvance(words) for words in self.row_amounts()), default=0.0)
        return left + _LABEL_GAP, right + _AMOUNT_GAP

    def _rows(self) -> Iterator[tuple[str, TierOf]]:
        tiers: dict[str, TierOf] = {"attention": _attention_tier, "routed": _routed_tier}
        for key, _size in self._sizes():
            yield self._looks.look.text(f"ui.layer_rows.{key}"), tiers.get(key, _ffn_tier)

    def _sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the end of the text key and the bytes of each row."""
        yield "attention", sum(cell.other_bytes - cell.ffn_bytes for cell in self._cells)
        ffn, routed = (sum(getattr(c, name) for c in self._cells) for name in ("ffn_bytes", "routed_bytes"))
        if ffn:
            yield self._ffn_key(), ffn
        if routed:
            yield "routed", routed

    def _ffn_key(self) -> str:
        with_ffn = [cell for cell in self._cells if cell.ffn_bytes]
        if not any(cell.has_experts for cell in self._cells):
            return "ffn"
        return "shared" if all(cell.has_experts for cell in with_ffn) else "dense_and_shared"

    def _parts(self, cell: LayerCell) -> Iterator[tuple[str, int, Tier]]:
        look = self._looks.look
        other = cell.other_tier if cell.has_experts else cell.tier
        yield look.text("ui.layer_rows.said.attention"), cell.other_bytes - cell.ffn_bytes, other
        if cell.ffn_bytes:
            key = "shared" if cell.has_experts else "ffn"
            yield look.text(f"ui.layer_rows.said.{key}"), cell.ffn_bytes, other
        if cell.has_experts:
            tier = Tier.RAM if cell.tier is Tier.DISK else cell.tier
            yield look.text("ui.layer_rows.said.routed"), cell.routed_bytes, tier

    def _set_words(self) -> None:
        super()._set_words()
        chosen = None if self._selected is None else self._cells[self._selected]
        self.words_changed.emit("" if chosen is None else self.layer_words(chosen))

    def _show_tip(self, at: QPoint) -> None:
        """Show nothing: the words stand below the map."""


def _attention_tier(cell: LayerCell) -> tuple[Tier | None, float]:
    return (cell.other_tier if cell.has_experts else cell.tier), 0.0


def _ffn_tier(cell: LayerCell) -> tuple[Tier | None, float]:
    return (_attention_tier(cell)[0] if cell.ffn_bytes else None), 0.0


def _routed_tier(cell: LayerCell) -> tuple[Tier | None, float]:
    return (cell.tier if cell.has_experts else None), cell.disk_share
