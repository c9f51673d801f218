"""How a row of the list of conversations is painted, and renamed in place."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.conversation_groups import ChatRow
from app.ui.views.conversation_model import CURRENT_ROLE, ROW_ROLE, WHEN_ROLE

CORNER: Final = 8
PADDING: Final = 10
ROW_PADDING: Final = 8
HEAD_BELOW: Final = 4
GAP: Final = 8

_Index = QModelIndex | QPersistentModelIndex
_BOTTOM_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
_MIDDLE_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_MIDDLE_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ConversationDelegate(QStyledItemDelegate):
    """Title left, time right; the open chat has a tinted ground and a heavier title."""

    def __init__(self, looks: LookSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._looks = looks

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Return one height for all rows: the view asks once, however many there are."""
        return QSize(60, QFontMetrics(self._looks.look.font("body")).height() + 2 * ROW_PADDING)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row = index.data(ROW_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box: QRect = option.rect  # type: ignore[attr-defined]
        if isinstance(row, ChatRow):
            self._paint_ground(painter, option, is_open=bool(index.data(CURRENT_ROLE)))
            self._paint_chat(painter, box, index, str(index.data(WHEN_ROLE)))
        else:
            look = self._looks.look
            painter.setFont(look.font("caption"))
            painter.setPen(look.color("text_faint"))
            painter.drawText(box.adjusted(0, 0, 0, -HEAD_BELOW), _BOTTOM_LEFT, str(index.data()))
        painter.restore()

    def createEditor(self, parent: QWidget, _option: QStyleOptionViewItem, _index: _Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setProperty("compact", True)
        editor.setAccessibleName(self._looks.look.text("ui.chats.rename"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, _index: _Index) -> None:
        editor.setGeometry(option.rect)  # type: ignore[attr-defined]

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, *, is_open: bool) -> None:
        look = self._looks.look
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        box: QRect = option.rect  # type: ignore[attr-defined]
        is_hot = bool(state & QStyle.StateFlag.State_MouseOver)
        if is_open or is_hot:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent_soft" if is_open else "hover"))
            painter.drawRoundedRect(box, CORNER, CORNER)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(look.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), CORNER, CORNER)

    def _paint_chat(self, painter: QPainter, box: QRect, index: _Index, when: str) -> None:
        look, is_open = self._looks.look, bool(index.data(CURRENT_ROLE))
        inner = box.adjusted(PADDING, 0, -PADDING, 0)
        caption = look.font("caption")
        when_width = QFontMetrics(caption).horizontalAdvance(when)
        painter.setFont(caption)
        painter.setPen(look.color("text_soft" if is_open else "text_faint"))
        painter.drawText(inner, _MIDDLE_RIGHT, when)
        title_font = look.font("body", 500 if is_open else 400)
        painter.setFont(title_font)
        painter.setPen(look.color("text"))
        room = inner.adjusted(0, 0, -(when_width + GAP), 0)
        title = str(index.data()).replace("\n", " ")
        shown = QFontMetrics(title_font).elidedText(title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, _MIDDLE_LEFT, shown)
