"""What is said of a plan's speed: what it rests on, the token cycle, and what would be faster."""

from dataclasses import replace

import pytest

from app.planner.facts import DiskReads, ExpertCacheOutlook, SpeedForecast, SpeedRange
from app.planner.measured_speeds import SpeedBasis
from app.planner.speed_gains import GainKind, SpeedGain
from app.texts import LANGUAGES, Texts
from app.ui.views.plan_speed import basis_words, gain_lines, speed_lines
from app.ui.views.plan_words import chosen_step, step_memory, steps_of
from app.ui.views.words import say
from tests.plan_views import planned_view

TOLD = SpeedForecast(
    decode=SpeedRange(2.0, 5.0),
    expected=3.0,
    basis=SpeedBasis.CALIBRATED,
    seconds_by_tier={"ram": 0.3},
    prefill=SpeedRange(40.0, 90.0),
    prompt_tokens=512,
    first_answer_seconds=(5.9, 13.2),
)
DISK = DiskReads(4 * 1024**3, 3 * 1024**3, 0.0, False, 4 * 1024**3, 2e9)
ENGLISH = Texts("en")


def said(told: SpeedForecast | None) -> str:
    plan = planned_view().plan
    assert plan is not None
    return "\n".join(say(ENGLISH, words) for words in speed_lines(replace(plan, forecast=told)))


def test_a_prompt_and_its_first_word_are_told_in_numbers() -> None:
    words = said(TOLD)
    assert "40 to 90 tok/s" in words
    assert "512 tokens" in words
    assert "5.9 to 13 s" in words


def test_nothing_is_said_of_a_speed_nobody_knows() -> None:
    assert said(None) == ""


def test_the_cache_cliff_is_named_with_its_numbers() -> None:
    words = said(replace(TOLD, disk=DISK))
    assert "Cache cliff" in words
    assert "4.0 GB" in words and "3.0 GB" in words
    assert "1.9 GB/s" in words


def test_above_the_cliff_the_hits_are_told_and_where_they_are_from() -> None:
    above = replace(DISK, cache_bytes=8 * 1024**3, hit_share=0.79, missed_bytes=800 * 1024**2)
    assert "79%" in said(replace(TOLD, disk=above))
    assert "others measured" in said(replace(TOLD, disk=above))
    assert "measured or stated" in said(replace(TOLD, disk=replace(above, is_hit_stated=True)))
    assert "first loaded" in said(replace(TOLD, disk=replace(above, bytes_per_second=None)))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("basis", SpeedBasis)
def test_every_basis_has_words(language: str, basis: SpeedBasis) -> None:
    assert say(Texts(language), basis_words(replace(TOLD, basis=basis)))


def test_gains_are_told_in_the_units_they_are_sold_in() -> None:
    gains = (
        SpeedGain(GainKind.RAM, 32 * 1024**3, SpeedRange(4.0, 9.0), 2.0),
        SpeedGain(GainKind.DRIVE, 7e9, SpeedRange(3.0, 6.0), 1.5),
    )
    ram, drive = (say(ENGLISH, words) for words in gain_lines(gains, None))
    assert ram == "32.0 GB more RAM: 4.0 to 9.0 tok/s, about 2.0 times as fast"
    assert drive == "a drive that reads 7.0 GB/s: 3.0 to 6.0 tok/s, about 1.5 times as fast"


@pytest.mark.parametrize(("reads_fewer", "lines"), [(True, 1), (False, 0), (None, 0)])
def test_an_engines_own_cache_is_told_of_only_where_it_reads_less(
    reads_fewer: bool | None, lines: int
) -> None:
    cache = ExpertCacheOutlook((1024**3,), 0.5, 0.4, 0.8, 0.9, reads_fewer)
    assert len(gain_lines((), cache)) == lines


def test_the_bigger_context_is_one_of_the_plans_to_choose_from() -> None:
    view = planned_view()
    assert view.plan is not None and view.plan.bigger_context is not None
    bigger = view.plan.bigger_context
    assert steps_of(view.plan) == (*view.plan.ladder, bigger)
    assert bigger.options.n_ctx > view.plan.options.n_ctx
    assert chosen_step(view) == view.plan.ladder[0]


def test_a_steps_memory_leaves_out_what_it_does_not_use() -> None:
    view = planned_view()
    assert view.plan is not None
    step = replace(view.plan.ladder[0], vram_bytes=0, ram_bytes=1024**3, disk_bytes=0)
    assert [say(ENGLISH, words) for words in step_memory(step)] == ["RAM 1.0 GB"]
