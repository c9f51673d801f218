"""Where each layer lies: a column per layer, a row for its experts and one for the rest."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from PySide6.QtCore import QEvent, QLineF, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.tokens import RADIUS, SPACE, TYPE
from app.ui.widgets.layer_facts import LayerCell, Tier
from app.ui.widgets.patterns import tier_cells

_ROW_HEIGHT: Final = 26.0
_ROW_GAP: Final = 6.0
_FRAME: Final = 3.0
_SEPARATE_CELLS_FROM: Final = 6.0
"""Narrower columns would be more gap than cell: neighbours alike are drawn as one block."""
_NOTCH_EVERY: Final = 9.0
_MARK_SIZE: Final = 3.0
_PAGE: Final = 8
_MOVES: Final = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_PageUp: -_PAGE,
    Qt.Key.Key_PageDown: _PAGE,
}

TierOf = Callable[[LayerCell], tuple[Tier | None, float]]


class LayerMap(QWidget):
    """Tier by colour and pattern. The mouse or the arrow keys select a layer; its figures are the tool tip.

    Which rows there are, and the room beside them, is for heirs to change (`LayerRows`).

    Signals:
        layer_selected: index of the block, as the model counts it.
    """

    layer_selected = Signal(int)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._cells: tuple[LayerCell, ...] = ()
        self._selected: int | None = None
        self._room: tuple[float, float, float] | None = None  # measured once: every column asks for it
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self._set_words)
        self._set_words()

    def show_layers(self, cells: tuple[LayerCell, ...]) -> None:
        """Show the layers of a model; none clears the map."""
        if cells == self._cells:
            return
        self._cells = cells
        if self._selected is not None and self._selected >= len(cells):
            self._selected = None
        self._set_words()

    @property
    def selected_layer(self) -> int | None:
        """The block selected, as the model counts it."""
        return None if self._selected is None else self._cells[self._selected].index

    def layer_words(self, cell: LayerCell) -> str:
        """Return what the tool tip says about one layer."""
        look = self._looks.look
        lines = [
            look.text("ui.layer_map.mtp_layer" if cell.is_mtp else "ui.layer_map.layer", index=cell.index)
        ]
        if cell.has_experts:
            tier = look.text(f"ui.tier.{cell.tier.value}")
            lines.append(look.text("ui.layer_map.experts_line", size=cell.routed_bytes, tier=tier))
        if cell.disk_share > 0:
            lines.append(look.text("ui.layer_map.disk_line", share=cell.disk_share))
        tier = look.text(f"ui.tier.{(cell.other_tier if cell.has_experts else cell.tier).value}")
        lines.append(look.text("ui.layer_map.other_line", size=cell.other_bytes, tier=tier))
        return "\n".join(lines)

    def sizeHint(self) -> QSize:
        return QSize(300, round(self._axis_top + TYPE["caption"].line * self._looks.look.zoom))

    def minimumSizeHint(self) -> QSize:
        return QSize(180, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self._cells:
            self._paint_empty(painter)
            return
        for row, (name, tier_of) in enumerate(self._rows()):
            top = _FRAME + row * (_ROW_HEIGHT + _ROW_GAP)
            self._paint_row(painter, top, name, tier_of)
        self._paint_axis(painter)
        self._paint_selection(painter)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._select(self._position_at(event.position()))
        self._show_tip(event.globalPosition().toPoint())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._cells) - 1
        key = Qt.Key(event.key())
        if last < 0 or (key not in _MOVES and key not in (Qt.Key.Key_Home, Qt.Key.Key_End)):
            super().keyPressEvent(event)
            return
        at = -1 if self._selected is None else self._selected
        target = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}.get(key, at + _MOVES.get(key, 0))
        self._select(max(0, min(last, target)))
        self._show_tip(self.mapToGlobal(self._column(self._selected or 0).bottomLeft().toPoint()))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: ARG002 Qt's signature
        QToolTip.hideText()
        if not self.hasFocus():
            self._selected = None
            self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            return True  # shown while the mouse moves
        return super().event(event)

    @property
    def _has_experts(self) -> bool:
        return any(cell.has_experts for cell in self._cells)

    @property
    def _left(self) -> float:
        return self._rooms()[0]

    @property
    def _right(self) -> float:
        return self._rooms()[1]

    @property
    def _axis_top(self) -> float:
        return self._rooms()[2]

    def _rooms(self) -> tuple[float, float, float]:
        """Return the widths beside the columns, and the height above the axis."""
        if self._room is None:
            rows = sum(1 for _ in self._rows())
            axis_top = 2 * _FRAME + rows * _ROW_HEIGHT + (rows - 1) * _ROW_GAP
            self._room = *self._sides(), axis_top
        return self._room

    def _sides(self) -> tuple[float, float]:
        """Measure the widths beside the columns."""
        metrics = QFontMetricsF(self._looks.look.font("label"))
        return max(metrics.horizontalAdvance(name) for name, _ in self._rows()) + SPACE["m"], _FRAME

    def _rows(self) -> Iterator[tuple[str, TierOf]]:
        look = self._looks.look
        if not self._has_experts:
            yield look.text("ui.layer_map.all"), lambda cell: (cell.tier, 0.0)
            return
        yield (
            look.text("ui.layer_map.experts"),
            lambda cell: (cell.tier if cell.has_experts else None, cell.disk_share),
        )
        yield (
            look.text("ui.layer_map.other"),
            lambda cell: (cell.other_tier if cell.has_experts else cell.tier, 0.0),
        )

    def _column(self, position: int, count: int = 1) -> QRectF:
        """Return the box of `count` columns from `position` on, all rows high."""
        left = self._left
        step = (self.width() - left - self._right) / len(self._cells)
        return QRectF(left + position * step, _FRAME, count * step, self._axis_top - 2 * _FRAME)

    def _position_at(self, point: QPointF) -> int | None:
        if not self._cells or point.x() < self._left or point.y() > self._axis_top:
            return None
        position = int((point.x() - self._left) / self._column(0).width())
        return position if position < len(self._cells) else None

    def _select(self, position: int | None) -> None:
        if position == self._selected:
            return
        self._selected = position
        self._set_words()
        if position is not None:
            self.layer_selected.emit(self._cells[position].index)

    def _show_tip(self, at: QPoint) -> None:
        if self._selected is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(at + QPoint(8, 12), self.layer_words(self._cells[self._selected]), self)

    def _paint_empty(self, painter: QPainter) -> None:
        look = self._looks.look
        painter.setFont(look.font("caption"))
        painter.setPen(look.color("text_faint"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, look.text("ui.layer_map.empty"))

    def _paint_row(self, painter: QPainter, top: float, name: str, tier_of: TierOf) -> None:
        look = self._looks.look
        painter.setFont(look.font("label", 400))
        painter.setPen(look.color("text_soft"))
        painter.drawText(QRectF(0, top, self._left, _ROW_HEIGHT), Qt.AlignmentFlag.AlignVCenter, name)
        left, step = self._left, self._column(0).width()
        for ((tier, share), is_single), run in groupby(self._blocks(tier_of), key=_likeness):
            boxes = [
                QRectF(left + position * step + 0.75, top, count * step - 1.5, _ROW_HEIGHT)
                for position, count, _ in run
            ]
            if tier is None:
                painter.setPen(QPen(look.color("border_strong"), 1))
                painter.drawLines([_middle_line(box) for box in boxes])
                continue
            notch_every = 0 if is_single else _NOTCH_EVERY
            tier_cells(painter, boxes, look, tier.value, disk_share=share, notch_every=notch_every)

    def _blocks(self, tier_of: TierOf) -> Iterator[tuple[int, int, tuple[Tier | None, float]]]:
        """Yield (position, columns, tier): each column alone, or neighbours alike when columns are narrow."""
        if self._column(0).width() >= _SEPARATE_CELLS_FROM:
            for position, cell in enumerate(self._cells):
                yield position, 1, tier_of(cell)
            return
        position = 0
        for tier, run in groupby(self._cells, key=tier_of):
            count = sum(1 for _ in run)
            yield position, count, tier
            position += count

    def _paint_axis(self, painter: QPainter) -> None:
        look = self._looks.look
        painter.setFont(look.font("caption"))
        painter.setPen(look.color("text_faint"))
        top, height = self._axis_top, self.height() - self._axis_top
        free_until = self.width() - self._right + _FRAME + 1.0
        last = len(self._cells) - 1
        for position in (last, *range(0, last, _PAGE)):
            label = str(self._cells[position].index)
            width = QFontMetricsF(painter.font()).horizontalAdvance(label) + 2
            center = self._column(position).center().x()
            right = min(center + width / 2, self.width() - self._right + _FRAME)
            if position != last and right + 4 > free_until:
                break
            painter.drawText(QRectF(right - width, top, width, height), Qt.AlignmentFlag.AlignCenter, label)
            free_until = right - width if position == last else free_until
        painter.setBrush(look.color("text_soft"))
        painter.setPen(Qt.PenStyle.NoPen)
        for position, cell in enumerate(self._cells):
            if cell.is_mtp:
                self._paint_mtp_mark(painter, self._column(position))

    def _paint_mtp_mark(self, painter: QPainter, column: QRectF) -> None:
        """Paint a diamond over the column, in the middle between the rows where they are two."""
        center = QPointF(column.center().x(), column.center().y())
        size = max(_MARK_SIZE, min(5.0, column.width() / 3))
        corners = [QPointF(0, -size), QPointF(size, 0), QPointF(0, size), QPointF(-size, 0)]
        look = self._looks.look
        painter.setPen(QPen(look.color("raised"), 2))
        painter.setBrush(look.color("text"))
        painter.drawPolygon(QPolygonF([center + corner for corner in corners]))

    def _paint_selection(self, painter: QPainter) -> None:
        look = self._looks.look
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2))
            box = self._column(0, len(self._cells)).adjusted(-2, -2, 2, 2)
            painter.drawRoundedRect(box, RADIUS["s"], RADIUS["s"])
        if self._selected is not None:
            column = self._column(self._selected)
            painter.setPen(QPen(look.color("text"), 1.6))
            painter.drawRoundedRect(column.adjusted(-1.5, -2, 1.5, 2), 3, 3)

    def _set_words(self) -> None:
        self._room = None
        look = self._looks.look
        self.setAccessibleName(look.text("ui.layer_map.name"))
        words = look.text("ui.layer_map.empty") if not self._cells else self._summary()
        if self._selected is not None:
            words = self.layer_words(self._cells[self._selected]).replace(
                "\n", look.text("ui.list_separator")
            )
        self.setAccessibleDescription(words)
        self.updateGeometry()
        self.update()

    def _summary(self) -> str:
        counted = [cell for cell in self._cells if cell.has_experts] or self._cells
        counts = {tier.value: sum(1 for cell in counted if cell.tier is tier) for tier in Tier}
        key = "ui.layer_map.summary_experts" if self._has_experts else "ui.layer_map.summary"
        return self._looks.look.text(key, count=len(self._cells), **counts)


def _likeness(block: tuple[int, int, tuple[Tier | None, float]]) -> tuple[tuple[Tier | None, float], bool]:
    """Return what blocks that are drawn together have in common."""
    _position, count, tier = block
    return tier, count == 1


def _middle_line(box: QRectF) -> QLineF:
    y = box.center().y()
    return QLineF(box.left(), y, box.right(), y)
