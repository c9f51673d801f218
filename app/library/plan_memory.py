"""What loads and answers on this machine have taught, for the next plan; and how the rest is learnt."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from app.engine.calibration import CalibrationRequest
from app.engine.calibration_cache import CalibrationCache
from app.engine.engine_builds import EngineBuilds
from app.engine.known_speeds import (
    SpeedSources,
    keep_answer,
    known_speeds,
    measure,
    missing_request,
    request_of,
)
from app.engine.packs import WORKER
from app.engine.plan_measures import build_name, measured_load, taught_budget
from app.engine.protocol import Hello, Loaded, Timings
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingError
from app.gguf.facts import ModelFacts
from app.hardware.facts import HardwareFacts
from app.hardware.speeds import StorageSpeed
from app.hardware.storage_cache import StorageCache
from app.library.drive_speed import storage_test
from app.options import EngineOptions
from app.paths import (
    calibrations_file,
    engine_builds_file,
    plan_accuracy_file,
    speed_history_file,
    storage_speeds_file,
)
from app.planner.accuracy_store import AccuracyStore
from app.planner.facts import MemoryBudget, OffloadPlan, SpeedForecast
from app.planner.measured_speeds import MachineSpeeds
from app.planner.speed_history import SpeedHistory

_NAMES: Final = {BackendKind.LLAMA: WORKER.name, BackendKind.LLAMA_SERVER: BackendKind.LLAMA_SERVER.value}
"""What engines call themselves."""


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A load that is in force.

    Attributes:
        told: What the plan said of its speed; None when nothing did.
    """

    spec: EngineSpec
    model: ModelFacts
    options: EngineOptions
    hello: Hello
    told: SpeedForecast | None = None


class PlanMemory:
    """All of it, in small files of the data folder. Any thread; blocks for files, never raises for them."""

    def __init__(self) -> None:
        """Read nothing yet."""
        self._builds = EngineBuilds(engine_builds_file())
        self._figures = AccuracyStore(plan_accuracy_file())
        self._sources = SpeedSources(
            CalibrationCache(calibrations_file()), SpeedHistory(speed_history_file())
        )
        self._drives = StorageCache(storage_speeds_file())

    def taught(
        self, budget: MemoryBudget, model: ModelFacts, spec: EngineSpec, hardware: HardwareFacts
    ) -> MemoryBudget:
        """Return the budget with what is known of this model, engine and machine; measures nothing."""
        hello = self._builds.known(spec)
        build = hello.build if hello is not None else ""
        speeds = known_speeds(self._sources, hardware, model, build, self._drive(model, hardware))
        budget = replace(budget, speeds=speeds)
        if hello is None:
            return budget
        return taught_budget(budget, model, build_name(hello), self._figures.figures())

    def keep_load(self, running: RunningModel, loaded: Loaded) -> None:
        """Learn from what the engine took."""
        hello = running.hello
        found = measured_load(running.model, running.options, build_name(hello), loaded.buffers)
        with contextlib.suppress(FindingError):  # it counts until the program ends
            self._figures.add(found)
        with contextlib.suppress(FindingError):
            self._builds.keep(running.spec, hello)

    def keep_answer(self, running: RunningModel, timings: Timings) -> None:
        """Learn from how fast an answer was."""
        if running.spec.backend is BackendKind.ECHO:
            return
        with contextlib.suppress(FindingError):
            keep_answer(
                self._sources, running.model, running.hello.build, running.options, running.told, timings
            )

    def to_measure(
        self, spec: EngineSpec, hardware: HardwareFacts, model: ModelFacts, plan: OffloadPlan
    ) -> CalibrationRequest | None:
        """Return what should be calibrated before this plan's speed can be told; None when it is known.

        Cards are measured too where the plan uses them and they are this machine's own.
        """
        if spec.backend is BackendKind.ECHO:
            return None
        hello = self._builds.known(spec)
        build = hello.build if hello is not None else ""
        options = plan.options
        kinds = [False, True] if options.n_gpu_layers and not options.rpc_servers else [False]
        if plan.devices[0].name == "CPU":
            kinds = [False]
        for on_gpu in kinds:
            request = request_of(spec, plan, on_gpu=on_gpu)
            found = missing_request(self._sources, hardware, model, build, request)
            if found is not None:
                return found
        return None

    def measure(
        self,
        hardware: HardwareFacts,
        request: CalibrationRequest,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Calibrate and keep it; False when cancelled. Blocks, 2 s per type.

        Raises:
            FindingError: the engine does not start.
        """
        fresh = measure(self._sources, hardware, request, is_cancelled)
        if fresh is None:
            return False
        with contextlib.suppress(FindingError):
            self._builds.keep(request.spec, Hello(_NAMES[request.spec.backend], fresh.build))
        return True

    def _drive(self, model: ModelFacts, hardware: HardwareFacts) -> StorageSpeed | None:
        """Return what was measured of the drive a model lies on."""
        try:
            disk, test = storage_test(model.path, model, hardware)
            size = model.path.stat().st_size
        except OSError:
            return None
        return None if disk is None else self._drives.find(disk, size, test.piece_bytes)


def recorded_speeds(hardware: HardwareFacts) -> MachineSpeeds:
    """Return what a recording says of a machine's memory and drives, the fastest of them."""
    memory = hardware.memory_speed
    drives = [depth.bytes_per_second for speed in hardware.storage_speeds for depth in speed.depths]
    return MachineSpeeds(
        memory_bytes_per_second=memory.read_bytes_per_second if memory else None,
        disk_bytes_per_second=max(drives, default=0) or None,
    )
