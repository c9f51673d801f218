"""Tokens per second, only from what was measured."""

from dataclasses import replace
from typing import Any

import pytest

from app.findings import FindingCode
from app.gguf.facts import TensorClass
from app.planner.caches import Extent
from app.planner.facts import MemoryBudget, Part, SpeedForecast, Wishes
from app.planner.measured_speeds import (
    Calibration,
    MachineSpeeds,
    SpeedBasis,
    SpeedCorrection,
    TypeSpeed,
    WeightKind,
)
from app.planner.model_sizes import model_sizes
from app.planner.placement import Cut, place
from app.planner.plan import plan_offload
from app.planner.speed import PROMPT_TOKENS, forecast
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
    share, depth = 8 / 128, 1024 / plan.options.n_ctx
    experts, cache = gpu.parts[Part.ROUTED_EXPERTS], gpu.parts[Part.KV_CACHE]
    vram_read = gpu.planned_bytes - gpu.parts[Part.COMPUTE] - experts * (1 - share) - cache * (1 - depth)
    ram_read = cpu.parts[Part.ROUTED_EXPERTS] * share
    speed = plan.tokens_per_second
    assert speed is not None
    expected = 1 / (vram_read / VRAM_SPEED + ram_read / RAM_SPEED)
    assert (speed.low * speed.high) ** 0.5 == pytest.approx(expected)
    assert 0 < speed.low < speed.high <= 3 * speed.low


def test_experts_on_disk_make_it_much_slower() -> None:
    model = moe_facts(expert_bytes=2 * GIB)
    fitting = plan_offload(model, measured(one_gpu(12 * GIB, 128 * GIB)), Wishes()).tokens_per_second
    paging = plan_offload(model, measured(one_gpu(12 * GIB, 48 * GIB)), Wishes()).tokens_per_second
    assert fitting is not None
    assert paging is not None
    assert paging.high < fitting.high / 2


THREADS = 4
CALIBRATION = Calibration(
    build="b1",
    device="CPU",
    n_threads=THREADS,
    repack=True,
    block_seconds=1e-4,
    types=(
        TypeSpeed("Q4_K", WeightKind.DENSE, 20e9, 100e9),
        TypeSpeed("Q4_K", WeightKind.EXPERTS, 10e9, 50e9),
    ),
)


def on_processor(speeds: MachineSpeeds, *, ram_bytes: int = 64 * GIB, disk_bytes: int = 0) -> SpeedForecast:
    model = moe_facts()
    placement = place(model_sizes(model), Cut(Extent(8192, 512, "f16"), n_gpu_layers=0), ())
    budget = MemoryBudget(ram_bytes, performance_cores=THREADS, speeds=speeds)
    told = forecast(model, placement, disk_bytes, budget)
    assert told is not None
    return told


def test_types_and_their_use_are_told_apart_and_blocks_take_their_time() -> None:
    told = on_processor(MachineSpeeds(calibrations=(CALIBRATION,)))
    model = moe_facts()
    experts = model.routed_expert_bytes * 8 / 128
    dense = model.bytes_outside_layers[TensorClass.OUTPUT] + sum(
        sum(layer.bytes_by_class.values()) - layer.routed_expert_bytes for layer in model.layers
    )
    placement = place(model_sizes(model), Cut(Extent(8192, 512, "f16"), n_gpu_layers=0), ())
    cache = placement.cpu_parts[Part.KV_CACHE] / 8
    assert told.seconds_by_tier["ram"] == pytest.approx(experts / 10e9 + (dense + cache) / 20e9)
    assert told.seconds_by_tier["overhead"] == pytest.approx(48e-4)
    assert told.basis is SpeedBasis.CALIBRATED


def test_a_calibration_with_other_threads_is_not_used() -> None:
    other = replace(CALIBRATION, n_threads=THREADS + 1)
    told = on_processor(MachineSpeeds(memory_bytes_per_second=40e9, calibrations=(other,)))
    assert told.basis is SpeedBasis.BANDWIDTH
    assert told.prefill is None


def test_plain_reading_of_memory_gives_a_wide_range_of_three() -> None:
    told = on_processor(MachineSpeeds(memory_bytes_per_second=40e9))
    assert told.decode.high / told.decode.low == pytest.approx(3.0)


def test_reading_a_prompt_and_answering_are_told_apart() -> None:
    told = on_processor(MachineSpeeds(calibrations=(CALIBRATION,)))
    assert told.prefill is not None
    assert told.first_answer_seconds is not None
    assert told.prefill.low > told.decode.high
    soonest, latest = told.first_answer_seconds
    assert soonest == pytest.approx(PROMPT_TOKENS / told.prefill.high + 1 / told.decode.high)
    assert soonest < latest


def test_what_was_measured_of_this_plan_replaces_the_prediction() -> None:
    calibrated = on_processor(MachineSpeeds(calibrations=(CALIBRATION,)))
    correction = SpeedCorrection(factor=0.8, is_same_plan=True)
    told = on_processor(MachineSpeeds(calibrations=(CALIBRATION,), correction=correction))
    assert told.expected == pytest.approx(0.8 * calibrated.expected)
    assert told.basis is SpeedBasis.MEASURED_HERE
    assert told.decode.high / told.decode.low < calibrated.decode.high / calibrated.decode.low


def test_less_ram_than_one_token_needs_finds_nothing_in_it() -> None:
    routed = moe_facts().routed_expert_bytes
    speeds = MachineSpeeds(memory_bytes_per_second=40e9, disk_bytes_per_second=2e9)
    below = on_processor(speeds, disk_bytes=routed - routed * 7 // 128).disk
    above = on_processor(speeds, disk_bytes=routed - routed * 9 // 128).disk
    assert below is not None
    assert above is not None
    assert (below.is_below_cliff, below.hit_share) == (True, 0.0)
    assert not above.is_below_cliff
    assert above.hit_share > 0.27
    assert below.token_cycle_bytes == routed * 8 // 128


def test_a_stated_hit_share_counts_instead_of_the_usual_one() -> None:
    speeds = MachineSpeeds(memory_bytes_per_second=40e9, disk_bytes_per_second=2e9, disk_hit_share=0.9)
    disk = on_processor(speeds, disk_bytes=moe_facts().routed_expert_bytes // 2).disk
    assert disk is not None
    assert disk.is_hit_stated
    assert disk.missed_bytes == round(disk.token_cycle_bytes * (1 - 0.9))


def test_the_cliff_is_named_with_what_is_missing() -> None:
    model, wishes = moe_facts(), Wishes(n_ctx=4096, kv_type="f16")
    cycle = model.routed_expert_bytes * 8 // 128
    tight = plan_offload(model, MemoryBudget(12 * GIB), wishes)
    rest = tight.ram_bytes + tight.disk_bytes - model.routed_expert_bytes
    short = plan_offload(model, MemoryBudget(rest + cycle - 10**6), wishes)
    found = next(f for f in short.findings if f.code is FindingCode.EXPERTS_BELOW_CYCLE)
    assert found.values["token_cycle_bytes"] == cycle
    assert found.values["missing_bytes"] == 10**6
    enough = plan_offload(model, MemoryBudget(rest + cycle + 10**6), wishes)
    assert FindingCode.EXPERTS_BELOW_CYCLE not in {f.code for f in enough.findings}
