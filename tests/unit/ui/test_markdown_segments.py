"""Long texts are read in pieces, and the pieces are the whole text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui.markdown.blocks import Fence, Prose, Table
from app.ui.markdown.parser import parse
from app.ui.markdown.segments import SEGMENT, SEGMENT_MAX, segments

STEP_SECONDS = 0.05
SLACK = 3


def table(columns: int, rows: int) -> str:
    """Return a table in Markdown."""
    line = "|" + "|".join(f"v{number}" for number in range(columns)) + "|"
    return "\n".join([line, "|" + "---|" * columns, *[line] * rows])


TEXTS = {
    "ordered": "\n".join(f"{number + 1}. item number {number}" for number in range(10_000)),
    "bullets": "\n".join(f"- item number {number}" for number in range(10_000)),
    "lines": "a line of forty characters, more or less\n" * 5_000,
    "quote": "> a quoted line\n" * 8_000,
    "wide table": table(400, 100),
    "long table": table(2, 20_000),
    "many small tables": f"{table(1, 400)}\n\n" * 60,
    "only delimiters": "|-|\n" * 50_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_no_step_of_reading_takes_long(name: str) -> None:
    blocks = parse(TEXTS[name])
    longest = 0.0
    while True:
        started = time.thread_time()
        block = next(blocks, None)
        longest = max(longest, time.thread_time() - started)
        if block is None:
            break
    assert longest <= STEP_SECONDS * SLACK


@given(
    st.lists(
        st.sampled_from(["- a", "1. b", "| c |", "|-|", "```", "", "> d", "  e", "f" * 3_000]), max_size=30
    )
)
def test_the_pieces_are_the_whole_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "\n".join(segment.text for segment in segments(text)) == text


def test_a_long_list_keeps_its_numbers_across_the_cuts() -> None:
    markers = [
        paragraph.marker
        for block in parse(TEXTS["ordered"])
        if isinstance(block, Prose)
        for paragraph in block.paragraphs
    ]
    assert markers == [f"{number + 1}." for number in range(10_000)]


def test_a_paragraph_without_end_is_cut_at_a_line() -> None:
    sizes = [len(segment.text) for segment in segments(TEXTS["lines"])]
    assert len(sizes) > 5
    assert SEGMENT < max(sizes) <= SEGMENT_MAX + 100


def test_a_large_table_stays_as_it_was_written() -> None:
    before, grid, after = parse(f"Words\n\n{table(41, 2)}\n\nMore")
    assert isinstance(before, Prose) and isinstance(after, Prose)
    assert grid == Fence("", table(41, 2))


def test_a_table_of_a_thousand_cells_is_drawn_as_one() -> None:
    (drawn,) = parse(table(4, 249))
    assert isinstance(drawn, Table) and len(drawn.rows) == 249


def test_a_large_table_in_code_is_code() -> None:
    (code,) = parse(f"```text\n{table(50, 1)}\n```")
    assert code == Fence("text", table(50, 1))
