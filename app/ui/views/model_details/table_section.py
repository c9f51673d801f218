"""A searched, sorted and copied table: what tensors and metadata have in common."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import LookSource
from app.ui.views.model_details.row_search import RowSearch
from app.ui.views.slices import Slices
from app.ui.widgets.buttons import Button
from app.ui.widgets.data_table import Column, DataTable, RowsModel
from app.ui.widgets.fields import SearchField
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import FlowLayout, column, holder, row

_COPY_STEP: Final = 32
_COPY_SECONDS: Final = 0.0025
_TABLE_HEIGHT: Final = 300
_SAID_MS: Final = 2500


class TableSection(QWidget):
    """A field to search in above a table; what is not in sight is not filled.

    Signals:
        rows_copied: how many rows went to the clipboard.
    """

    rows_copied = Signal(int)

    def __init__(self, looks: LookSource, name_key: str, search_key: str, columns: Sequence[Column]) -> None:
        super().__init__()
        self._looks = looks
        self._keys = (name_key, search_key)
        self._rows: Sequence[Any] = ()
        self._sorted: tuple[str, bool] = ("", False)
        self._is_outdated = False
        self.search = SearchField(looks)
        self.rows_model = RowsModel(looks, columns)
        self.table = DataTable(looks, self.rows_model)
        self.table.setMinimumHeight(_TABLE_HEIGHT)
        self._count = TextLabel("caption", "soft")
        self._nothing = TextLabel("caption", "soft", wrap=True)
        self.copy_button = Button(looks, "ghost", "copy", size="compact")
        self._row_search = RowSearch(self)
        self._copying = Slices(self, _COPY_SECONDS)
        self._said = QTimer(self, singleShot=True, interval=_SAID_MS)
        self.buttons = FlowLayout(self.copy_button, gap=4)
        bar = row(self.search, self._count, holder(column(None, self.buttons, None, gap=0)))
        bar.setStretch(0, 1)
        self.body = column(bar, self._nothing, self.table, gap=8)
        self.body.setStretch(2, 1)
        self.setLayout(self.body)
        self.setFocusProxy(self.search)
        self._connect()
        self._set_words()

    def show_row_objects(self, rows: Sequence[Any]) -> None:
        """Show other rows; the search stays as it is, the order becomes the rows' own."""
        self._rows = rows
        self._sorted = ("", False)
        self.table.horizontalHeader().setSortIndicator(-1, self.table.horizontalHeader().sortIndicatorOrder())
        self._search_again()

    def matcher(self, query: str) -> Callable[[int], bool] | None:
        """Return what says whether a row is searched; None where all are."""
        raise NotImplementedError

    def order_of(self, key: str, *, is_falling: bool) -> Sequence[int]:
        """Return the indices of all rows in the order of a column, or in their own for an empty key."""
        raise NotImplementedError

    def copy_rows(self) -> None:
        """Put the selected rows, or all that are shown, on the clipboard as tab-separated lines."""
        chosen = self.table.selected_lines() or [range(self.rows_model.rowCount())]
        if not any(chosen):
            return
        parts = [self.rows_model.head_text() + "\n"]
        count = sum(map(len, chosen))
        steps = self._part_steps(chosen, parts)
        self._copying.start(steps, lambda: self._on_copied("".join(parts), count), _COPY_SECONDS)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_outdated:
            self._search_again()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._is_outdated = self._is_outdated or self._row_search.is_running
        self._row_search.stop()
        self._copying.stop()

    def _connect(self) -> None:
        self.search.textChanged.connect(self._search_again)
        self.rows_model.sort_requested.connect(self._on_sort_requested)
        self.table.copy_requested.connect(self.copy_rows)
        self.copy_button.clicked.connect(self.copy_rows)
        self._row_search.found.connect(self._on_found)
        self._said.timeout.connect(self._say_count)
        self._looks.changed.connect(self._set_words)

    def _search_again(self) -> None:
        self._is_outdated = not self.isVisible()
        if self._is_outdated:
            return
        key, is_falling = self._sorted
        order = self.order_of(key, is_falling=is_falling)
        self._row_search.start(order, self.matcher(self.search.text()))

    def _on_sort_requested(self, key: str, is_falling: bool) -> None:
        if (key, is_falling) != self._sorted:
            self._sorted = (key, is_falling)
            self._search_again()

    def _on_found(self, shown: Sequence[int]) -> None:
        self.rows_model.show_rows(self._rows, shown)
        self._say_count()

    def _part_steps(self, chosen: Sequence[range], parts: list[str]) -> Iterator[None]:
        """Add the lines to `parts`, some at a step, so that few are left to be joined."""
        lines = (line for part in chosen for line in part)
        while some := tuple(islice(lines, _COPY_STEP)):
            parts.append("".join(f"{self.rows_model.line_text(line)}\n" for line in some))
            yield

    def _on_copied(self, text: str, count: int) -> None:
        QGuiApplication.clipboard().setText(text)
        self._count.setText(self._looks.look.text("ui.details.copied", rows=count))
        self._said.start()
        self.rows_copied.emit(count)

    def _say_count(self) -> None:
        look, shown, total = self._looks.look, self.rows_model.rowCount(), len(self._rows)
        key = "ui.details.all" if shown == total else "ui.details.found"
        self._count.setText(look.text(key, shown=shown, total=total))
        query = self.search.text()
        self._nothing.setText(look.text("ui.details.nothing_found", query=query) if total else "")
        self._nothing.setVisible(shown == 0 and total > 0)

    def _set_words(self) -> None:
        look = self._looks.look
        self.search.set_words(look.text(self._keys[1]))
        self.table.setAccessibleName(look.text(self._keys[0]))
        self.copy_button.setText(look.text("ui.details.copy_rows"))
        self._say_count()
