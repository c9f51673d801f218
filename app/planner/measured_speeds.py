"""What was measured of a machine and an engine on it, as facts to predict speeds from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class WeightKind(StrEnum):
    """How an engine multiplies with weights: all of a matrix, or the part of a tensor that was routed to."""

    DENSE = "dense"
    EXPERTS = "experts"


class SpeedBasis(StrEnum):
    """What a prediction rests on, the best first."""

    MEASURED_HERE = "measured_here"
    CALIBRATED = "calibrated"
    BANDWIDTH = "bandwidth"


@dataclass(frozen=True, slots=True)
class TypeSpeed:
    """How fast an engine works through weights of one type.

    Attributes:
        type_name: ggml's, e.g. `Q4_K`.
        decode_bytes_per_second: Token by token, what a token has on top left out.
        prefill_elements_per_second: Weights times tokens, in batches.
    """

    type_name: str
    kind: WeightKind
    decode_bytes_per_second: float
    prefill_elements_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """One engine build on one machine, measured with small models of its own.

    Attributes:
        build: The engine's version text.
        device: `CPU`, or `GPU` for all of them together.
        n_threads: Of the processor; 0 for a GPU.
        repack: CPU weights could be rearranged.
        block_seconds: What a block takes for a token beside its weights.
        types: What was measured; no types where the engine knows none that was asked for.
        measured_at: Seconds since 1970.
    """

    build: str
    device: str
    n_threads: int
    repack: bool
    block_seconds: float
    types: tuple[TypeSpeed, ...]
    measured_at: int = 0


@dataclass(frozen=True, slots=True)
class SpeedCorrection:
    """What answers here took, against what was predicted of them.

    Attributes:
        factor: Measured over predicted speed.
        is_same_plan: They ran with this model in this place; else with others on this machine.
        answers: How many.
        tokens_per_second: Of those with this model in this place, the middle; None for others.
    """

    factor: float
    is_same_plan: bool
    answers: int = 1
    tokens_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class MachineSpeeds:
    """All there is to predict from. `None` = not measured.

    Attributes:
        memory_bytes_per_second: Plain reading of RAM on all cores (`hardware/memory_speed.py`).
        disk_bytes_per_second: Pieces as big as an expert's, many at a time (`hardware/storage.py`).
        disk_hit_share: Of the expert bytes that tokens need, what was found in RAM, measured or stated; for a
            model whose experts do not all fit.
        pcie_bytes_per_second: From RAM to the GPU.
        correction: What answers with other models or in other places teach; by_place: what those of the model
            itself do, by `place_key` of their options.
    """

    memory_bytes_per_second: float | None = None
    disk_bytes_per_second: float | None = None
    disk_hit_share: float | None = None
    pcie_bytes_per_second: float | None = None
    calibrations: tuple[Calibration, ...] = ()
    correction: SpeedCorrection | None = None
    by_place: Mapping[str, SpeedCorrection] = field(default_factory=dict)

    def calibration(self, device: str, n_threads: int, *, repack: bool) -> Calibration | None:
        """Return what was measured of a device as it is going to be used; None when nothing was."""
        for found in self.calibrations:
            if found.device == device and (
                device != "CPU" or (found.n_threads, found.repack) == (n_threads, repack)
            ):
                return found
        return None

    def correction_of(self, place: str | None) -> SpeedCorrection | None:
        """Return what answers teach about a place; what others teach where the model never ran there."""
        own = self.by_place.get(place) if place is not None else None
        return own or self.correction
