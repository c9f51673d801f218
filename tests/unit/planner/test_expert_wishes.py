"""Options fixed by hand are planned as they will be, and what cannot be is said."""

from dataclasses import replace
from typing import Any

import pytest

from app.findings import FindingCode
from app.options import ALL_LAYERS, OptionError
from app.planner.facts import ExpertWishes, MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.plan import plan_offload
from tests.planner_models import GIB, dense_facts, moe_facts, one_gpu

MODEL = moe_facts()
BUDGET = one_gpu(12 * GIB, 32 * GIB)


def planned(budget: MemoryBudget = BUDGET, kv_type: str | None = None, **fixed: Any) -> OffloadPlan:
    wishes = Wishes(n_ctx=8192, kv_type=kv_type, expert=ExpertWishes(**fixed))
    return plan_offload(MODEL, budget, wishes)


def codes(plan: OffloadPlan) -> set[FindingCode]:
    return {finding.code for finding in plan.findings}


def test_nothing_fixed_changes_nothing() -> None:
    assert plan_offload(MODEL, BUDGET, Wishes(n_ctx=8192)) == planned()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_batch", 1024),
        ("n_threads_batch", 3),
        ("flash_attn", "on"),
        ("swa_full", True),
        ("load_mode", "none"),
        ("op_offload", False),
        ("check_tensors", True),
        ("chat_template", "chatml"),
        ("extra_flags", ("--top-nsigma", "1")),
    ],
)
def test_what_is_fixed_is_asked(name: str, value: Any) -> None:
    assert getattr(planned(**{name: value}).options, name) == value


def test_a_bigger_batch_takes_more_memory_and_the_logical_one_follows() -> None:
    usual, bigger = planned(), planned(n_ubatch=2048)
    assert (bigger.options.n_ubatch, bigger.options.n_batch) == (2048, 2048)
    assert bigger.compute_bytes > usual.compute_bytes


def test_attention_without_flash_takes_more_memory() -> None:
    assert planned(flash_attn="off").compute_bytes > planned(flash_attn="auto").compute_bytes


def test_a_quantised_cache_without_flash_attention_is_planned_plain_and_says_so() -> None:
    plan = planned(flash_attn="off", kv_type="q8_0")
    assert (plan.options.type_k, plan.options.type_v) == ("f16", "f16")
    assert FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION in codes(plan)
    assert plan.kv_cache_bytes == planned(flash_attn="off").kv_cache_bytes
    assert FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION not in codes(planned(flash_attn="on", kv_type="q8_0"))


def test_fixed_layers_are_what_the_gpu_gets() -> None:
    plan = planned(n_gpu_layers=10)
    assert plan.options.n_gpu_layers == 10
    assert plan.devices[0].planned_bytes < planned().devices[0].planned_bytes
    assert FindingCode.GPU_LAYERS_REDUCED not in codes(plan)


def test_no_layers_leave_the_gpu_out_without_a_complaint() -> None:
    plan = planned(n_gpu_layers=0)
    assert (plan.options.n_gpu_layers, plan.devices[0].planned_bytes) == (0, 0)
    assert FindingCode.NO_GPU_IN_PLAN not in codes(plan)


def test_more_layers_than_there_are_is_all_of_them() -> None:
    assert planned(n_gpu_layers=500).options.n_gpu_layers == ALL_LAYERS


def test_layers_that_do_not_fit_are_fewer_and_it_is_said_how_many() -> None:
    small = one_gpu(3 * GIB, 32 * GIB)
    dense = dense_facts()
    plan = plan_offload(dense, small, Wishes(expert=ExpertWishes(n_gpu_layers=30)))
    (said,) = [f for f in plan.findings if f.code is FindingCode.GPU_LAYERS_REDUCED]
    assert said.values["asked"] == 30
    assert said.values["n_gpu_layers"] == plan.options.n_gpu_layers < 30
    assert plan.devices[0].planned_bytes <= 3 * GIB


def test_a_full_cache_for_windows_takes_more() -> None:
    windowed = replace(
        MODEL, attention=replace(MODEL.attention, sliding_window=1024, windowed_layers=(True,) * 48)
    )
    sizes = [
        plan_offload(windowed, BUDGET, Wishes(n_ctx=8192, expert=ExpertWishes(swa_full=full))).kv_cache_bytes
        for full in (False, True)
    ]
    assert sizes[1] > 4 * sizes[0]


@pytest.mark.parametrize("fixed", [{"n_ubatch": 0}, {"flash_attn": "maybe"}, {"load_mode": "disk"}])
def test_what_no_engine_takes_is_refused_by_name(fixed: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(fixed))):
        ExpertWishes(**fixed)  # type: ignore[arg-type]  # that is the test


def test_gpu_parts_hold_what_is_fixed() -> None:
    assert (
        planned(op_offload=False).devices[0].parts[Part.COMPUTE] <= planned().devices[0].parts[Part.COMPUTE]
    )
