"""All key-values of a model's file."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtGui import QGuiApplication

from app.gguf.metadata_rows import MetadataRow
from app.texts import NO_VALUE, Texts
from app.ui.theme.look import LookSource
from app.ui.views.model_details.table_section import TableSection
from app.ui.widgets.buttons import Button
from app.ui.widgets.data_table import Column
from app.ui.widgets.dialogs import TextDialog
from app.ui.widgets.labels import TextLabel


class MetadataSection(TableSection):
    """Keys and values with their search; a long value opens in a window of its own."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__(looks, "ui.details.tab.metadata", "ui.details.metadata.search", _COLUMNS)
        self._values: Sequence[MetadataRow] = ()
        self._orders: dict[str, tuple[int, ...]] = {}
        self._reason: str | None = None
        self.dialog: TextDialog | None = None
        self.show_button = Button(looks, "ghost", size="compact")
        self.value_button = Button(looks, "ghost", "copy", size="compact")
        self._problem = TextLabel("caption", "danger", wrap=True)
        self.buttons.addWidget(self.show_button)
        self.buttons.addWidget(self.value_button)
        self.body.addWidget(self._problem)
        self.show_button.clicked.connect(self.open_value)
        self.value_button.clicked.connect(self.copy_value)
        self.table.row_activated.connect(self.open_value)
        self.table.selectionModel().currentChanged.connect(self._set_enabled)
        self.rows_model.modelReset.connect(self._set_enabled)
        looks.changed.connect(self._set_own_words)
        self._set_own_words()
        self._set_enabled()

    def show_metadata(self, rows: Sequence[MetadataRow], problem: str | None) -> None:
        """Show other rows, or the reason why there are none."""
        self._values, self._orders, self._reason = rows, {}, problem
        self.show_row_objects(rows)
        self._set_own_words()

    def matcher(self, query: str) -> Callable[[int], bool] | None:
        words, rows = query.casefold().split(), self._values
        if not words:
            return None
        return lambda index: all(
            word in rows[index].key.casefold() or word in rows[index].value.casefold() for word in words
        )

    def order_of(self, key: str, *, is_falling: bool) -> Sequence[int]:
        if not key:
            return range(len(self._values))
        if key not in self._orders:
            sort_key = _SORT_KEYS[key]
            order = sorted(range(len(self._values)), key=lambda index: sort_key(self._values[index]))
            self._orders[key] = tuple(order)
        return self._orders[key][::-1] if is_falling else self._orders[key]

    def open_value(self) -> None:
        """Show the whole value of the current row."""
        if (current := self._current()) is None:
            return
        look, value = self._looks.look, current.value
        text = look.text("ui.details.value_cut", value=value) if current.is_cut else value
        self.dialog = TextDialog(self._looks, current.key, text, self.window())
        self.dialog.open()

    def copy_value(self) -> None:
        """Put the value of the current row on the clipboard."""
        if (current := self._current()) is not None:
            QGuiApplication.clipboard().setText(current.value)
            self._count.setText(self._looks.look.text("ui.details.value_copied"))
            self._said.start()

    def _current(self) -> MetadataRow | None:
        index = self.table.currentIndex()
        return self.rows_model.row_at(index.row()) if index.isValid() else None

    def _set_enabled(self) -> None:
        has_row = self.table.currentIndex().isValid()
        self.show_button.setEnabled(has_row)
        self.value_button.setEnabled(has_row)

    def _set_own_words(self) -> None:
        look = self._looks.look
        self.show_button.setText(look.text("ui.details.show_value"))
        self.value_button.setText(look.text("ui.details.copy_value"))
        self._problem.setVisible(self._reason is not None)
        self._problem.setText(look.text("ui.details.metadata.problem", reason=self._reason))


def _key(row: MetadataRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return row.key


def _type(row: MetadataRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return row.type_name


def _value(row: MetadataRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return row.value


def _elements(row: MetadataRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return NO_VALUE if row.element_count is None else f"{row.element_count:,}"


def _offset(row: MetadataRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return f"{row.offset_bytes:,}"


_COLUMNS = (
    Column("key", "ui.details.column.key", _key, "qwen3moe.attention.head_count_kv", is_code=True),
    Column("type", "ui.details.column.type", _type, "str[]"),
    Column("value", "ui.details.column.value", _value),
    Column("elements", "ui.details.column.elements", _elements, "151,936", is_number=True),
    Column("offset", "ui.details.column.offset", _offset, "9,999,999", is_number=True),
)
_SORT_KEYS: dict[str, Callable[[MetadataRow], Any]] = {
    "key": lambda row: row.key.casefold(),
    "type": lambda row: row.type_name,
    "value": lambda row: row.value[:256].casefold(),
    "elements": lambda row: -1 if row.element_count is None else row.element_count,
    "offset": lambda row: row.offset_bytes,
}
