"""The MoE slider's steps and llama.cpp's N."""

from dataclasses import replace

import pytest

from app.gguf.facts import LayerFacts, ModelFacts, TensorClass
from app.options import EngineOptions
from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.ui.views.moe_steps import MoeSteps, moe_steps
from tests.gui.view_builders import BUDGET, CPU_BUDGET, dense_model_facts, qwen_facts


def with_mtp(facts: ModelFacts) -> ModelFacts:
    """Return the model with an extra MTP block that has experts."""
    extra = LayerFacts(len(facts.layers), {TensorClass.ROUTED_EXPERTS: 1000}, is_mtp=True, expert_count=128)
    return replace(facts, layers=(*facts.layers, extra), mtp_layers=1, block_count=len(facts.layers) + 1)


def test_the_slider_counts_only_blocks_with_experts() -> None:
    assert moe_steps(qwen_facts()).count == 48
    assert moe_steps(qwen_facts(leading_dense=3)).count == 45
    assert moe_steps(dense_model_facts()).count == 0
    assert moe_steps(None).count == 0


def test_leading_dense_blocks_count_in_n_though_they_free_nothing() -> None:
    steps = moe_steps(qwen_facts(leading_dense=3))
    assert steps.wish_of(1) == 4
    assert steps.wish_of(10) == 13
    assert steps.step_of(13) == 10
    assert steps.step_of(3) == 0


def test_the_ends_of_the_slider_ask_for_off_and_all() -> None:
    steps = moe_steps(qwen_facts())
    assert (steps.wish_of(0), steps.wish_of(-1)) == ("off", "off")
    assert (steps.wish_of(48), steps.wish_of(99)) == ("all", "all")


def test_an_mtp_block_is_no_step_and_all_still_covers_every_other() -> None:
    steps = moe_steps(with_mtp(qwen_facts()))
    assert steps.count == 48
    assert steps.wish_of(47) == 47
    assert steps.wish_of(48) == "all"


@pytest.mark.parametrize("leading_dense", [0, 3])
def test_every_step_comes_back_from_the_options_the_planner_makes_of_it(leading_dense: int) -> None:
    facts = qwen_facts(leading_dense=leading_dense)
    steps = moe_steps(facts)
    for step in range(0, steps.count + 1, 5):
        plan = plan_offload(facts, BUDGET, Wishes(moe=steps.wish_of(step)))
        assert steps.step_of_options(plan.options) == step
        assert steps.step_of_wish(steps.wish_of(step), plan) == step


def test_what_auto_means_is_read_from_the_plan() -> None:
    facts = qwen_facts()
    steps, plan = moe_steps(facts), plan_offload(facts, BUDGET, Wishes())
    assert 0 < plan.options.n_cpu_moe < 48
    assert steps.step_of_wish("auto", plan) == plan.options.n_cpu_moe
    assert steps.step_of_wish("auto", None) == 0


def test_without_a_gpu_all_experts_are_in_ram() -> None:
    facts = qwen_facts()
    plan = plan_offload(facts, CPU_BUDGET, Wishes())
    assert moe_steps(facts).step_of_options(plan.options) == 48


def test_cpu_moe_stands_for_all_blocks() -> None:
    assert MoeSteps((1, 2, 5)).step_of_options(EngineOptions(cpu_moe=True)) == 3
