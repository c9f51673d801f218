"""All tensors of a model."""

from collections.abc import Callable, Sequence

from app.texts import NO_VALUE, Texts, format_bytes
from app.ui.theme.look import LookSource
from app.ui.views.model_details.table_section import TableSection
from app.ui.views.model_details.tensor_rows import (
    NO_TENSORS,
    TensorColumn,
    TensorRow,
    TensorTable,
    tensor_query,
)
from app.ui.widgets.data_table import Column


class TensorSection(TableSection):
    """The tensor table with its search: part of a name, `/12` for a layer."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__(looks, "ui.details.tab.tensors", "ui.details.tensors.search", _COLUMNS)
        self._tensors = NO_TENSORS

    def show_tensors(self, tensors: TensorTable) -> None:
        """Show other tensors."""
        self._tensors = tensors
        self.show_row_objects(tensors.rows)
        part = list(TensorColumn).index(TensorColumn.PART)
        self.table.setColumnHidden(part, tensors.part_count < 2)

    def matcher(self, query: str) -> Callable[[int], bool] | None:
        wanted, rows = tensor_query(query), self._tensors.rows
        return None if wanted.is_empty else lambda index: wanted.matches(rows[index])

    def order_of(self, key: str, *, is_falling: bool) -> Sequence[int]:
        if not key:
            return range(len(self._tensors.rows))
        order = self._tensors.orders.get(TensorColumn(key), ())
        return order[::-1] if is_falling else order


def _name(row: TensorRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return row.tensor.name


def _shape(row: TensorRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return row.shape_text


def _type(row: TensorRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return row.tensor.type_name


def _size(row: TensorRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return NO_VALUE if row.tensor.size_bytes is None else format_bytes(row.tensor.size_bytes)


def _layer(row: TensorRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return NO_VALUE if row.layer is None else str(row.layer)


def _class(row: TensorRow, texts: Texts) -> str:
    return texts.text(f"ui.details.class.{row.kind.value}")


def _part(row: TensorRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return str(row.tensor.shard + 1)


_COLUMNS = (
    Column(TensorColumn.NAME, "ui.details.column.name", _name, is_code=True),
    Column(TensorColumn.SHAPE, "ui.details.column.shape", _shape, "16384 × 5120 × 128", is_number=True),
    Column(TensorColumn.TYPE, "ui.details.column.type", _type, "IQ3_XXS"),
    Column(TensorColumn.SIZE, "ui.details.column.size", _size, "999 MB", is_number=True),
    Column(TensorColumn.LAYER, "ui.details.column.layer", _layer, "100", is_number=True),
    Column(TensorColumn.CLASS, "ui.details.column.class", _class, "Dense feed-forward"),
    Column(TensorColumn.PART, "ui.details.column.part", _part, "10", is_number=True),
)
