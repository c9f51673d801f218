"""Which memory a layer lies in follows from the engine's numbers alone."""

from dataclasses import replace

import pytest

from app.options import ALL_LAYERS, EngineOptions
from app.planner.facts import DevicePlan, OffloadPlan
from app.ui.views.layer_cells import LayerCell, Tier, cells_of
from tests.planner_models import MIB, moe_facts

BLOCKS = 6
FACTS = moe_facts(blocks=BLOCKS, expert_bytes=350 * MIB, other_bytes=12 * MIB, leading_dense=1)
DENSE = moe_facts(blocks=BLOCKS, expert_bytes=0, other_bytes=100 * MIB)


def plan_of(
    options: EngineOptions, *, disk_bytes: int = 0, devices: tuple[str, ...] = ("GPU0", "CPU")
) -> OffloadPlan:
    return OffloadPlan(options, tuple(DevicePlan(n, 1, 1) for n in devices), 0, disk_bytes, 0, 0, None)


def tiers(cells: tuple[LayerCell, ...]) -> list[str]:
    return [cell.tier.value for cell in cells]


def test_all_layers_on_the_gpu_are_in_vram() -> None:
    assert tiers(cells_of(FACTS, EngineOptions())) == ["vram"] * BLOCKS


def test_n_cpu_moe_counts_blocks_from_the_first_and_moves_only_experts() -> None:
    cells = cells_of(FACTS, EngineOptions(n_cpu_moe=3))
    assert tiers(cells) == ["vram", "ram", "ram", "vram", "vram", "vram"]  # block 0 is dense: nothing to move
    assert {cell.other_tier for cell in cells} == {Tier.VRAM}


def test_cpu_moe_moves_the_experts_of_every_block() -> None:
    assert tiers(cells_of(FACTS, EngineOptions(cpu_moe=True))) == ["vram"] + ["ram"] * (BLOCKS - 1)


@pytest.mark.parametrize(
    ("n_gpu_layers", "in_ram"), [(0, BLOCKS), (1, BLOCKS), (3, BLOCKS - 2), (BLOCKS, 1), (ALL_LAYERS, 0)]
)
def test_n_gpu_layers_counts_from_the_output_layer_back(n_gpu_layers: int, in_ram: int) -> None:
    cells = cells_of(DENSE, EngineOptions(n_gpu_layers=n_gpu_layers))
    assert tiers(cells) == ["ram"] * in_ram + ["vram"] * (BLOCKS - in_ram)
    assert not any(cell.has_experts for cell in cells)


def test_a_layer_left_in_ram_has_all_its_weights_there() -> None:
    cells = cells_of(FACTS, EngineOptions(n_gpu_layers=3))
    assert cells[1].tier is cells[1].other_tier is Tier.RAM


def test_a_plan_without_a_gpu_keeps_everything_in_ram() -> None:
    assert tiers(cells_of(FACTS, plan_of(EngineOptions(), devices=("CPU",)))) == ["ram"] * BLOCKS


def test_what_ram_cannot_hold_is_shared_evenly_by_the_layers_in_ram() -> None:
    cells = cells_of(FACTS, plan_of(EngineOptions(n_cpu_moe=3), disk_bytes=175 * MIB))
    assert tiers(cells) == ["vram", "disk", "disk", "vram", "vram", "vram"]
    assert [cell.disk_share for cell in cells] == [0, 0.25, 0.25, 0, 0, 0]
    assert sum(cell.disk_share * cell.routed_bytes for cell in cells) == 175 * MIB


def test_an_mtp_block_is_marked_never_on_a_gpu_and_never_read_from_disk() -> None:
    layers = (*FACTS.layers[:-1], replace(FACTS.layers[-1], is_mtp=True))
    cells = cells_of(replace(FACTS, layers=layers), plan_of(EngineOptions(n_cpu_moe=3), disk_bytes=MIB))
    assert cells[-1].is_mtp
    assert cells[-1].tier is cells[-1].other_tier is Tier.RAM
    assert cells[-1].disk_share == 0


def test_bytes_are_those_of_the_file() -> None:
    cells = cells_of(FACTS, EngineOptions())
    assert [cell.routed_bytes for cell in cells] == [layer.routed_expert_bytes for layer in FACTS.layers]
    whole = [sum(layer.bytes_by_class.values()) for layer in FACTS.layers]
    assert [cell.routed_bytes + cell.other_bytes for cell in cells] == whole
