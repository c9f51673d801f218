"""The charts' memory: fixed, in order, honest about gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui.charts.ring import LONGEST_STEP_SECONDS, Ring
from app.ui.charts.scale import Scale, round_scale, tick_text

DAY_SECONDS = 86_400


def ring_of(*rows: tuple[float, float | None], capacity: int = 16) -> Ring:
    ring = Ring(("heat",), capacity)
    for seconds, value in rows:
        ring.append(seconds, {"heat": value})
    return ring


def test_values_come_back_as_they_were_given_oldest_first() -> None:
    ring = ring_of((1.0, 10.0), (2.0, 20.0), (3.0, 30.0))
    assert ring.times.tolist() == [1.0, 2.0, 3.0]
    assert ring.values("heat").tolist() == [10.0, 20.0, 30.0]
    assert ring.latest("heat") == 30.0


def test_a_value_the_source_did_not_give_is_a_gap_and_not_zero() -> None:
    ring = ring_of((1.0, 10.0), (2.0, None))
    assert np.isnan(ring.values("heat")[1])
    assert ring.latest("heat") is None


def test_a_name_that_was_left_out_has_no_value() -> None:
    ring = Ring(("heat", "power"), 4)
    ring.append(1.0, {"heat": 1.0})
    assert not ring.has_values("power")
    assert ring.has_values("heat")


def test_a_full_ring_forgets_the_oldest() -> None:
    ring = ring_of(*((float(second), float(second)) for second in range(40)), capacity=16)
    assert ring.values("heat").tolist() == [float(second) for second in range(24, 40)]


def test_a_long_silence_leaves_a_gap() -> None:
    ring = ring_of((0.0, 1.0), (LONGEST_STEP_SECONDS + 1, 2.0))
    assert ring.values("heat").tolist()[::2] == [1.0, 2.0]
    assert np.isnan(ring.values("heat")[1])


def test_a_short_silence_leaves_none() -> None:
    assert len(ring_of((0.0, 1.0), (LONGEST_STEP_SECONDS, 2.0))) == 2


def test_a_clock_that_steps_back_leaves_a_gap_and_time_goes_on() -> None:
    ring = ring_of((1000.0, 1.0))
    placed = ring.append(5.0, {"heat": 2.0})
    after = ring.append(6.0, {"heat": 3.0})
    assert placed == 1000.0 + LONGEST_STEP_SECONDS
    assert after == placed + 1.0
    assert np.isnan(ring.values("heat")[1])
    assert np.all(np.diff(ring.times) > 0)


def test_a_break_leaves_a_gap_however_short_the_step() -> None:
    ring = ring_of((1.0, 1.0))
    ring.break_line()
    ring.append(2.0, {"heat": 2.0})
    assert np.isnan(ring.values("heat")[1])
    assert len(ring) == 3


def test_the_row_near_a_moment_is_the_nearest_one() -> None:
    ring = ring_of((1.0, 1.0), (2.0, 2.0), (3.0, 3.0))
    assert [ring.index_near(seconds) for seconds in (-5.0, 1.4, 1.6, 99.0)] == [0, 0, 1, 2]
    assert Ring(("heat",), 4).index_near(1.0) is None


def test_a_day_of_samples_takes_the_memory_of_the_first() -> None:
    ring = Ring(("heat",), 512)
    before = ring.byte_count
    cells = ring.values("heat").base
    for half in range(2 * DAY_SECONDS):
        ring.append(half / 2, {"heat": float(half)})
    assert ring.byte_count == before
    assert ring.values("heat").base is cells
    assert len(ring) == 512
    assert ring.latest("heat") == 2.0 * DAY_SECONDS - 1


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e9, 1e9)), max_size=60))
def test_times_never_fall_and_the_newest_value_is_there_whatever_comes(
    rows: list[tuple[float, float]],
) -> None:
    ring = ring_of(*rows, capacity=8)
    assert len(ring) <= 8
    assert np.all(np.diff(ring.times) >= 0)
    assert ring.latest("heat") == (rows[-1][1] if rows else None)


@pytest.mark.parametrize(
    ("largest", "least", "expected"),
    [
        (None, 4.0, 4.0),
        (3.0, 4.0, 4.0),
        (31.5, 4.0, 40.0),
        (117.0, 40.0, 120.0),
        (0.0, 10.0, 10.0),
        (9.9, 1.0, 10.0),
    ],
)
def test_a_scale_is_the_smallest_round_one_that_holds_the_curve(
    largest: float | None, least: float, expected: float
) -> None:
    assert round_scale(largest, least).highest_tick == pytest.approx(expected)


@given(st.floats(1e-3, 1e12))
def test_every_curve_stays_below_the_upper_edge(largest: float) -> None:
    assert round_scale(largest, 1e-3).top > largest


def test_ticks_are_nothing_the_half_and_the_whole() -> None:
    assert [tick_text(tick) for tick in Scale(12.0).ticks] == ["0", "6", "12"]
    assert [tick_text(tick) for tick in Scale(23.988).ticks] == ["0", "12", "24"]
