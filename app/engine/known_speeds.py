"""What is known of speeds here before a load, and how to learn the rest of it."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.engine.calibration import CalibrationRequest, calibrate, groups_that_matter
from app.engine.calibration_cache import CalibrationCache, machine_key, missing_groups
from app.engine.protocol import Timings
from app.engine.spec import EngineSpec
from app.findings import FindingError
from app.gguf.facts import ModelFacts
from app.hardware.facts import HardwareFacts
from app.hardware.speeds import StorageSpeed
from app.planner.facts import OffloadPlan
from app.planner.measured_speeds import Calibration, MachineSpeeds
from app.planner.speed_history import (
    MeasuredAnswer,
    PlanKey,
    SpeedHistory,
    correction,
    model_key,
    place_key,
)


@dataclass(frozen=True, slots=True)
class SpeedSources:
    """Where measurements are kept."""

    calibrations: CalibrationCache
    history: SpeedHistory


def known_speeds(
    sources: SpeedSources, hardware: HardwareFacts, build: str, storage: StorageSpeed | None = None
) -> MachineSpeeds:
    """Return what was measured of a machine with an engine build; measures nothing.

    Args:
        build: The engine's version text.
        storage: Of the drive the model lies on.
    """
    memory = hardware.memory_speed
    best = max((depth.bytes_per_second for depth in storage.depths), default=0) if storage else 0
    return MachineSpeeds(
        memory_bytes_per_second=memory.read_bytes_per_second if memory else None,
        disk_bytes_per_second=best or None,
        calibrations=sources.calibrations.known(machine_key(hardware), build),
    )


def with_history(
    speeds: MachineSpeeds, sources: SpeedSources, model: ModelFacts, build: str, plan: OffloadPlan
) -> MachineSpeeds:
    """Return the speeds with what answers taught about such a plan; plan again with them."""
    key = PlanKey(model_key(model), build, place_key(plan.options))
    return replace(speeds, correction=correction(sources.history.answers(), key))


def keep_answer(
    sources: SpeedSources, model: ModelFacts, build: str, plan: OffloadPlan, timings: Timings
) -> None:
    """Keep how fast an answer was, against what the plan said without any correction.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    speed = timings.predicted_tokens_per_second
    if plan.forecast is None or speed is None:
        return
    key = PlanKey(model_key(model), build, place_key(plan.options))
    predicted = plan.forecast.expected / plan.forecast.correction_factor
    sources.history.keep(MeasuredAnswer(key, predicted, speed, timings.predicted_tokens or 0))


def calibrated_for(
    sources: SpeedSources,
    hardware: HardwareFacts,
    model: ModelFacts,
    request: CalibrationRequest,
    known: Calibration | None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Calibration | None:
    """Measure the types a model needs that are not known yet, and keep that. 2 s per type; blocks.

    Returns `known` when nothing is missing; None when cancelled.

    Raises:
        FindingError: the engine does not start. That nothing can be kept is no failure here.
    """
    groups = missing_groups(known, groups_that_matter(model))
    if not groups:
        return known
    fresh = calibrate(replace(request, groups=groups), is_cancelled)
    if fresh is not None:
        with contextlib.suppress(FindingError):
            sources.calibrations.keep(machine_key(hardware), fresh)
    return fresh


def request_of(spec: EngineSpec, plan: OffloadPlan, *, on_gpu: bool = False) -> CalibrationRequest:
    """Return what to measure for a plan: its threads, and whether weights are rearranged."""
    options = plan.options
    return CalibrationRequest(spec, (), options.n_threads, repack=options.repack, on_gpu=on_gpu)
