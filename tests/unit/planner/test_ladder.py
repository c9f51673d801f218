"""The plans to fall back to, each with the names of what changes."""

from app.options import ALL_LAYERS, EngineOptions
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, Wishes
from app.planner.ladder import Rung, ladder_steps
from app.planner.plan import plan_offload
from tests.planner_models import GIB, MIB, dense_facts, moe_facts, one_gpu


def step(plan: OffloadPlan, name: str) -> LadderStep:
    return next(step for step in plan.ladder if step.name == name)


def test_the_ladder_starts_with_the_plan_itself() -> None:
    plan = plan_offload(moe_facts(), one_gpu(12 * GIB), Wishes())
    assert plan.ladder[0] == LadderStep("fast", plan.options, ())
    assert [step.name for step in plan.ladder] == ["fast", "safe", "minimum"]


def test_the_safe_step_keeps_more_experts_in_ram_and_the_usual_context() -> None:
    plan = plan_offload(moe_facts(), one_gpu(24 * GIB), Wishes())
    safe = step(plan, "safe")
    assert safe.options.n_cpu_moe == plan.options.n_cpu_moe + 6  # an eighth of 48
    assert (plan.options.n_ctx, safe.options.n_ctx) == (16_384, 8192)
    assert set(safe.changes) == {"n_cpu_moe", "n_ctx"}


def test_the_safe_step_keeps_whole_layers_in_ram_when_no_experts_are_left_on_the_gpu() -> None:
    for model in (dense_facts(), moe_facts()):
        plan = plan_offload(model, one_gpu(24 * GIB), Wishes(moe="all"))
        safe = step(plan, "safe")
        assert plan.options.n_gpu_layers == ALL_LAYERS
        assert 0 < safe.options.n_gpu_layers < 49
        assert "n_gpu_layers" in safe.changes


def test_the_minimum_needs_no_gpu_and_little_context() -> None:
    plan = plan_offload(moe_facts(), one_gpu(12 * GIB), Wishes())
    minimum = step(plan, "minimum").options
    assert (minimum.n_gpu_layers, minimum.n_ctx, minimum.n_ubatch) == (0, 2048, 128)
    assert (minimum.op_offload, minimum.offload_kqv, minimum.cpu_moe) == (False, False, False)


def test_a_step_equal_to_the_one_above_is_left_out() -> None:
    plan = plan_offload(moe_facts(context_length=8192), MemoryBudget(64 * GIB), Wishes())
    assert [step.name for step in plan.ladder] == ["fast", "minimum"]
    options = EngineOptions()
    assert ladder_steps(options, [Rung("safe", options)]) == (LadderStep("fast", options, ()),)


def test_each_step_names_what_differs_from_the_step_above() -> None:
    small, smaller = EngineOptions(n_ctx=4096), EngineOptions(n_ctx=4096, n_ubatch=128)
    steps = ladder_steps(EngineOptions(), [Rung("safe", small), Rung("minimum", smaller)])
    assert [step.changes for step in steps] == [(), ("n_ctx",), ("n_ubatch",)]


def test_two_gpus_get_a_new_split_with_the_new_number() -> None:
    budget = MemoryBudget(64 * GIB, (10 * GIB, 8 * GIB), (True, False))
    plan = plan_offload(moe_facts(expert_bytes=600 * MIB), budget, Wishes())
    for rung in plan.ladder[:2]:
        assert sum(rung.options.tensor_split) == 49
    assert plan.ladder[-1].options.tensor_split == ()
