"""How close a plan has to be, and what engines' figures teach."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.options import EngineOptions
from app.planner.accuracy import (
    Measured,
    Source,
    corrections_for,
    device_kind,
    expected_error_bytes,
    is_within,
    limit_bytes,
)
from app.planner.accuracy_figures import TakenBytes, Told, measured
from app.planner.corrections import FORMULA_ERRORS, Corrections, PartGroup
from app.planner.facts import Part, Wishes
from app.planner.plan import plan_offload
from tests.planner_models import GIB, MIB, moe_facts, one_gpu

FIGURE = Measured("worker 1", "qwen3moe", "CUDA", PartGroup.COMPUTE, 100 * MIB, 120 * MIB, Source.LOAD)


def history(*engine_mib: int, figure: Measured = FIGURE) -> list[Measured]:
    return [replace(figure, engine_bytes=size * MIB) for size in engine_mib]


def learnt(figures: Sequence[Measured]) -> Corrections:
    return corrections_for(figures, "worker 1", "qwen3moe", "CUDA")


def test_the_limit_is_5_percent_or_8_mib_and_300_mb_above_6_gb() -> None:
    assert limit_bytes(10 * MIB) == 8 * MIB
    assert limit_bytes(1000 * MIB) == 50 * MIB
    assert limit_bytes(6_000_000_000) == 300_000_000
    assert limit_bytes(100_000_000_000) == 5_000_000_000
    assert is_within(108 * MIB, 100 * MIB)
    assert not is_within(109 * MIB, 100 * MIB)
    assert not is_within(91 * MIB, 100 * MIB)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("CUDA0", "CUDA"), ("RPC12", "RPC"), ("Vulkan1", "Vulkan"), ("CPU_Mapped", "CPU"), ("Host", "CPU"),
        ("CPU_REPACK", "CPU"), ("AMX", "CPU"), ("CUDA_Host", "CPU"), ("CUDA_Host0", "CPU"), ("CPU", "CPU"),
    ],
)  # fmt: skip
def test_devices_of_a_kind_are_one_and_all_of_ram_is_the_processors(name: str, kind: str) -> None:
    assert device_kind(name) == kind


def test_the_middle_of_what_was_seen_is_the_factor_and_its_spread_the_error() -> None:
    correction = learnt(history(110, 120, 132)).of(PartGroup.COMPUTE, on_gpu=True)
    assert correction.factor == pytest.approx(1.2)
    assert correction.error_share == pytest.approx(0.1)
    assert correction.sample_count == 3


def test_figures_of_another_build_architecture_or_device_teach_nothing() -> None:
    others = [
        replace(FIGURE, build="worker 2"),
        replace(FIGURE, architecture="llama"),
        replace(FIGURE, device="Vulkan"),
        replace(FIGURE, part=PartGroup.WEIGHTS),
    ]
    correction = learnt(others).of(PartGroup.COMPUTE, on_gpu=True)
    assert (correction.factor, correction.sample_count) == (1.0, 0)
    assert correction.error_share == FORMULA_ERRORS[PartGroup.COMPUTE]


def test_old_figures_and_absurd_ones_lose_their_say() -> None:
    assert learnt(history(*[200] * 20, *[110] * 15)).gpu_compute_factor == pytest.approx(1.1)
    assert learnt(history(100_000)).gpu_compute_factor == 2.0
    assert learnt(history(0)).gpu_compute_factor == 1.0
    assert learnt([replace(FIGURE, planned_bytes=0)]).gpu_compute_factor == 1.0


def test_the_factor_of_caches_comes_from_the_device_with_more_figures() -> None:
    on_gpu = history(150, figure=replace(FIGURE, part=PartGroup.CONTEXT))
    on_cpu = history(110, 110, figure=replace(FIGURE, part=PartGroup.CONTEXT, device="CPU"))
    assert learnt([*on_gpu, *on_cpu]).context_factor == pytest.approx(1.1)
    assert learnt(on_gpu).context_factor == pytest.approx(1.5)


def test_a_plan_is_made_with_what_was_learnt_and_says_how_far_it_may_be_off() -> None:
    budget = one_gpu(12 * GIB)
    before = plan_offload(moe_facts(), budget, Wishes(moe="all"))
    taught = replace(budget, corrections=learnt(history(150)))
    after = plan_offload(moe_facts(), taught, Wishes(moe="all"))
    formula, corrected = (plan.devices[0].parts[Part.COMPUTE] for plan in (before, after))
    copied = 350 * MIB // 3
    assert corrected - copied == pytest.approx((formula - copied) * 1.5, abs=2)
    for plan in (before, after):
        assert all(device.expected_error_bytes for device in plan.devices)


def test_the_expected_error_is_the_sum_over_the_parts() -> None:
    parts = {Part.ATTENTION: 1000 * MIB, Part.KV_CACHE: 100 * MIB, Part.COMPUTE: 50 * MIB}
    assert expected_error_bytes(parts, Corrections(), on_gpu=True) == (10 + 1 + 10) * MIB
    exact = learnt(history(100, 100))
    assert expected_error_bytes({Part.COMPUTE: 100 * MIB}, exact, on_gpu=True) == MIB


def told(*taken: tuple[str, PartGroup, int], source: Source = Source.LOAD) -> Told:
    return Told("worker 1", source, tuple(TakenBytes(name, part, size * MIB) for name, part, size in taken))


def test_an_engines_figures_stand_beside_the_formulas_for_the_same_options() -> None:
    model, options = moe_facts(), EngineOptions(n_ctx=8192, cpu_moe=True)
    figures = measured(
        model,
        options,
        told(
            ("CUDA0", PartGroup.CONTEXT, 768),
            ("CUDA0", PartGroup.COMPUTE, 200),
            ("CPU", PartGroup.WEIGHTS, 16_000),
            ("CPU_REPACK", PartGroup.WEIGHTS, 900),
        ),
    )
    by_place = {(figure.device, figure.part): figure for figure in figures}
    assert by_place["CUDA", PartGroup.CONTEXT].planned_bytes == 768 * MIB
    assert by_place["CPU", PartGroup.WEIGHTS].engine_bytes == 16_900 * MIB
    assert by_place["CPU", PartGroup.WEIGHTS].planned_bytes > 48 * 350 * MIB
    assert {figure.architecture for figure in figures} == {"qwen3moe"}


def test_two_cards_of_a_kind_count_together_and_two_kinds_not_at_all() -> None:
    model, part = moe_facts(), PartGroup.CONTEXT
    both = told(("CUDA0", part, 384), ("CUDA1", part, 384))
    (figure,) = measured(model, EngineOptions(n_ctx=8192, tensor_split=(25.0, 24.0)), both)
    assert (figure.planned_bytes, figure.engine_bytes) == (768 * MIB, 768 * MIB)
    assert measured(model, EngineOptions(n_ctx=8192), both) == ()
    assert measured(model, EngineOptions(), told(("CUDA0", part, 1), ("RPC0", part, 1))) == ()


def test_one_of_two_cards_may_be_the_one_in_use() -> None:
    options = EngineOptions(n_ctx=8192, split_mode="none", main_gpu=1, devices=())
    (figure,) = measured(moe_facts(), options, told(("CUDA1", PartGroup.CONTEXT, 768)))
    assert figure.planned_bytes == 768 * MIB


def test_a_model_without_architecture_teaches_nothing() -> None:
    model = replace(moe_facts(), architecture=None)
    assert measured(model, EngineOptions(), told(("CPU", PartGroup.COMPUTE, 1))) == ()


@given(st.lists(st.tuples(st.integers(0, 2**60), st.integers(0, 2**60)), max_size=40))
def test_whatever_engines_say_factors_stay_within_bounds(sizes: list[tuple[int, int]]) -> None:
    figures = [replace(FIGURE, planned_bytes=planned, engine_bytes=taken) for planned, taken in sizes]
    correction = learnt(figures).of(PartGroup.COMPUTE, on_gpu=True)
    assert 0.5 <= correction.factor <= 2.0
    assert correction.error_share > 0
