"""Engines' figures on disk: kept, bounded, and never a reason to fail."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingError
from app.planner.accuracy import Measured, Source
from app.planner.accuracy_store import MOST_FIGURES, AccuracyStore, read_figures
from app.planner.corrections import PartGroup

FIGURE = Measured("llama-server b1", "llama", "CPU", PartGroup.WEIGHTS, 1, 2, Source.BREAKDOWN)


def test_what_was_added_is_there_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "plan-accuracy.json"
    AccuracyStore(file).add([FIGURE, replace(FIGURE, engine_bytes=3)])
    assert AccuracyStore(file).figures() == (FIGURE, replace(FIGURE, engine_bytes=3))


def test_the_same_figure_again_becomes_the_newest() -> None:
    store = AccuracyStore(None)
    other = replace(FIGURE, engine_bytes=3)
    store.add([FIGURE, other])
    store.add([FIGURE])
    assert store.figures() == (other, FIGURE)


def test_the_oldest_figures_go(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    store = AccuracyStore(file)
    store.add(replace(FIGURE, engine_bytes=size) for size in range(MOST_FIGURES + 10))
    assert len(store.figures()) == MOST_FIGURES
    assert store.figures()[0].engine_bytes == 10
    assert AccuracyStore(file).figures() == store.figures()


def test_figures_that_cannot_be_kept_count_until_the_end(tmp_path: Path) -> None:
    store = AccuracyStore(tmp_path / "missing" / "a.json")
    with pytest.raises(FindingError):
        store.add([FIGURE])
    assert store.figures() == (FIGURE,)


def test_what_is_no_figure_is_left_out() -> None:
    good = asdict(FIGURE)
    bad: list[object] = [
        *({**good, "planned_bytes": size} for size in (-1, 1.5, True, None, "1", 2**63)),
        *({**good, "part": "x"}, {**good, "source": 1}, {**good, "build": ""}, {**good, "device": "x" * 500}),
        *({}, [], None, 1),
    ]
    assert read_figures(json.dumps([*bad, good]).encode()) == (FIGURE,)
    assert read_figures(b"{}") == read_figures(b"\xff") == read_figures(b"[" * 100_000) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from([*asdict(FIGURE), "x"]), inner, max_size=8)
    ),
    max_leaves=20,
)


@given(st.one_of(st.binary(max_size=400), JSON.map(lambda value: json.dumps(value).encode())))
def test_no_file_makes_it_raise(content: bytes) -> None:
    for figure in read_figures(content):
        assert figure.planned_bytes >= 0
