"""The machine, for the window: what it has, and what it is doing."""

from collections.abc import Callable
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.engine_on_machine import EngineOnMachine
from app.findings import FindingCode
from app.hardware.detect import PROBE_TIMEOUT_SECONDS, Detection, detect
from app.hardware.facts import HardwareFacts, Sample
from app.hardware.gpu_choice import GpuChoice
from app.hardware.ports import GpuSource, HostSource, SurroundingsSource
from app.hardware.sampler import INTERVAL_SECONDS, TelemetrySampler
from app.planner.facts import MemoryBudget
from app.planner.report import budget_from
from app.ui.bridge import Bridge
from app.ui.tasks import Tasks

FIRST_LOOK_SECONDS: Final = 1.0
"""The hardware card shows what answered by then; what comes later fills in."""

LATE_LOOK_SECONDS: Final = 2.0
"""How often it is seen whether a probe that nobody waits for any more has answered after all."""

GENERATING_INTERVAL_SECONDS: Final = 0.5
HIDDEN_INTERVAL_SECONDS: Final = 30.0
"""While nobody looks and nothing is generated: a driver that is left alone lets its card sleep."""

HIDDEN_GENERATING_INTERVAL_SECONDS: Final = 5.0
"""While an answer comes that nobody sees: its curves are looked at afterwards, and have no gaps."""

LookAtEngine = Callable[[HardwareFacts], EngineOnMachine]


def any_engine(facts: HardwareFacts) -> EngineOnMachine:
    """Return a machine for an engine that could use all of it."""
    return EngineOnMachine(facts, None, GpuChoice({}), budget_from(facts))


