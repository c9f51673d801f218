"""The plans to fall back to, each with the names of what changes."""

from dataclasses import replace
from itertools import pairwise

from app.options import ALL_LAYERS, changed_options
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, Sacrifice, Wishes
from app.planner.plan import plan_of_step, plan_offload
from tests.planner_models import GIB, MIB, dense_facts, moe_facts, one_gpu


def step(plan: OffloadPlan, name: str) -> LadderStep:
    return next(step for step in plan.ladder if step.name == name)


def test_the_ladder_starts_with_the_plan_itself() -> None:
    plan = plan_offload(moe_facts(), one_gpu(12 * GIB), Wishes())
    first = plan.ladder[0]
    assert (first.name, first.options, first.changes, first.sacrifices) == ("fast", plan.options, (), ())
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
    tiny = moe_facts(context_length=512, vocabulary=262_144)
    assert [step.name for step in plan_offload(tiny, MemoryBudget(12 * GIB), Wishes()).ladder] == ["fast"]


def test_each_step_names_what_differs_from_the_step_above() -> None:
    plan = plan_offload(moe_facts(), one_gpu(24 * GIB), Wishes())
    for above, below in pairwise(plan.ladder):
        assert set(below.changes) == set(changed_options(above.options, below.options))


def test_each_step_says_what_it_holds_and_what_is_given_up_of_the_plan() -> None:
    budget = replace(one_gpu(24 * GIB), ram_bytes_per_second=20e9, vram_bytes_per_second=200e9)
    plan = plan_offload(moe_facts(), budget, Wishes())
    fast, safe, minimum = plan.ladder
    gpu, cpu = plan.devices
    assert (fast.vram_bytes, fast.ram_bytes, fast.disk_bytes) == (gpu.planned_bytes, cpu.planned_bytes, 0)
    assert safe.sacrifices == (Sacrifice.EXPERTS_ON_GPU, Sacrifice.CONTEXT)
    assert minimum.sacrifices == (Sacrifice.GPU, Sacrifice.CONTEXT, Sacrifice.PROMPT_SPEED)
    assert fast.vram_bytes - safe.vram_bytes > 6 * 350 * MIB
    assert (minimum.vram_bytes, minimum.ram_bytes) == (
        0,
        plan_of_step(moe_facts(), budget, plan, minimum).ram_bytes,
    )
    speeds = [step.tokens_per_second.high for step in plan.ladder if step.tokens_per_second]
    assert len(speeds) == 3 and speeds == sorted(speeds, reverse=True)


def test_what_a_step_holds_is_what_its_options_say() -> None:
    budget = MemoryBudget(64 * GIB, (10 * GIB, 8 * GIB, 6 * GIB), (True, False, False))
    for model in (moe_facts(expert_bytes=600 * MIB), dense_facts(block_bytes=700 * MIB)):
        plan = plan_offload(model, budget, Wishes())
        for rung in plan.ladder:
            again = plan_of_step(model, budget, plan, rung)
            assert sum(d.planned_bytes for d in again.devices[:-1]) == rung.vram_bytes
            assert (again.ram_bytes, again.disk_bytes) == (rung.ram_bytes, rung.disk_bytes)


def test_a_step_ram_cannot_carry_is_not_offered_and_the_minimum_stays_on_the_gpu() -> None:
    model = dense_facts(blocks=40, block_bytes=500 * MIB)  # 20 GB
    plan = plan_offload(model, one_gpu(24 * GIB, ram_bytes=2 * GIB), Wishes())
    assert [step.name for step in plan.ladder] == ["fast", "minimum"]
    minimum = plan.ladder[-1]
    assert (minimum.options.n_gpu_layers, minimum.options.n_ctx) == (ALL_LAYERS, 2048)
    assert Sacrifice.GPU not in minimum.sacrifices


def test_a_bigger_context_is_the_longest_for_which_nothing_has_to_move() -> None:
    model, found = moe_facts(context_length=262_144), []
    for vram in range(6 * GIB, 48 * GIB, GIB):
        plan = plan_offload(model, one_gpu(vram), Wishes())
        bigger = plan.bigger_context
        if bigger is not None:
            assert bigger.options.n_ctx > plan.options.n_ctx
            assert set(bigger.changes) == {"n_ctx"}
            assert bigger.sacrifices == ()
            longer = Wishes(n_ctx=bigger.options.n_ctx * 5 // 4, kv_type="f16")
            moved = plan_offload(model, one_gpu(vram), longer).options.n_cpu_moe > plan.options.n_cpu_moe
            assert moved or bigger.options.n_ctx == 262_144
            found.append(bigger.options.n_ctx)
    assert len(set(found)) > 5 and 262_144 in found


def test_where_speeds_are_known_a_bigger_context_may_cost_a_twentieth() -> None:
    model = moe_facts(context_length=262_144)
    moved = []
    for vram in range(6 * GIB, 20 * GIB, GIB // 2):
        known = replace(one_gpu(vram), ram_bytes_per_second=60e9, vram_bytes_per_second=70e9)
        plan = plan_offload(model, known, Wishes())
        bigger = plan.bigger_context
        if bigger is None:
            continue
        moved.append(bigger.options.n_cpu_moe > plan.options.n_cpu_moe)
        assert (Sacrifice.EXPERTS_ON_GPU in bigger.sacrifices) is moved[-1]
    assert any(moved)


def test_the_whole_context_of_the_model_leaves_nothing_bigger() -> None:
    plan = plan_offload(moe_facts(context_length=8192), one_gpu(24 * GIB), Wishes())
    assert plan.bigger_context is None


def test_two_gpus_get_a_new_split_with_the_new_number() -> None:
    budget = MemoryBudget(64 * GIB, (10 * GIB, 8 * GIB), (True, False))
    plan = plan_offload(moe_facts(expert_bytes=600 * MIB), budget, Wishes())
    for rung in plan.ladder[:2]:
        assert sum(rung.options.tensor_split) == 49
    assert plan.ladder[-1].options.tensor_split == ()
