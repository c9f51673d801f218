"""What more memory or a faster drive would give: the same plan with other numbers."""

from dataclasses import replace

from app.planner.facts import MemoryBudget, Wishes
from app.planner.measured_speeds import MachineSpeeds
from app.planner.plan import plan_offload
from app.planner.speed_gains import GainKind, SpeedGain, speed_gains
from tests.planner_models import GIB, moe_facts, one_gpu

SPEEDS = MachineSpeeds(memory_bytes_per_second=50e9, disk_bytes_per_second=1e9)
BIG = moe_facts(expert_bytes=2 * GIB)


def gains(budget: MemoryBudget) -> tuple[SpeedGain, ...]:
    return speed_gains(BIG, budget, Wishes(), plan_offload(BIG, budget, Wishes()))


def test_when_experts_lie_on_the_drive_more_ram_and_a_faster_drive_help() -> None:
    found = gains(MemoryBudget(32 * GIB, performance_cores=4, speeds=SPEEDS))
    kinds = {gain.kind for gain in found}
    assert kinds == {GainKind.RAM, GainKind.DRIVE}
    assert all(gain.factor > 1.1 for gain in found)
    for kind in kinds:
        of_kind = [gain.factor for gain in found if gain.kind is kind]
        assert of_kind == sorted(of_kind)


def test_when_everything_fits_only_vram_helps() -> None:
    budget = replace(one_gpu(12 * GIB, 256 * GIB), speeds=SPEEDS, vram_bytes_per_second=800e9)
    assert {gain.kind for gain in gains(budget)} == {GainKind.VRAM}


def test_a_step_that_adds_nothing_to_a_smaller_one_is_left_out() -> None:
    found = gains(MemoryBudget(90 * GIB, performance_cores=4, speeds=SPEEDS))
    assert [gain.amount for gain in found if gain.kind is GainKind.RAM] == [16 * GIB]


def test_without_a_speed_there_is_no_gain() -> None:
    assert gains(MemoryBudget(32 * GIB)) == ()
