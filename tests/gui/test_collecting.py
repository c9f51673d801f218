"""Garbage is looked for while nothing is under way."""

import gc
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.ui.collecting import Collecting


@pytest.fixture
def collecting(qtbot: QtBot) -> Iterator[Collecting]:
    collecting = Collecting(idle_interval_ms=20)
    yield collecting
    collecting.close()


def full_collections() -> int:
    """Return how many times everything was looked through."""
    return int(gc.get_stats()[2]["collections"])


def litter() -> None:
    """Leave so many objects behind that Python itself would look through everything more than once."""
    kept = []
    for _ in range(400_000):
        pair: list[object] = [None]
        pair[0] = [pair]
        kept.append(pair)


def test_what_stands_is_set_aside_and_python_starts_no_full_collection(collecting: Collecting) -> None:
    collecting.set_busy(is_busy=True)
    collecting.settle()
    assert gc.get_freeze_count() > 10_000
    before = full_collections()
    litter()
    assert full_collections() == before


def test_a_full_collection_waits_until_nothing_is_under_way(collecting: Collecting, qtbot: QtBot) -> None:
    collecting.set_busy(is_busy=True)
    collecting.settle()
    before = full_collections()
    qtbot.wait(100)
    assert full_collections() == before
    collecting.set_busy(is_busy=False)
    qtbot.waitUntil(lambda: full_collections() > before, timeout=2000)


def test_afterwards_all_is_as_it_was(collecting: Collecting) -> None:
    before = gc.get_threshold()
    collecting.settle()
    collecting.settle()
    collecting.close()
    collecting.close()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
