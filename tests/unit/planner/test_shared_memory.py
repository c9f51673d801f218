"""A GPU that shares the RAM: counted once, and never more than there is (case H14)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.findings import Severity
from app.hardware.facts import CpuInfo, GpuInfo, HardwareFacts, HostInfo
from app.planner.facts import MemoryBudget, Part, Wishes
from app.planner.plan import plan_offload
from app.planner.report import budget_from, memory_needs
from tests.planner_models import GIB, MIB, dense_facts, moe_facts, one_gpu

CHIP = GpuInfo(
    0,
    "AMD Radeon 8060S",
    "amd",
    vram_total_bytes=4 * GIB,
    vram_free_bytes=3 * GIB,
    is_integrated=True,
    shared_total_bytes=62 * GIB,
    shared_free_bytes=60 * GIB,
)
CARD = GpuInfo(1, "A card", "nvidia", vram_total_bytes=8 * GIB, vram_free_bytes=7 * GIB, is_integrated=False)


def machine(*gpus: GpuInfo, ram: int = 64 * GIB) -> HardwareFacts:
    return HardwareFacts(HostInfo("Linux", None, CpuInfo(), ram, ram), gpus=gpus)


def test_a_chips_own_and_shared_memory_count_and_the_shared_part_is_ram() -> None:
    budget = budget_from(machine(CHIP))
    assert budget.ram_free_bytes == 62 * GIB
    assert budget.vram_free_bytes == (63 * GIB,)
    assert budget.shared_vram_bytes == (60 * GIB,)


def test_a_chip_shares_no_more_than_ram_has_left() -> None:
    budget = budget_from(machine(CHIP, ram=16 * GIB))
    assert budget.ram_free_bytes == 14 * GIB
    assert (budget.vram_free_bytes, budget.shared_vram_bytes) == ((17 * GIB,), (14 * GIB,))


def test_a_laptops_half_gigabyte_is_its_own_memory_and_the_rest_is_ram() -> None:
    chip = replace(
        CHIP, vram_total_bytes=481_296_384, vram_free_bytes=481_296_384, shared_free_bytes=16_750_372_454
    )
    budget = budget_from(machine(chip, ram=32 * GIB))
    assert budget.vram_free_bytes[0] - budget.shared_vram_bytes[0] == 481_296_384
    assert budget.shared_vram_bytes == (16_750_372_454,)
    held = budget.vram_free_bytes[0]
    assert held + budget.ram_left((held,)) == 481_296_384 + budget.ram_free_bytes


def test_beside_a_card_a_chip_is_not_used_as_engines_do_not() -> None:
    budget = budget_from(machine(CARD, CHIP))
    assert (budget.vram_free_bytes, budget.shared_vram_bytes) == ((7 * GIB,), ())


@pytest.mark.parametrize(
    "chip",
    [
        replace(CHIP, shared_free_bytes=None),
        replace(CHIP, vram_total_bytes=256 * MIB, vram_free_bytes=None, shared_free_bytes=None),
        replace(CHIP, is_lost=True),
    ],
)
def test_a_chip_that_does_not_say_what_it_may_share_is_not_counted(chip: GpuInfo) -> None:
    assert budget_from(machine(chip)).vram_free_bytes == ()


def test_one_instance_of_a_card_cut_up_is_counted() -> None:
    instances = [
        replace(CARD, index=i, uuid=f"MIG-{i}", vram_free_bytes=16 * GIB, mig_mode=True) for i in range(7)
    ]
    assert budget_from(machine(*instances)).vram_free_bytes == (16 * GIB,)


def test_what_the_chip_holds_is_not_there_for_the_processor() -> None:
    budget = MemoryBudget(30 * GIB, (34 * GIB,), shared_vram_bytes=(30 * GIB,))
    assert budget.ram_left((3 * GIB,)) == 30 * GIB
    assert budget.ram_left((10 * GIB,)) == 24 * GIB
    assert budget.ram_left((99 * GIB,)) == 0
    assert one_gpu(8 * GIB).ram_left((8 * GIB,)) == 64 * GIB


def test_a_model_that_fits_goes_to_the_chip_whole() -> None:
    plan = plan_offload(moe_facts(), budget_from(machine(CHIP)), Wishes())
    assert plan.devices[0].parts[Part.ROUTED_EXPERTS] > 0
    assert plan.devices[-1].parts.get(Part.ROUTED_EXPERTS, 0) == 0
    assert plan.disk_bytes == 0
    assert plan.devices[-1].free_bytes < 62 * GIB


def test_a_plan_allocates_its_caches_and_maps_its_weights() -> None:
    plan = plan_offload(moe_facts(), MemoryBudget(64 * GIB), Wishes(repack=False))
    needs = memory_needs(plan)
    parts = plan.devices[-1].parts
    assert needs.mapped_bytes >= parts[Part.ROUTED_EXPERTS]
    assert needs.private_bytes == parts[Part.KV_CACHE] + parts[Part.COMPUTE]
    repacked = memory_needs(plan_offload(moe_facts(), MemoryBudget(64 * GIB), Wishes(repack=True)))
    assert (repacked.private_bytes, repacked.mapped_bytes) == (sum(parts.values()), 0)


@settings(max_examples=25, deadline=None)
@given(
    own=st.integers(0, 16),
    shared=st.integers(1, 128),
    ram=st.integers(4, 128),
    blocks=st.integers(4, 40),
    expert_mib=st.sampled_from([0, 50, 400, 2000]),
)
def test_no_plan_takes_more_than_own_memory_and_ram_together(
    own: int, shared: int, ram: int, blocks: int, expert_mib: int
) -> None:
    chip = replace(CHIP, vram_free_bytes=own * GIB, shared_free_bytes=shared * GIB)
    budget = budget_from(machine(chip, ram=ram * GIB))
    model = (
        moe_facts(blocks=blocks, expert_bytes=expert_mib * MIB) if expert_mib else dense_facts(blocks=blocks)
    )
    plan = plan_offload(model, budget, Wishes())
    if any(finding.severity is Severity.ERROR for finding in plan.findings):
        return
    planned = sum(device.planned_bytes for device in plan.devices)
    assert planned <= own * GIB + budget.ram_free_bytes
