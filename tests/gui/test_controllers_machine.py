"""Detection and samples as the window gets them."""

import itertools
import threading
import time
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.engine.engine_on_machine import EngineOnMachine
from app.findings import FindingCode
from app.hardware.facts import DriverInfo, GpuInfo, GpuSample, HardwareFacts, Sample
from app.ui.bridge import Bridge
from app.ui.controllers import machine_controller
from app.ui.controllers.machine_controller import MachineController
from app.ui.tasks import Tasks
from tests.fakes import FAKE_HOST, GIB, FakeGpuSource, FakeHostSource

CARD = GpuInfo(0, "A card", "nvidia", vram_total_bytes=8 * GIB, vram_free_bytes=7 * GIB, drives_display=True)
DRIVER = DriverInfo("551.61", (12, 4))
WAIT_MS = 10_000


class Machine:
    """A machine controller over fakes, and all it told."""

    def __init__(self, gpus: FakeGpuSource, host: FakeHostSource, first_look_seconds: float) -> None:
        self.bridge = Bridge()
        self.tasks = Tasks(self.bridge)
        self.controller = MachineController(
            self.bridge, self.tasks, gpus, host, first_look_seconds=first_look_seconds
        )
        self.facts: list[HardwareFacts] = []
        self.samples: list[Sample] = []
        self.controller.hardware_changed.connect(self.facts.append)
        self.controller.sample_taken.connect(self.samples.append)

    def close(self) -> None:
        self.controller.stop()
        self.tasks.close()


@pytest.fixture
def gpus() -> FakeGpuSource:
    gpus = FakeGpuSource([CARD], DRIVER)
    gpus.samples[0] = GpuSample(0, 5 * GIB, 8 * GIB, 60, 120_000, 30)
    return gpus


@pytest.fixture
def machine(qtbot: QtBot, gpus: FakeGpuSource) -> Iterator[Machine]:
    machine = Machine(gpus, FakeHostSource(), first_look_seconds=0.2)
    yield machine
    machine.close()


def test_the_machine_is_told_once_and_samples_follow(machine: Machine, qtbot: QtBot) -> None:
    machine.controller.start()
    qtbot.waitUntil(lambda: bool(machine.facts and machine.samples), timeout=WAIT_MS)
    assert machine.facts == [HardwareFacts(FAKE_HOST, DRIVER, (CARD,))]
    assert machine.samples[0].gpus[0].vram_used_bytes == 5 * GIB
    assert machine.controller.last_sample == machine.samples[-1]
    assert machine.controller.budget().vram_free_bytes == (7 * GIB,)


def test_a_look_begun_before_the_start_is_the_only_one(
    machine: Machine, gpus: FakeGpuSource, qtbot: QtBot
) -> None:
    machine.controller.look()
    qtbot.waitUntil(lambda: bool(machine.facts), timeout=WAIT_MS)
    gpus.hang = threading.Event()
    machine.controller.start()
    assert machine.controller.hardware == HardwareFacts(FAKE_HOST, DRIVER, (CARD,))
    gpus.hang.set()
    qtbot.waitUntil(lambda: bool(machine.samples), timeout=WAIT_MS)
    assert len(machine.facts) == 1


def test_a_hung_driver_costs_its_own_facts_and_they_come_late(
    machine: Machine, gpus: FakeGpuSource, qtbot: QtBot
) -> None:
    gpus.hang = threading.Event()
    started = time.monotonic()
    machine.controller.start()
    qtbot.waitUntil(lambda: bool(machine.facts), timeout=WAIT_MS)
    assert time.monotonic() - started < 1.5
    assert machine.facts[0].host == FAKE_HOST
    assert machine.facts[0].gpus == ()
    assert FindingCode.PROBE_TIMED_OUT in [finding.code for finding in machine.facts[0].findings]
    gpus.hang.set()
    qtbot.waitUntil(lambda: len(machine.facts) == 2, timeout=WAIT_MS)
    assert machine.facts[1] == HardwareFacts(FAKE_HOST, DRIVER, (CARD,))


def test_a_driver_that_answers_when_nobody_waits_any_more_is_told_all_the_same(
    machine: Machine, gpus: FakeGpuSource, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_controller, "PROBE_TIMEOUT_SECONDS", 0.4)
    monkeypatch.setattr(machine_controller, "LATE_LOOK_SECONDS", 0.05)
    engines: list[EngineOnMachine] = []
    machine.controller.engine_seen.connect(engines.append)
    gpus.hang = threading.Event()
    machine.controller.start()
    qtbot.waitUntil(lambda: len(machine.facts) == 2, timeout=WAIT_MS)
    assert {f.values["seconds"] for f in machine.facts[1].findings} == {0.4}
    qtbot.waitUntil(lambda: len(engines) == 1, timeout=WAIT_MS)
    gpus.hang.set()
    qtbot.waitUntil(lambda: machine.controller.hardware == HardwareFacts(FAKE_HOST, DRIVER, (CARD,)))
    qtbot.waitUntil(lambda: engines[-1].hardware.gpus == (CARD,), timeout=WAIT_MS)


def test_a_driver_that_hung_is_not_waited_for_long_again(machine: Machine, gpus: FakeGpuSource) -> None:
    hang = gpus.hang = threading.Event()
    machine.controller.fresh_budget(patience_seconds=0.1)
    started = time.monotonic()
    assert machine.controller.fresh_budget().vram_free_bytes == ()
    assert time.monotonic() - started < 2.0
    hang.set()
    assert machine.controller.fresh_budget().vram_free_bytes == (7 * GIB,)


def test_samples_come_faster_while_generating_and_slower_while_hidden(machine: Machine, qtbot: QtBot) -> None:
    controller = machine.controller
    controller.start()
    qtbot.waitUntil(lambda: len(machine.samples) >= 1, timeout=WAIT_MS)
    controller.set_generating(True)
    begun = len(machine.samples)
    qtbot.waitUntil(lambda: len(machine.samples) >= begun + 4, timeout=WAIT_MS)
    moments = [sample.monotonic_seconds for sample in machine.samples[begun:]]
    gaps = [later - sooner for sooner, later in itertools.pairwise(moments[1:])]
    assert 0.4 < min(gaps) < 0.9, gaps  # a busy machine is late now and then, and never early
    controller.set_active(False)
    qtbot.waitUntil(lambda: machine.samples[-1].monotonic_seconds > moments[-1], timeout=WAIT_MS)
    hidden = len(machine.samples)
    qtbot.wait(1500)
    assert len(machine.samples) <= hidden + 1


def test_idle_and_out_of_sight_the_driver_is_left_alone_for_half_a_minute(machine: Machine) -> None:
    machine.controller.set_active(False)
    assert machine.controller.interval_seconds >= 30.0
    machine.controller.set_generating(True)
    assert machine.controller.interval_seconds < 30.0
    machine.controller.set_generating(False)
    assert machine.controller.interval_seconds >= 30.0


def test_no_sample_comes_after_stop(machine: Machine, qtbot: QtBot) -> None:
    machine.controller.start()
    qtbot.waitUntil(lambda: bool(machine.samples), timeout=WAIT_MS)
    machine.controller.stop()
    known = len(machine.samples)
    machine.bridge.post_sample(Sample(0.0, None))
    qtbot.wait(20)
    assert len(machine.samples) == known
