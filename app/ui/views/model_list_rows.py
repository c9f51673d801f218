"""The rows of the list of models, for Qt's list view."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QStringListModel, Qt

from app.gguf.facts import FileKind
from app.ui.theme.look import Look, LookSource
from app.ui.views.library_facts import Fit, GroupRow, LibraryModel, LibraryRow, told_apart

ROW_ROLE: Final = Qt.ItemDataRole.UserRole + 1
FIT_ROLE: Final = Qt.ItemDataRole.UserRole + 2
DETAIL_ROLE: Final = Qt.ItemDataRole.UserRole + 3
APART_ROLE: Final = Qt.ItemDataRole.UserRole + 4
"""What tells a model from others of its name, with which its details begin; None where nothing has to."""

_Index = QModelIndex | QPersistentModelIndex


class ModelListRows(QStringListModel):
    """Models, and the heads of groups but for the first; how a model fits comes later than the model.

    Qt's own list of texts counts the rows: the view asks for their number once per row, and asks thousands of
    times faster than it could ask this class.
    """

    def __init__(self, looks: LookSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._all: tuple[LibraryRow, ...] = ()
        self._first: GroupRow | None = None
        self._rows: tuple[LibraryRow, ...] = ()
        self._fits: Mapping[Path, Fit] = {}
        self._apart: Mapping[Path, str] = {}

    def set_rows(self, rows: tuple[LibraryRow, ...]) -> bool:
        """Replace all rows; say whether anything is another."""
        if rows == self._all:
            return False
        first = rows[0] if rows else None
        self._all = rows
        self._apart = told_apart(rows)
        self._first = first if isinstance(first, GroupRow) else None
        self._rows = rows[1:] if self._first is not None else rows
        self.setStringList([""] * len(self._rows))
        return True

    def set_fits(self, fits: Mapping[Path, Fit]) -> None:
        """Set how models fit, without a signal; those that are not in it are not known yet."""
        self._fits = fits

    def row_at(self, number: int) -> LibraryRow | None:
        """Return a row."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def model_at(self, index: _Index) -> LibraryModel | None:
        """Return the model at `index`; None for the head of a group."""
        row = self.row_at(index.row()) if index.isValid() else None
        return row if isinstance(row, LibraryModel) else None

    def number_of(self, path: Path | None) -> int | None:
        """Return the row of a model."""
        if path is None:
            return None
        rows = enumerate(self._rows)
        return next((n for n, row in rows if isinstance(row, LibraryModel) and row.path == path), None)

    def group_at(self, number: int) -> GroupRow | None:
        """Return the head a row stands under."""
        above = (row for row in reversed(self._rows[: number + 1]) if isinstance(row, GroupRow))
        return next(above, self._first)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if self.model_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row_at(index.row()) if index.isValid() else None
        if row is None or role == ROW_ROLE:
            return row
        look = self._looks.look
        if isinstance(row, GroupRow):
            is_text = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return group_words(look, row) if is_text else None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.name
            case Qt.ItemDataRole.ToolTipRole:
                return str(row.path)
            case Qt.ItemDataRole.AccessibleTextRole:
                state = fit_words(look, row, self._fits.get(row.path))
                parts = [row.name, self._detail_of(row), state]
                return look.text("ui.list_separator").join(part for part in parts if part)
            case _ if role == FIT_ROLE:
                return self._fits.get(row.path)
            case _ if role == DETAIL_ROLE:
                return self._detail_of(row)
            case _ if role == APART_ROLE:
                return self._apart.get(row.path)
        return None

    def _detail_of(self, model: LibraryModel) -> str:
        words, apart = detail_words(self._looks.look, model), self._apart.get(model.path)
        return words if apart is None else f"{apart} · {words}"


def group_words(look: Look, row: GroupRow) -> str:
    """Return the head of a group in words."""
    return look.text(f"ui.models.group.{row.group}", count=row.count)


def detail_words(look: Look, model: LibraryModel) -> str:
    """Return quantization, size and what the model is."""
    parts = [model.quantization, look.text("ui.models.size", size=model.size_bytes)]
    if model.part_count > 1:
        parts.append(look.text("ui.models.parts", count=model.part_count))
    elif model.kind is FileKind.MODEL:
        parts.append(look.text("ui.models.moe" if model.is_moe else "ui.models.dense"))
    else:
        parts.append(look.text(f"ui.models.kind.{model.kind.value}"))
    if model.program is not None:
        parts.append(look.text(f"ui.models.program.{model.program}"))
    return " · ".join(part for part in parts if part)


def fit_words(look: Look, model: LibraryModel, fit: Fit | None) -> str:
    """Return the badge of a model; empty while it has none."""
    if model.has_errors:
        return look.text("ui.models.has_errors")
    return "" if fit is None else look.text(f"ui.models.fit.{fit.value}")
