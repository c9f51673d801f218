"""What would make a model faster here: more RAM, more VRAM, a faster drive."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.gguf.facts import ModelFacts
from app.planner.facts import MemoryBudget, OffloadPlan, SpeedRange, Wishes
from app.planner.measured_speeds import MachineSpeeds
from app.planner.plan import plan_offload

RAM_STEPS_BYTES: Final = tuple(gib * 1024**3 for gib in (16, 32, 64, 128))
VRAM_STEPS_BYTES: Final = tuple(gib * 1024**3 for gib in (4, 8, 16))
DRIVE_STEPS: Final = (3.5e9, 7e9, 14e9)
"""Bytes per second that NVMe drives of the third to fifth PCIe generation reach with large reads."""

WORTH: Final = 1.1
"""A smaller gain than this is not worth telling."""


class GainKind(StrEnum):
    """What there would be more of."""

    RAM = "ram"
    VRAM = "vram"
    DRIVE = "drive"


@dataclass(frozen=True, slots=True)
class SpeedGain:
    """One purchase.

    Attributes:
        amount: Bytes more of RAM or VRAM (of the first GPU); bytes per second the drive would have.
        tokens_per_second: With it.
        factor: How many times faster than now, as expected.
    """

    kind: GainKind
    amount: float
    tokens_per_second: SpeedRange
    factor: float


def speed_gains(
    model: ModelFacts, budget: MemoryBudget, wishes: Wishes, plan: OffloadPlan
) -> tuple[SpeedGain, ...]:
    """Return for each kind the smaller steps that pay, until a bigger one adds nothing; () without a speed.

    Makes up to ten plans: for a look on request, not for every move of a control. What was learned from
    answers with the plan as it is holds for that plan only, and is left out on both sides.
    """
    speeds = replace(budget.speeds or MachineSpeeds(), correction=None, by_place={})
    budget = replace(budget, speeds=speeds)
    now = plan_offload(model, budget, wishes).forecast
    if plan.forecast is None or now is None:
        return ()
    gains: list[SpeedGain] = []
    best = dict.fromkeys(GainKind, WORTH)
    for kind, amount, richer in _richer(budget, has_disk=plan.forecast.disk is not None):
        then = plan_offload(model, richer, wishes).forecast
        if then is None or then.expected < best[kind] * now.expected:
            continue
        factor = then.expected / now.expected
        best[kind] = WORTH * factor
        gains.append(SpeedGain(kind, amount, then.decode, factor))
    return tuple(gains)


def _richer(budget: MemoryBudget, *, has_disk: bool) -> Iterator[tuple[GainKind, float, MemoryBudget]]:
    speeds = budget.speeds or MachineSpeeds()
    if has_disk:
        for more in RAM_STEPS_BYTES:
            yield GainKind.RAM, more, replace(budget, ram_free_bytes=budget.ram_free_bytes + more)
    if budget.vram_free_bytes and not any(budget.shared_vram_bytes):
        first, *others = budget.vram_free_bytes
        for more in VRAM_STEPS_BYTES:
            yield GainKind.VRAM, more, replace(budget, vram_free_bytes=(first + more, *others))
    now = budget.disk_bytes_per_second or speeds.disk_bytes_per_second
    if has_disk and now:
        for speed in DRIVE_STEPS:
            if speed > now:
                faster = replace(speeds, disk_bytes_per_second=speed)
                yield GainKind.DRIVE, speed, replace(budget, speeds=faster, disk_bytes_per_second=None)
