"""Tokens per second, only from what was measured."""

from dataclasses import replace
from typing import Any

import pytest

from app.planner.facts import MemoryBudget, Part, Wishes
from app.planner.plan import plan_offload
from tests.planner_models import GIB, moe_facts, one_gpu

VRAM_SPEED, RAM_SPEED, DISK_SPEED = 400.0 * GIB, 40.0 * GIB, 2.0 * GIB


def measured(budget: MemoryBudget) -> MemoryBudget:
    return replace(
        budget,
        vram_bytes_per_second=VRAM_SPEED,
        ram_bytes_per_second=RAM_SPEED,
        disk_bytes_per_second=DISK_SPEED,
    )


def test_without_a_measurement_there_is_no_speed() -> None:
    assert plan_offload(moe_facts(), one_gpu(12 * GIB), Wishes()).tokens_per_second is None


@pytest.mark.parametrize("missing", ["vram_bytes_per_second", "ram_bytes_per_second"])
def test_one_missing_measurement_that_matters_is_enough_to_say_nothing(missing: str) -> None:
    unmeasured: dict[str, Any] = {missing: None}
    budget = replace(measured(one_gpu(12 * GIB)), **unmeasured)
    assert plan_offload(moe_facts(), budget, Wishes()).tokens_per_second is None


def test_a_measurement_that_does_not_matter_is_not_needed() -> None:
    budget = replace(measured(one_gpu(12 * GIB)), disk_bytes_per_second=None)
    assert plan_offload(moe_facts(), budget, Wishes()).tokens_per_second is not None


def test_each_token_reads_its_share_of_the_experts_and_everything_else() -> None:
    plan = plan_offload(moe_facts(), measured(one_gpu(12 * GIB)), Wishes())
    gpu, cpu = plan.devices
    share = 8 / 128
    vram_read = gpu.planned_bytes - gpu.parts[Part.COMPUTE] - gpu.parts[Part.ROUTED_EXPERTS] * (1 - share)
    ram_read = cpu.parts[Part.ROUTED_EXPERTS] * share
    speed = plan.tokens_per_second
    assert speed is not None
    assert speed.high == pytest.approx(1 / (vram_read / VRAM_SPEED + ram_read / RAM_SPEED))
    assert 0 < speed.low < speed.high


def test_experts_on_disk_make_it_much_slower() -> None:
    model = moe_facts(expert_bytes=2 * GIB)
    fitting = plan_offload(model, measured(one_gpu(12 * GIB, 128 * GIB)), Wishes()).tokens_per_second
    paging = plan_offload(model, measured(one_gpu(12 * GIB, 48 * GIB)), Wishes()).tokens_per_second
    assert fitting is not None
    assert paging is not None
    assert paging.high < fitting.high / 2
