"""Two models far bigger than the RAM of a machine: what drive and hits decide, and what nothing can reach."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.hardware.recording import read_recording
from app.planner.facts import MemoryBudget, OffloadPlan, SpeedForecast, Wishes
from app.planner.measured_speeds import MachineSpeeds
from app.planner.plan import plan_offload
from app.planner.report import budget_from
from tests.models.giants import giant_named, write_giant

MACHINE = Path(__file__).parents[2] / "data" / "machines" / "strix-halo-windows-64gb.json"
MEASURED_THERE = 1.77
"""Tokens per second of the deepseek4 model on such a machine, as its owner reports."""

MEMORY_SPEED = 110e9
"""Of that kind of machine, twelve cores reading."""

LARGE_READS = (1e9, 1.5e9, 2e9, 3e9, 4e9, 5e9)
SMALL_READS = 100e6


@pytest.fixture(scope="module")
def deepseek4(tmp_path_factory: pytest.TempPathFactory) -> ModelFacts:
    folder = tmp_path_factory.mktemp("deepseek4")
    return inspect_path(write_giant(giant_named("DeepSeek-V4-Flash"), folder, parts=5)[0]).facts


@pytest.fixture(scope="module")
def glm_dsa(tmp_path_factory: pytest.TempPathFactory) -> ModelFacts:
    return inspect_path(write_giant(giant_named("GLM-5.2"), tmp_path_factory.mktemp("glm"))[0]).facts


def budget(speeds: MachineSpeeds) -> MemoryBudget:
    return replace(budget_from(read_recording(MACHINE).facts), speeds=speeds)


def plan(model: ModelFacts, disk: float | None, hits: float | None = None) -> OffloadPlan:
    speeds = MachineSpeeds(
        memory_bytes_per_second=MEMORY_SPEED, disk_bytes_per_second=disk, disk_hit_share=hits
    )
    return plan_offload(model, budget(speeds), Wishes(moe="all"))


def told(model: ModelFacts, disk: float, hits: float | None = None) -> SpeedForecast:
    forecast = plan(model, disk, hits).forecast
    assert forecast is not None
    return forecast


def contains(forecast: SpeedForecast, speed: float) -> bool:
    return forecast.decode.low <= speed <= forecast.decode.high


@pytest.mark.parametrize("disk", LARGE_READS)
def test_the_reported_speed_is_within_the_range_when_the_drive_reads_large_pieces_fast(
    deepseek4: ModelFacts, disk: float
) -> None:
    forecast = told(deepseek4, disk)
    assert contains(forecast, MEASURED_THERE), forecast
    assert forecast.decode.high <= 3.0001 * forecast.decode.low
    assert forecast.disk is not None
    assert forecast.disk.bytes_per_second == disk
    assert 0.7 < forecast.disk.hit_share < 0.85


def test_small_reads_at_a_tenth_of_that_cannot_reach_it(deepseek4: ModelFacts) -> None:
    assert told(deepseek4, SMALL_READS).decode.high < MEASURED_THERE / 5
    assert told(deepseek4, SMALL_READS, hits=0.31).decode.high < 0.1


@pytest.mark.parametrize(("disk", "hits"), [(4.3e9, 0.31), (1.2e9, 0.81), (1.5e9, 0.76), (100e6, 0.98)])
def test_the_pairs_of_drive_and_hits_that_explain_the_report_do(
    deepseek4: ModelFacts, disk: float, hits: float
) -> None:
    forecast = told(deepseek4, disk, hits)
    assert contains(forecast, MEASURED_THERE), forecast
    assert forecast.disk is not None
    assert forecast.disk.is_hit_stated


def test_a_token_passes_through_all_layers(deepseek4: ModelFacts) -> None:
    disk = told(deepseek4, 1e9).disk
    assert disk is not None
    assert disk.token_cycle_bytes == pytest.approx(6 * 43 * 13.4e6, rel=0.01)  # not one layer's 81 MB
    assert not disk.is_below_cliff


@pytest.mark.parametrize("disk", LARGE_READS)
def test_the_bigger_model_is_several_times_slower(glm_dsa: ModelFacts, disk: float) -> None:
    forecast = told(glm_dsa, disk)
    assert forecast.decode.high < 1.77
    assert 0.1 < forecast.expected < 1.0
    assert forecast.disk is not None
    assert forecast.disk.token_cycle_bytes > 13e9


def test_the_bigger_model_needs_minutes_at_small_reads(glm_dsa: ModelFacts) -> None:
    assert told(glm_dsa, SMALL_READS).decode.high < 0.05


def test_without_a_measured_drive_nothing_is_claimed(deepseek4: ModelFacts) -> None:
    assert plan(deepseek4, None).tokens_per_second is None
