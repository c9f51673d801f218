"""The speed while an answer comes: prompt apart, whole from the first second on."""

import pytest

from app.engine.protocol import PromptProgress, Token
from app.ui.controllers.speed_meter import INTERVAL_SECONDS, Speed, SpeedMeter


def speeds_of(meter: SpeedMeter, tokens: int, *, first_at: float, per_chunk: int = 1) -> list[Speed]:
    told = [meter.feed(Token(1, "first"), first_at)]
    for number in range(per_chunk, tokens + 1, per_chunk):
        event = Token(1, "x", token_count=per_chunk)
        told.append(meter.feed(event, first_at + number * 0.02))
    return [speed for speed in told if speed is not None]


@pytest.mark.parametrize("per_chunk", [1, 5])
@pytest.mark.parametrize("first_at", [0.1, 10.0])
def test_the_prompt_does_not_slow_the_answer_down(first_at: float, per_chunk: int) -> None:
    first, *told = speeds_of(SpeedMeter(0.0), 200, first_at=first_at, per_chunk=per_chunk)
    assert first == Speed(None, is_prefill=False)
    assert len(told) >= 5
    assert all(not speed.is_prefill for speed in told)
    assert all(speed.tokens_per_second == pytest.approx(50, abs=1) for speed in told)


def test_reading_the_prompt_has_a_speed_of_its_own() -> None:
    meter = SpeedMeter(0.0)
    told = [meter.feed(PromptProgress(1, number * 128, 1024), number * 0.25) for number in range(1, 9)]
    assert [speed.tokens_per_second for speed in told if speed] == [pytest.approx(512)] * 4
    assert all(speed.is_prefill for speed in told if speed)


def test_speeds_are_told_a_few_times_a_second_however_fast_tokens_come() -> None:
    meter = SpeedMeter(0.0)
    meter.feed(Token(1, "first"), 0.0)
    told = [meter.feed(Token(1, "x"), number / 1000) for number in range(2000)]
    assert len([speed for speed in told if speed]) <= 2 / INTERVAL_SECONDS


def test_an_engine_slower_than_a_token_a_second_has_a_speed() -> None:
    meter = SpeedMeter(0.0)
    meter.feed(Token(1, "first"), 1.0)
    assert meter.feed(Token(1, "x"), 3.0) == Speed(0.5, is_prefill=False)
