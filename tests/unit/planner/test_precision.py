"""Where blocks differ in precision, the finer experts stay on the GPU."""

from dataclasses import replace

import pytest

from app.gguf.facts import ModelFacts, TensorClass
from app.options import ALL_LAYERS, EngineOptions, OptionError
from app.planner.facts import MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.plan import gpu_limits, plan_of_step, plan_offload
from app.planner.speed_history import place_key
from app.ui.views.layer_cells import Tier, cells_of
from app.ui.views.moe_steps import moe_steps
from app.ui.views.plan_words import step_changes
from tests.planner_models import GIB, MIB, moe_facts, one_gpu

PLAIN = moe_facts()
WISHES = Wishes(n_ctx=8192)
FINE = (0, 1, 2, 3, 44, 45, 46, 47)
"""As makers of mixed quantizations do it: more bits at both ends."""


def mixed(fine_bytes: int = 420 * MIB) -> ModelFacts:
    """Return the plain model with more bits in the experts of some blocks."""
    layers = [
        replace(layer, bytes_by_class={**layer.bytes_by_class, TensorClass.ROUTED_EXPERTS: fine_bytes})
        if layer.index in FINE
        else layer
        for layer in PLAIN.layers
    ]
    return replace(PLAIN, layers=tuple(layers))


def in_ram(options: EngineOptions) -> set[int]:
    return set(options.cpu_moe_blocks or range(options.n_cpu_moe))


def planned(model: ModelFacts, vram_gib: float = 12.0, wishes: Wishes = WISHES) -> OffloadPlan:
    return plan_offload(model, one_gpu(round(vram_gib * GIB), 32 * GIB), wishes)


def test_the_finest_experts_stay_on_the_gpu_and_it_is_no_fuller_than_it_may_be() -> None:
    budget = one_gpu(12 * GIB, 32 * GIB)
    model = mixed()
    plan = plan_offload(model, budget, WISHES)
    assert plan.options.n_cpu_moe == 0
    fine_in_ram = in_ram(plan.options) & set(FINE)
    assert len(fine_in_ram) < 4  # of the first blocks, which all would go otherwise
    assert fine_in_ram.isdisjoint((44, 45, 46, 47))
    room = gpu_limits(budget)[0] - plan.devices[0].planned_bytes
    assert not fine_in_ram or room < 70 * MIB  # else one more would have stayed
    assert plan.devices[0].planned_bytes <= gpu_limits(budget)[0]


def test_the_parts_are_those_of_the_blocks_chosen() -> None:
    model = mixed()
    plan = planned(model)
    of_ram = sum(model.layers[block].routed_expert_bytes for block in in_ram(plan.options))
    assert plan.devices[1].parts[Part.ROUTED_EXPERTS] == of_ram
    assert plan.devices[0].parts[Part.ROUTED_EXPERTS] == model.routed_expert_bytes - of_ram


def test_as_many_blocks_are_in_ram_as_without_precision() -> None:
    model = mixed()
    plan = planned(model)
    prefix = planned(model, wishes=replace(WISHES, moe=len(plan.options.cpu_moe_blocks)))
    assert prefix.options.n_cpu_moe == len(plan.options.cpu_moe_blocks)
    assert plan.devices[0].planned_bytes >= prefix.devices[0].planned_bytes
    assert plan.devices[1].planned_bytes <= prefix.devices[1].planned_bytes


@pytest.mark.parametrize("vram_gib", [4.0, 8.0, 10.5, 12.0, 16.0, 40.0])
def test_no_gpu_is_ever_too_full(vram_gib: float) -> None:
    budget = one_gpu(round(vram_gib * GIB), 32 * GIB)
    plan = plan_offload(mixed(), budget, WISHES)
    assert plan.devices[0].planned_bytes <= gpu_limits(budget)[0]
    held = [
        sum(device.planned_bytes for device in made.devices[:-1]) for made in _steps(mixed(), budget, plan)
    ]
    assert held == sorted(held, reverse=True)


@pytest.mark.parametrize("ram_gib", [6, 10, 12])
@pytest.mark.parametrize("own_gib", [4, 6, 8])
def test_no_finer_expert_goes_into_memory_that_is_ram_while_ram_is_short(own_gib: int, ram_gib: int) -> None:
    own, ram = own_gib * GIB, ram_gib * GIB
    budget = MemoryBudget(ram, (own + ram,), (True,), performance_cores=8, shared_vram_bytes=(ram,))
    plan = plan_offload(mixed(700 * MIB), budget, WISHES)
    assert plan.disk_bytes > 0
    assert plan.devices[0].planned_bytes <= own


def _steps(model: ModelFacts, budget: MemoryBudget, plan: OffloadPlan) -> list[OffloadPlan]:
    return [plan_of_step(model, budget, plan, step) for step in plan.ladder]


def test_where_all_blocks_are_alike_the_first_ones_go() -> None:
    plan = planned(PLAIN)
    assert plan.options.cpu_moe_blocks == ()
    assert plan.options.n_cpu_moe > 0


def test_a_number_chosen_by_hand_is_llama_cpps() -> None:
    plan = planned(mixed(), wishes=replace(WISHES, moe=20))
    assert (plan.options.n_cpu_moe, plan.options.cpu_moe_blocks) == (20, ())


def test_a_plan_read_back_from_its_options_is_the_same() -> None:
    budget, model = one_gpu(12 * GIB, 32 * GIB), mixed()
    plan = plan_offload(model, budget, WISHES)
    other = replace(plan, options=replace(plan.options, n_threads=3))  # so that it is made anew
    again = plan_of_step(model, budget, other, plan.ladder[0])
    assert again.devices == plan.devices
    assert again.options == plan.options


def test_window_and_history_count_the_blocks_chosen() -> None:
    model = mixed()
    plan = planned(model)
    chosen = set(plan.options.cpu_moe_blocks)
    cells = cells_of(model, plan)
    assert {cell.index for cell in cells if cell.tier is Tier.RAM} == chosen
    assert moe_steps(model).step_of_options(plan.options) == len(chosen)
    prefix = replace(plan.options, cpu_moe_blocks=(), n_cpu_moe=len(chosen))
    assert place_key(prefix) != place_key(plan.options)
    changes = step_changes(plan.options, plan.ladder[1].options, model)
    assert sum(words.values.get("name") is not None for words in changes) >= 1


def test_blocks_and_a_number_of_them_are_not_both_asked() -> None:
    with pytest.raises(OptionError, match="cpu_moe_blocks"):
        EngineOptions(cpu_moe_blocks=(1,), n_cpu_moe=2)
    with pytest.raises(OptionError, match="cpu_moe_blocks"):
        EngineOptions(cpu_moe_blocks=(ALL_LAYERS,))
    options = EngineOptions(cpu_moe_blocks=(1, 3))
    assert EngineOptions.from_json(options.to_json()) == options
