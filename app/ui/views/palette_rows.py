"""The rows of the model palette, for Qt's list view, and how they are painted."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource

ROW_ROLE: Final = Qt.ItemDataRole.UserRole + 1
GROUPS: Final = ("recent", "found", "default")
"""The ends of their text keys, in the order shown."""

SHOWN_MOST: Final = 60

_CORNER: Final = 8
_ICON: Final = 20
_LEFT: Final = 12
_GAP: Final = 12
_PADDING: Final = 7
_MIDDLE_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class PaletteModel:
    """A model that can be picked.

    Attributes:
        detail: What it is or where it lies.
        group: One of `GROUPS`.
    """

    path: Path
    name: str
    detail: str
    group: str


@dataclass(frozen=True, slots=True)
class HeadRow:
    """The head of a group."""

    group: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """Opens the system's file dialog."""


PaletteRow = PaletteModel | HeadRow | FileRow


def palette_rows(models: tuple[PaletteModel, ...], words: str) -> tuple[PaletteRow, ...]:
    """Return heads and the models whose name, detail or file name holds all `words`; the file dialog is last.

    A model that is in two groups is shown in the first. Of a group no more than `SHOWN_MOST`: who has more
    types another letter.
    """
    parts = words.casefold().split()
    rows: list[PaletteRow] = []
    seen: set[Path] = set()
    for group in GROUPS:
        matching = (m for m in models if m.group == group and m.path not in seen and _matches(m, parts))
        members = list(islice(matching, SHOWN_MOST))
        seen.update(member.path for member in members)
        if members:
            rows += [HeadRow(group), *members]
    return (*rows, FileRow())


class PaletteRows(QAbstractListModel):
    """Heads, models and the way to the file dialog."""

    def __init__(self, looks: LookSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._rows: tuple[PaletteRow, ...] = ()

    def set_rows(self, rows: tuple[PaletteRow, ...]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row_at(self, index: _Index) -> PaletteRow | None:
        """Return the row at `index`."""
        return self._rows[index.row()] if index.isValid() else None

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 Qt's signature
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if isinstance(self.row_at(index), HeadRow | None):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row_at(index)
        if role == ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return str(row.path) if isinstance(row, PaletteModel) else None
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        if isinstance(row, PaletteModel):
            return row.name if role == Qt.ItemDataRole.DisplayRole else f"{row.name}, {row.detail}"
        if isinstance(row, HeadRow):
            return self._looks.look.text(f"ui.palette.{row.group}")
        return self._looks.look.text("ui.palette.choose_file")


class PaletteDelegate(QStyledItemDelegate):
    """A model is two lines with the mark of models; the selected one has a tinted ground."""

    def __init__(self, looks: LookSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._looks = looks

    def sizeHint(self, _option: QStyleOptionViewItem, index: _Index) -> QSize:
        row = index.data(ROW_ROLE)
        if isinstance(row, HeadRow):
            return QSize(60, self._height("caption") + (8 if index.row() else 0) + 3)
        if isinstance(row, PaletteModel):
            return QSize(60, self._height("body") + self._height("caption") + 2 * _PADDING)
        return QSize(60, self._height("body") + 2 * _PADDING + 4)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        look, row = self._looks.look, index.data(ROW_ROLE)
        box: QRect = option.rect  # type: ignore[attr-defined]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, HeadRow):
            painter.setFont(look.font("caption"))
            painter.setPen(look.color("text_faint"))
            words = box.adjusted(_LEFT, 8 if index.row() else 0, 0, -3)
            painter.drawText(words, _MIDDLE_LEFT, str(index.data()))
        else:
            self._paint_ground(painter, option)
            detail = row.detail if isinstance(row, PaletteModel) else ""
            self._paint_lines(painter, box, str(index.data()), detail)
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        look = self._looks.look
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        if is_selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent_soft" if is_selected else "hover"))
            painter.drawRoundedRect(option.rect, _CORNER, _CORNER)  # type: ignore[attr-defined]

    def _paint_lines(self, painter: QPainter, box: QRect, name: str, detail: str) -> None:
        look = self._looks.look
        icon_box = QRectF(box.left() + _LEFT, box.center().y() - _ICON / 2 + 1, _ICON, _ICON)
        paint_icon(painter, "models" if detail else "folder", icon_box, look.color("accent_text"))
        left = _LEFT + _ICON + _GAP
        room = box.adjusted(left, _PADDING if detail else 0, -_LEFT, -_PADDING if detail else 0)
        lines = [(name, "body", 500, "text"), (detail, "caption", 400, "text_soft")]
        for text, style, weight, ink in lines if detail else lines[:1]:
            font = look.font(style, weight)
            height = QFontMetrics(font).height() if detail else room.height()
            line = QRect(room.left(), room.top(), room.width(), height)
            painter.setFont(font)
            painter.setPen(look.color(ink))
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideMiddle, room.width())
            painter.drawText(line, _MIDDLE_LEFT, shown)
            room.setTop(room.top() + height)

    def _height(self, style: str) -> int:
        return QFontMetrics(self._looks.look.font(style)).height()


def _matches(model: PaletteModel, parts: list[str]) -> bool:
    text = f"{model.name} {model.detail} {model.path.name}".casefold()
    return all(part in text for part in parts)
