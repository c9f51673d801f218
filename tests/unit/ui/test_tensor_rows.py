"""The tensor table prepared for searching and sorting."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gguf.facts import FileKind, ModelFacts, TensorClass, TensorInfo
from app.ui.views.model_details.numbers import (
    bits_text,
    context_text,
    fine_bytes,
    parameters_text,
    range_text,
)
from app.ui.views.model_details.tensor_rows import (
    TensorColumn,
    TensorQuery,
    TensorTable,
    steady_sorted,
    tensor_query,
    tensor_table,
)

MIB = 1024**2


def table_of(*tensors: TensorInfo) -> TensorTable:
    """Return the table of a model with these tensors."""
    return tensor_table(ModelFacts(Path("m.gguf"), FileKind.MODEL, tensors=tensors))


def tensor(
    name: str, shape: tuple[int, ...] = (4,), size_bytes: int | None = 16, shard: int = 0
) -> TensorInfo:
    """Return a tensor."""
    return TensorInfo(name, shape, "F32", 0, size_bytes, shard)


def names_by(table: TensorTable, column: TensorColumn) -> list[str]:
    """Return the names in the order of a column."""
    return [table.rows[index].tensor.name for index in table.orders[column]]


def test_names_are_sorted_as_people_count() -> None:
    table = table_of(*(tensor(f"blk.{n}.a") for n in (10, 2, 1)), tensor("output"), tensor("Blk.3.a"))
    assert names_by(table, TensorColumn.NAME) == ["blk.1.a", "blk.2.a", "Blk.3.a", "blk.10.a", "output"]


def test_what_has_no_value_comes_first() -> None:
    table = table_of(tensor("blk.0.a"), tensor("output", size_bytes=None))
    assert names_by(table, TensorColumn.LAYER) == ["output", "blk.0.a"]
    assert names_by(table, TensorColumn.SIZE) == ["output", "blk.0.a"]


def test_shapes_are_sorted_by_their_elements() -> None:
    table = table_of(tensor("a", (4, 4)), tensor("b", (15,)), tensor("c", (1, 1, 17)))
    assert names_by(table, TensorColumn.SHAPE) == ["b", "a", "c"]
    assert table.rows[2].shape_text == "1 × 1 × 17"


def test_a_row_knows_its_layer_and_its_class() -> None:
    row = table_of(tensor("blk.7.ffn_up_exps.weight")).rows[0]
    assert (row.layer, row.kind) == (7, TensorClass.ROUTED_EXPERTS)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", TensorQuery()),
        ("  /  ", TensorQuery()),
        ("Down EXPS", TensorQuery(("down", "exps"))),
        ("/12", TensorQuery((), 12, 12)),
        ("up /3-5", TensorQuery(("up",), 3, 5)),
        ("/x", TensorQuery(("/x",))),
        ("/12-", TensorQuery(("/12-",))),
    ],
)
def test_what_is_typed_is_read_as_words_and_layers(text: str, query: TensorQuery) -> None:
    assert tensor_query(text) == query


def test_a_layer_searched_leaves_out_what_has_none() -> None:
    rows = table_of(tensor("output"), tensor("blk.1.a"), tensor("blk.12.a")).rows
    assert [row.tensor.name for row in rows if tensor_query("/1").matches(row)] == ["blk.1.a"]
    assert [row.tensor.name for row in rows if tensor_query("/0-50 a").matches(row)] == [
        "blk.1.a",
        "blk.12.a",
    ]


@given(st.lists(st.integers(0, 20), max_size=60))
def test_sorting_in_short_runs_is_sorting(numbers: list[int]) -> None:
    indices = range(len(numbers))
    assert list(steady_sorted(indices, lambda index: numbers[index])) == sorted(
        indices, key=lambda index: numbers[index]
    )


def test_sorting_goes_on_past_the_length_of_a_run() -> None:
    numbers = [(index * 7919) % 5000 for index in range(5000)]
    order = list(steady_sorted(range(5000), lambda index: numbers[index]))
    assert [numbers[index] for index in order] == list(range(5000))


@given(st.text(max_size=30))
def test_any_name_has_a_place_in_the_order(name: str) -> None:
    table = table_of(tensor(name), tensor("blk.1.a"), tensor("1"))
    assert sorted(table.orders[TensorColumn.NAME]) == [0, 1, 2]


def test_counts_are_said_as_people_say_them() -> None:
    assert [parameters_text(n) for n in (None, 3_040_000_000, 110_470_000_000, 692_000_000, 950)] == [
        *("—", "3.0 B", "110 B", "692 M", "950"),
    ]
    assert [context_text(n) for n in (None, 8192, 40_960, 10 * MIB, 8000, 512)] == [
        *("—", "8k", "40k", "10M", "8,000", "512"),
    ]
    assert [bits_text(bits) for bits in (None, 4.844)] == ["—", "4.84"]
    assert [fine_bytes(n) for n in (900, 2 * MIB + MIB // 2, 350 * MIB)] == ["900 B", "2.5 MB", "350 MB"]


def test_a_range_says_its_unit_once_and_one_figure_where_both_are_alike() -> None:
    assert range_text(2 * MIB, 3 * MIB) == "2.0 – 3.0 MB"
    assert range_text(900 * 1024, 3 * MIB) == "900 KB – 3.0 MB"
    assert range_text(2 * MIB, 2 * MIB + 5) == "2.0 MB"
