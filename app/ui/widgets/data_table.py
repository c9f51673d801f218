"""A table of many rows: read by keyboard, sorted by its heads, copied as tab-separated lines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.texts import Texts
from app.ui.theme.look import LookSource

Index = QModelIndex | QPersistentModelIndex
_ROW_PADDING: Final = 10
_LEAST_CHARACTERS: Final = 16
_CELL_PADDING: Final = 24
_MAX_CELL: Final = 300
"""Characters of a cell that are drawn; one of a million would be measured at every paint."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        key: Names it when a sort is asked for.
        text_key: Of its head.
        text: A row's cell in words.
        widest: Sample text that sets its width; None takes what the others leave.
        is_number: Aligned to the right.
        is_code: Set in the code font.
    """

    key: str
    text_key: str
    text: Callable[[Any, Texts], str]
    widest: str | None = None
    is_number: bool = False
    is_code: bool = False


class RowsModel(QAbstractTableModel):
    """Shows some of many rows in some order; a cell is put into words when it is drawn.

    Signals:
        sort_requested: a column's key, or an empty one for the rows' own order; and whether it falls.
    """

    sort_requested = Signal(str, bool)

    def __init__(self, looks: LookSource, columns: Sequence[Column]) -> None:
        super().__init__()
        self._looks = looks
        self.columns = tuple(columns)
        self._rows: Sequence[Any] = ()
        self._shown: Sequence[int] = ()
        self._sorted: tuple[str, str] = ("", "")
        self._heads: dict[str, str] = {}
        self.is_marked: Callable[[Any], bool] | None = None
        """Says which rows are written in amber; a sign in one of their cells says the same."""
        looks.changed.connect(self._on_look_changed)

    def show_rows(self, rows: Sequence[Any], shown: Sequence[int]) -> None:
        """Show those of `rows` whose indices are `shown`, in that order."""
        self.beginResetModel()
        self._rows, self._shown = rows, shown
        self.endResetModel()

    def set_heads(self, heads: Mapping[str, str]) -> None:
        """Name columns by what is compared in place of their own words."""
        self._heads = dict(heads)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)

    def row_at(self, line: int) -> Any:
        """Return the row shown in a line."""
        return self._rows[self._shown[line]]

    def line_text(self, line: int) -> str:
        """Return a line as tab-separated cells."""
        row, texts = self.row_at(line), self._looks.look.texts
        return "\t".join(_flat(column.text(row, texts)) for column in self.columns)

    def head_text(self) -> str:
        """Return the heads as tab-separated cells."""
        texts = self._looks.look.texts
        heads = (self._heads.get(column.key) or texts.text(column.text_key) for column in self.columns)
        return "\t".join(map(_flat, heads))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 Qt's signature
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 Qt's signature
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        column = self.columns[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            text = column.text(self.row_at(index.row()), self._looks.look.texts)
            return _flat(text[:_MAX_CELL]) if role == Qt.ItemDataRole.DisplayRole else text[: 4 * _MAX_CELL]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.FontRole and column.is_code:
            return self._looks.look.literal_font()
        if role == Qt.ItemDataRole.ForegroundRole and self.is_marked is not None:
            is_marked = self.is_marked(self.row_at(index.row()))
            return self._looks.look.color("warning_text") if is_marked else None
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            column = self.columns[section]
            arrow = self._sorted[1] if self._sorted[0] == column.key else ""
            return (self._heads.get(column.key) or self._looks.look.text(column.text_key)) + arrow
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = (
                Qt.AlignmentFlag.AlignRight if self.columns[section].is_number else Qt.AlignmentFlag.AlignLeft
            )
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        key = self.columns[column].key if 0 <= column < len(self.columns) else ""
        is_falling = order is Qt.SortOrder.DescendingOrder
        self._sorted = (key, "  ↓" if is_falling else "  ↑")
        self.sort_requested.emit(key, is_falling)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)

    def _on_look_changed(self) -> None:
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)


class DataTable(QTableView):
    """A table whose rows all have one height, so that any number of them costs nothing.

    Signals:
        copy_requested: Ctrl+C was pressed.
        row_activated: Enter or a double click on the line of this number.
    """

    copy_requested = Signal()
    row_activated = Signal(int)

    def __init__(self, looks: LookSource, model: RowsModel) -> None:
        super().__init__()
        self._looks = looks
        self._rows = model
        self.setModel(model)
        self.setProperty("surface", "table")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setCornerButtonEnabled(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head = self.horizontalHeader()
        # asked whether a column is selected, the table's own would look at each of its rows, at every paint
        head.setSelectionModel(QItemSelectionModel(model, self))
        head.setSectionsMovable(False)
        head.setHighlightSections(False)
        head.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        head.setSortIndicatorClearable(True)
        head.setMinimumSectionSize(48)
        self.setSortingEnabled(True)
        self.doubleClicked.connect(lambda index: self.row_activated.emit(index.row()))
        looks.changed.connect(self._on_look_changed)
        self._on_look_changed()

    def selected_lines(self) -> list[range]:
        """Return the selected lines as ranges, topmost first; cheap for any number of them."""
        selection = self.selectionModel().selection()
        areas = [selection.at(number) for number in range(selection.count())]
        ranges = [range(area.top(), area.bottom() + 1) for area in areas]
        return sorted(ranges, key=lambda lines: lines.start)

    def select_line(self, line: int) -> None:
        """Make a line the current and only selected one."""
        index = self._rows.index(line, 0)
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._share_the_rest()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.row_activated.emit(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def _on_look_changed(self) -> None:
        look = self._looks.look
        body, code = QFontMetrics(look.font("label")), QFontMetrics(look.font("code"))
        line = max(body.height(), code.height()) + round(_ROW_PADDING * look.zoom)
        self.verticalHeader().setDefaultSectionSize(line)
        head = self.horizontalHeader()
        for section, column in enumerate(self._rows.columns):
            if column.widest is None:
                continue
            metrics = code if column.is_code else body
            words = look.text(column.text_key) + "  ↓"
            width = max(metrics.horizontalAdvance(column.widest), body.horizontalAdvance(words))
            head.setSectionResizeMode(section, QHeaderView.ResizeMode.Interactive)
            head.resizeSection(section, width + round(_CELL_PADDING * look.zoom))
        self._share_the_rest()
        self.viewport().update()

    def _share_the_rest(self) -> None:
        """Give what the columns leave to those without a width; where that is too little, all scroll."""
        head, columns = self.horizontalHeader(), self._rows.columns
        open_ones = [section for section, column in enumerate(columns) if column.widest is None]
        taken = sum(head.sectionSize(n) for n in range(len(columns)) if n not in open_ones)
        least = QFontMetrics(self._looks.look.font("code")).horizontalAdvance("0" * _LEAST_CHARACTERS)
        has_room = self.viewport().width() - taken >= least * len(open_ones)
        mode = QHeaderView.ResizeMode.Stretch if has_room else QHeaderView.ResizeMode.Interactive
        for section in open_ones:
            head.setSectionResizeMode(section, mode)
            if not has_room:
                head.resizeSection(section, least)


def _flat(text: str) -> str:
    """Return a text in one line."""
    return text.replace("\r", " ").replace("\n", " ⏎ ").replace("\t", " ")
