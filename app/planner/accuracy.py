"""How close plans come to what engines really take; and what engines took corrects the next plan.

A figure of an engine is compared with what the formulas say for the same options, uncorrected. The ratio of
the two, by build, architecture and kind of device, is the correction; how much it varies is the error that a
plan states.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from app.planner.corrections import FORMULA_ERRORS, Correction, Corrections, PartGroup
from app.planner.facts import Part

LIMIT_SHARE: Final = 0.05
LIMIT_BYTES: Final = 8 * 1024**2
LIMIT_BYTES_BIG: Final = 300 * 1000**2
BIG_FROM_BYTES: Final = 6 * 1000**3
"""From here on `LIMIT_BYTES_BIG` counts instead of `LIMIT_BYTES`."""

RATIO_BOUNDS: Final = (0.5, 2.0)
"""What lies outside says that something else is wrong."""

SAMPLES: Final = 15
"""The newest so many count: options differ, and old ones say less about the person's habits."""

SMALLEST_ERROR: Final = 0.01

_GROUPS_OF_PARTS: Final[Mapping[Part, PartGroup]] = {
    Part.KV_CACHE: PartGroup.CONTEXT,
    Part.STATE: PartGroup.CONTEXT,
    Part.COMPUTE: PartGroup.COMPUTE,
    Part.PROMPT_CACHE: PartGroup.CONTEXT,
}


class Source(StrEnum):
    """Where a figure comes from."""

    DRY_RUN = "dry-run"
    BREAKDOWN = "breakdown"
    LOAD = "load"


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure of an engine beside what the formulas say for the same options.

    Attributes:
        build: The engine and its version, as it names itself.
        device: Kind of device: `CPU`, or the engine's name of it without its number (`CUDA`, `RPC`).
    """

    build: str
    architecture: str
    device: str
    part: PartGroup
    planned_bytes: int
    engine_bytes: int
    source: Source

    @property
    def ratio(self) -> float | None:
        """Engine over plan, within `RATIO_BOUNDS`; None where there is nothing to learn."""
        if self.planned_bytes <= 0 or self.engine_bytes <= 0:
            return None
        low, high = RATIO_BOUNDS
        return min(high, max(low, self.engine_bytes / self.planned_bytes))


def group_of(part: Part) -> PartGroup:
    """Return where a part of a plan counts in an engine's figures."""
    return _GROUPS_OF_PARTS.get(part, PartGroup.WEIGHTS)


def limit_bytes(engine_bytes: int) -> int:
    """Return by how much a plan may be off."""
    least = LIMIT_BYTES if engine_bytes < BIG_FROM_BYTES else LIMIT_BYTES_BIG
    return max(least, int(engine_bytes * LIMIT_SHARE))


def is_within(planned_bytes: int, engine_bytes: int) -> bool:
    """Return whether a plan is as close as it promises to be."""
    return abs(planned_bytes - engine_bytes) <= limit_bytes(engine_bytes)


def device_kind(name: str) -> str:
    """Return the kind of an engine's device or buffer: `CUDA0` -> `CUDA`; all of RAM is `CPU`."""
    kind = name.rstrip("0123456789")
    is_ram = kind.startswith(("CPU", "AMX", "BLAS", "Host")) or kind.endswith("_Host")
    return "CPU" if is_ram else kind


def corrections_for(
    history: Iterable[Measured], build: str, architecture: str, gpu_kind: str | None = None
) -> Corrections:
    """Return what engines' figures say about plans for one build and architecture.

    Args:
        history: Oldest first.
        gpu_kind: As `device_kind` names the GPUs to be used; None when there are none, or they are unknown.
    """
    known = [one for one in history if (one.build, one.architecture) == (build, architecture)]
    return Corrections(
        on_gpu=_by_part(one for one in known if one.device == gpu_kind),
        on_cpu=_by_part(one for one in known if one.device == "CPU"),
    )


def expected_error_bytes(parts: Mapping[Part, int], corrections: Corrections, *, on_gpu: bool) -> int:
    """Return by how much a device may turn out fuller or emptier than planned."""
    share = {part: corrections.of(group_of(part), on_gpu=on_gpu).error_share for part in parts}
    return round(sum(size * share[part] for part, size in parts.items()))


def _by_part(measured: Iterable[Measured]) -> Mapping[PartGroup, Correction]:
    ratios: dict[PartGroup, list[float]] = {}
    for one in measured:
        if one.ratio is not None:
            ratios.setdefault(one.part, []).append(one.ratio)
    return {part: _learnt(part, found[-SAMPLES:]) for part, found in ratios.items()}


def _learnt(part: PartGroup, ratios: Sequence[float]) -> Correction:
    """Return the middle of what was seen; one figure alone says nothing yet about how much they vary."""
    factor = median(ratios)
    spread = max(abs(ratio / factor - 1) for ratio in ratios)
    if len(ratios) == 1:
        spread = min(FORMULA_ERRORS[part], abs(factor - 1))
    return Correction(factor, max(SMALLEST_ERROR, spread), len(ratios))
