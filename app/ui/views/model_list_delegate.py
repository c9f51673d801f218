"""How a row of the list of models is painted."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource
from app.ui.views.library_facts import FIT_TONES, Fit, LibraryModel
from app.ui.views.model_list_rows import APART_ROLE, DETAIL_ROLE, FIT_ROLE, ROW_ROLE, fit_words

_CORNER: Final = 8
_PADDING: Final = 10
_ABOVE: Final = 7
_BETWEEN: Final = 3
_GAP: Final = 6
_CHIP_SIDES: Final = 8
_CHIP_ABOVE: Final = 2
_SIGN: Final = 16
_HEAD_BELOW: Final = 5

_Index = QModelIndex | QPersistentModelIndex
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ModelListDelegate(QStyledItemDelegate):
    """Name and badge, below them what it is; the selected one has a tinted ground and a heavier name."""

    def __init__(self, looks: LookSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._looks = looks
        self._fonts: dict[tuple[str, int | None], tuple[QFont, QFontMetrics]] = {}
        looks.changed.connect(self._fonts.clear)

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Return one height for all rows: the view asks once, however many there are."""
        height = self._font("body")[1].height() + self._font("caption")[1].height()
        return QSize(60, height + 2 * _ABOVE + _BETWEEN)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row, look = index.data(ROW_ROLE), self._looks.look
        box: QRect = option.rect  # type: ignore[attr-defined]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, LibraryModel):
            state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
            self._paint_ground(painter, box, state)
            is_selected = bool(state & QStyle.StateFlag.State_Selected)
            self._paint_model(painter, box, index, row, is_selected=is_selected)
        else:
            painter.setFont(self._font("caption")[0])
            painter.setPen(look.color("text_faint"))
            place = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
            painter.drawText(box.adjusted(0, 0, 0, -_HEAD_BELOW), place, str(index.data()))
        painter.restore()

    def _paint_ground(self, painter: QPainter, box: QRect, state: QStyle.StateFlag) -> None:
        look = self._looks.look
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        if is_selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent_soft" if is_selected else "hover"))
            painter.drawRoundedRect(box, _CORNER, _CORNER)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(look.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), _CORNER, _CORNER)

    def _paint_model(
        self, painter: QPainter, box: QRect, index: _Index, model: LibraryModel, *, is_selected: bool
    ) -> None:
        look = self._looks.look
        inner = box.adjusted(_PADDING, _ABOVE, -_PADDING, -_ABOVE)
        caption, small = self._font("caption")
        name_height = self._font("body")[1].height()
        badge = self._paint_badge(painter, inner, index, model)
        font, metrics = self._font("label", 600 if is_selected else None)
        room = QRect(inner.left(), inner.top(), inner.width() - badge, name_height)
        painter.setFont(font)
        painter.setPen(look.color("text"))
        name = metrics.elidedText(model.name, Qt.TextElideMode.ElideMiddle, room.width())
        painter.drawText(room, _LEFT, name)
        below = QRect(inner.left(), room.bottom() + 1 + _BETWEEN, inner.width(), small.height())
        painter.setFont(caption)
        painter.setPen(look.color("text_soft" if is_selected else "text_faint"))
        detail, apart, mode = (
            str(index.data(DETAIL_ROLE)),
            index.data(APART_ROLE),
            Qt.TextElideMode.ElideRight,
        )
        if apart is not None and small.horizontalAdvance(detail) > below.width():
            detail, mode = str(apart), Qt.TextElideMode.ElideMiddle  # names often differ at their end only
        shown = small.elidedText(detail, mode, below.width())
        painter.drawText(below, _LEFT, shown)

    def _paint_badge(self, painter: QPainter, inner: QRect, index: _Index, model: LibraryModel) -> int:
        """Paint the badge at the right end of the first line; return the room it takes with its gap."""
        look = self._looks.look
        if model.has_errors:
            size = round(_SIGN * look.zoom)
            at = QRectF(inner.right() + 1 - size, inner.top() + 1, size, size)
            paint_icon(painter, "error", at, look.color("danger_text"))
            return size + _GAP
        known = index.data(FIT_ROLE)
        if known is None:
            return 0
        fit = Fit(known)  # Qt hands an enum of text over as text
        words, (font, metrics) = fit_words(look, model, fit), self._font("caption")
        width, height = metrics.horizontalAdvance(words) + 2 * _CHIP_SIDES, metrics.height() + 2 * _CHIP_ABOVE
        chip = QRectF(inner.right() + 1 - width, inner.top() - 1, width, height)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color(f"{FIT_TONES[fit]}_soft"))
        painter.drawRoundedRect(chip, height / 2, height / 2)
        painter.setFont(font)
        painter.setPen(look.color(f"{FIT_TONES[fit]}_text"))
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, words)
        return width + _GAP

    def _font(self, style: str, weight: int | None = None) -> tuple[QFont, QFontMetrics]:
        """Return a font and its measures, made once: rows are painted often."""
        if (style, weight) not in self._fonts:
            font = self._looks.look.font(style, weight)
            self._fonts[style, weight] = font, QFontMetrics(font)
        return self._fonts[style, weight]
