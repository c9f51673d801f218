"""What the formulas are multiplied with, as engines' own figures have taught."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class PartGroup(StrEnum):
    """What engines tell apart."""

    WEIGHTS = "weights"
    CONTEXT = "context"
    COMPUTE = "compute"

    @classmethod
    def of_buffer(cls, part: str) -> "PartGroup":
        """Return the group of an engine's buffer, by the name it has in `BufferUse.part`."""
        return _GROUPS_OF_BUFFERS.get(part, cls.COMPUTE)


_GROUPS_OF_BUFFERS: Final[Mapping[str, PartGroup]] = {
    "model": PartGroup.WEIGHTS,
    "kv_cache": PartGroup.CONTEXT,
    "state": PartGroup.CONTEXT,
}
FORMULA_ERRORS: Final[Mapping[PartGroup, float]] = {
    PartGroup.WEIGHTS: 0.01,
    PartGroup.CONTEXT: 0.01,
    PartGroup.COMPUTE: 0.2,
}
"""Of the formulas alone, where no engine was ever heard (docs/planner.md, "How close")."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What one figure is multiplied with.

    Attributes:
        error_share: By how much of the figure it may still be off.
        sample_count: Figures of engines behind it; 0 for the formulas alone.
    """

    factor: float = 1.0
    error_share: float = 0.0
    sample_count: int = 0


@dataclass(frozen=True, slots=True)
class Corrections:
    """What was learnt about one build and architecture.

    Attributes:
        on_gpu: By what memory is used for, on the GPUs; on_cpu likewise.
    """

    on_gpu: Mapping[PartGroup, Correction] = field(default_factory=dict)
    on_cpu: Mapping[PartGroup, Correction] = field(default_factory=dict)

    def of(self, part: PartGroup, *, on_gpu: bool) -> Correction:
        """Return one of them."""
        known = (self.on_gpu if on_gpu else self.on_cpu).get(part)
        return known or Correction(error_share=FORMULA_ERRORS[part])

    @property
    def context_factor(self) -> float:
        """The caches' factor: the same arithmetic on every device, so the one with more figures counts."""
        found = [self.of(PartGroup.CONTEXT, on_gpu=on_gpu) for on_gpu in (True, False)]
        return max(found, key=lambda correction: correction.sample_count).factor

    @property
    def gpu_compute_factor(self) -> float:
        """Of the compute buffers on GPUs."""
        return self.of(PartGroup.COMPUTE, on_gpu=True).factor

    @property
    def cpu_compute_factor(self) -> float:
        """Of the compute buffer in RAM."""
        return self.of(PartGroup.COMPUTE, on_gpu=False).factor
