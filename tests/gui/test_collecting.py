"""Garbage is looked for while nothing is under way."""

import gc
import threading
from collections.abc import Iterator
from typing import ClassVar

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


class Knot:
    """Holds itself, and notes the thread it ends in."""

    ended_in: ClassVar[list[threading.Thread]] = []

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        Knot.ended_in.append(threading.current_thread())


def test_no_other_thread_ends_what_the_window_left_behind(collecting: Collecting, qtbot: QtBot) -> None:
    collecting.start()
    Knot.ended_in.clear()
    Knot()
    thread = threading.Thread(target=litter)
    thread.start()
    thread.join()
    assert Knot.ended_in == []
    qtbot.waitUntil(lambda: bool(Knot.ended_in), timeout=5000)
    assert Knot.ended_in == [threading.main_thread()]


def test_afterwards_all_is_as_it_was(collecting: Collecting) -> None:
    collecting.settle()
    collecting.settle()
    collecting.close()
    collecting.close()
    assert gc.isenabled() is collecting.was_enabled
    assert gc.get_freeze_count() == 0