class MachineController(QObject):
    """Detects in the background and samples once a second, twice while something is generated.

    Attributes:
        look_at_engine: Says what the chosen engine can do with a machine; called in the background.

    Signals:
        hardware_arriving: `HardwareFacts` of the probes that answered so far, without findings.
        hardware_changed: `HardwareFacts`, first what answered soon, then what came later.
        engine_seen: `EngineOnMachine` of the chosen engine, after the first look.
        sample_taken: a `Sample`.
    """

    hardware_arriving = Signal(object)
    hardware_changed = Signal(object)
    engine_seen = Signal(object)
    sample_taken = Signal(object)

    def __init__(
        self,
        bridge: Bridge,
        tasks: Tasks,
        gpu_source: GpuSource,
        host_source: HostSource,
        surroundings: SurroundingsSource | None = None,
        *,
        first_look_seconds: float = FIRST_LOOK_SECONDS,
    ) -> None:
        """Start nothing yet. Who made the sources closes them, after `stop`."""
        super().__init__()
        self.look_at_engine: LookAtEngine = any_engine
        self._seen: EngineOnMachine | None = None
        self._tasks = tasks
        self._gpu_source = gpu_source
        self._host_source = host_source
        self._surroundings = surroundings
        self._first_look_seconds = first_look_seconds
        self._sampler = TelemetrySampler(gpu_source, host_source, bridge.post_sample)
        self._hardware: HardwareFacts | None = None
        self._last_sample: Sample | None = None
        self._interval_seconds = INTERVAL_SECONDS
        self._is_active = True
        self._is_generating = False
        self._is_stopped = False
        self._has_hung_probe = False
        self._has_looked = False
        bridge.sample_taken.connect(self._on_sample)

    @property
    def hardware(self) -> HardwareFacts | None:
        """What the machine has; None before the first look."""
        return self._hardware

    @property
    def seen(self) -> EngineOnMachine | None:
        """What the last fresh look gave, the engine included; None before it. Any thread."""
        return self._seen

    @property
    def last_sample(self) -> Sample | None:
        """The newest sample; None before the first."""
        return self._last_sample

    @property
    def interval_seconds(self) -> float:
        """How often the machine is asked now."""
        return self._interval_seconds

    def look(self) -> None:
        """Begin to look at the machine: the earlier, the sooner it is known which driver hangs."""
        self._has_looked = True
        self._tasks.run_in_background(self._first_look, self._on_first_look)

    def see_engine(self) -> None:
        """Look again at what the chosen engine can do with the machine, in the background."""
        if self._hardware is not None:
            self._tasks.run_in_background(partial(self.look_at_engine, self._hardware), self.engine_seen.emit)

    def start(self) -> None:
        """Begin to sample, and to look at the machine unless that is under way."""
        self._is_stopped = False
        if not self._has_looked:
            self.look()
        self._sampler.start()

    def stop(self) -> None:
        """End the sampler; no sample comes after this."""
        self._is_stopped = True
        self._sampler.stop()

    def set_active(self, is_active: bool) -> None:
        """Say whether the window can be seen."""
        self._is_active = is_active
        self._set_pace()

    def set_generating(self, is_generating: bool) -> None:
        """Say whether an answer is being generated."""
        self._is_generating = is_generating
        self._set_pace()

    def budget(self) -> MemoryBudget:
        """Return what a model may take, by the last look at the machine."""
        return budget_from(self._hardware or HardwareFacts(None))

    def fresh_budget(self, patience_seconds: float | None = None) -> MemoryBudget:
        """Look at the machine again and return what a model may take. Blocks: never in the GUI thread.

        A driver that gave no answer the last time is waited for only shortly.
        """
        patience = FIRST_LOOK_SECONDS if self._has_hung_probe else PROBE_TIMEOUT_SECONDS
        sources = (self._gpu_source, self._host_source, self._surroundings)
        facts = detect(*sources, probe_timeout_seconds=patience_seconds or patience)
        self._has_hung_probe = _is_incomplete(facts)
        self._seen = self.look_at_engine(facts)
        return self._seen.budget

    def _set_pace(self) -> None:
        if self._is_active:
            seconds = GENERATING_INTERVAL_SECONDS if self._is_generating else INTERVAL_SECONDS
        else:
            hidden = (HIDDEN_INTERVAL_SECONDS, HIDDEN_GENERATING_INTERVAL_SECONDS)
            seconds = hidden[self._is_generating]
        self._interval_seconds = seconds
        self._sampler.set_interval(seconds)

    def _first_look(self) -> tuple[Detection, HardwareFacts]:
        detection = Detection(self._gpu_source, self._host_source, self._surroundings)
        for facts in detection.arrivals(self._first_look_seconds):
            self._tasks.post(partial(self._on_arrival, facts))
        return detection, detection.facts(self._first_look_seconds)

    def _on_arrival(self, facts: HardwareFacts) -> None:
        self.hardware_arriving.emit(facts)

    def _on_first_look(self, seen: tuple[Detection, HardwareFacts]) -> None:
        detection, facts = seen
        self._show(facts)
        if _is_incomplete(facts):
            self._has_hung_probe = True
            self._await_rest(detection)
        else:
            self.see_engine()

    def _await_rest(self, detection: Detection) -> None:
        rest = partial(detection.facts, PROBE_TIMEOUT_SECONDS)
        self._tasks.run_in_background(rest, partial(self._on_rest, detection))

    def _on_rest(self, detection: Detection, facts: HardwareFacts) -> None:
        self._show(facts)
        self.see_engine()
        if _is_incomplete(facts):
            self._look_later(detection)

    def _look_later(self, detection: Detection) -> None:
        QTimer.singleShot(round(1000 * LATE_LOOK_SECONDS), self, partial(self._on_late_look, detection))

    def _on_late_look(self, detection: Detection) -> None:
        if self._is_stopped:
            return
        if detection.has_news():
            self._await_rest(detection)
        else:
            self._look_later(detection)

    def _show(self, facts: HardwareFacts) -> None:
        if facts != self._hardware:
            self._hardware = facts
            self.hardware_changed.emit(facts)

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        if not self._is_stopped:
            self._last_sample = sample
            self.sample_taken.emit(sample)


def _is_incomplete(facts: HardwareFacts) -> bool:
    return any(finding.code is FindingCode.PROBE_TIMED_OUT for finding in facts.findings)
