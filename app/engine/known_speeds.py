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
from app.options import EngineOptions
from app.planner.facts import OffloadPlan, SpeedForecast
from app.planner.measured_speeds import Calibration, MachineSpeeds
from app.planner.speed_history import (
    MeasuredAnswer,
    PlanKey,
    SpeedHistory,
    model_key,
    others_correction,
    own_corrections,
    place_key,
)


@dataclass(frozen=True, slots=True)
class SpeedSources:
    """Where measurements are kept."""

    calibrations: CalibrationCache
    history: SpeedHistory


def known_speeds(
    sources: SpeedSources,
    hardware: HardwareFacts,
    model: ModelFacts,
    build: str,
    storage: StorageSpeed | None = None,
) -> MachineSpeeds:
    """Return what was measured of a machine with an engine build; measures nothing.

    Args:
        build: The engine's version text.
        storage: Of the drive the model lies on.
    """
    memory = hardware.memory_speed
    best = max((depth.bytes_per_second for depth in storage.depths), default=0) if storage else 0
    answers = sources.history.answers()
    return MachineSpeeds(
        memory_bytes_per_second=memory.read_bytes_per_second if memory else None,
        disk_bytes_per_second=best or None,
        calibrations=sources.calibrations.known(machine_key(hardware), build),
        correction=others_correction(answers, build),
        by_place=own_corrections(answers, model_key(model), build),
    )


def keep_answer(
    sources: SpeedSources,
    model: ModelFacts,
    build: str,
    options: EngineOptions,
    told: SpeedForecast | None,
    timings: Timings,
) -> None:
    """Keep how fast an answer was, against what was said of these options without any correction.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    speed = timings.predicted_tokens_per_second
    if speed is None:
        return
    key = PlanKey(model_key(model), build, place_key(options))
    predicted = told.expected / told.correction_factor if told is not None and told.seconds_by_tier else 0.0
    sources.history.keep(MeasuredAnswer(key, predicted, speed, timings.predicted_tokens or 0))


def missing_request(
    sources: SpeedSources, hardware: HardwareFacts, model: ModelFacts, build: str, request: CalibrationRequest
) -> CalibrationRequest | None:
    """Return what of a request still has to be measured for a model; None when nothing is missing."""
    speeds = MachineSpeeds(calibrations=sources.calibrations.known(machine_key(hardware), build))
    device = "GPU" if request.on_gpu else "CPU"
    known = speeds.calibration(device, request.n_threads, repack=request.repack)
    groups = missing_groups(known, groups_that_matter(model))
    return replace(request, groups=groups) if groups else None


def measure(
    sources: SpeedSources,
    hardware: HardwareFacts,
    request: CalibrationRequest,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Calibration | None:
    """Calibrate, 2 s per type, and keep it. Blocks; None when cancelled.

    Raises:
        FindingError: the engine does not start. That nothing can be kept is no failure here.
    """
    fresh = calibrate(request, is_cancelled)
    if fresh is not None:
        with contextlib.suppress(FindingError):
            sources.calibrations.keep(machine_key(hardware), fresh)
    return fresh


def request_of(spec: EngineSpec, plan: OffloadPlan, *, on_gpu: bool = False) -> CalibrationRequest:
    """Return what to measure for a plan: its threads, and whether weights are rearranged."""
    options = plan.options
    return CalibrationRequest(spec, (), options.n_threads, repack=options.repack, on_gpu=on_gpu)
