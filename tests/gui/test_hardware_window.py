"""The machine in the whole window: arriving probe by probe, hanging, chosen from. Window part of case H17."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine.engine_devices import EngineReader
from app.engine.packs import ECHO
from app.engine.protocol import BufferUse, DeviceInfo, Hello, Loaded
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent
from app.engine.spec import EngineSpec
from app.findings import FindingCode
from app.hardware.detect import Detection
from app.hardware.facts import DriverInfo, GpuInfo, GpuSample, HardwareFacts, RuntimeFacts, SystemFacts
from app.paths import engines_folder
from app.settings import Settings
from app.ui.controllers.machine_controller import FIRST_LOOK_SECONDS
from app.ui.controllers.model_jobs import make_session
from app.ui.main_window import SETTINGS
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.views.dock import PLAN
from app.ui.widgets.labels import TextLabel
from tests.controller_setup import write_model
from tests.fakes import FAKE_HOST, GIB, FakeGpuSource, FakeHostSource
from tests.unit.engine.test_binary_imports import linux_program
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, longest_turn, make_program

OLD = GpuInfo(0, "NVIDIA GeForce GTX 1660 SUPER", "nvidia", "GPU-aaaa", "01:00.0", 6 * GIB, 5 * GIB, (7, 5))
GOOD = GpuInfo(1, "NVIDIA GeForce RTX 3090", "nvidia", "GPU-bbbb", "02:00.0", 24 * GIB, 23 * GIB, (8, 6))
DRIVER = DriverInfo("551.61", (12, 4))
SERVER = "llama-server.exe" if sys.platform == "win32" else "llama-server"
COMPLETE_SECONDS = 2.0
STALL_SECONDS = 0.05
SLACK = 3.0
"""Of a machine that does other things meanwhile."""

Make = Callable[[Ports, Settings], WindowDriver]


class HangingSurroundings:
    """Answers nothing until the test is over."""

    def __init__(self, hang: threading.Event) -> None:
        self._hang = hang

    def runtime(self) -> RuntimeFacts:
        self._hang.wait()
        return RuntimeFacts()

    def system(self) -> SystemFacts:
        self._hang.wait()
        return SystemFacts()


class SessionMaker:
    """Runs the echo engine instead of what is asked for, and keeps what was asked for."""

    def __init__(self) -> None:
        self.asked: list[EngineSpec] = []

    def __call__(self, spec: EngineSpec, listener: Callable[[SessionEvent], None]) -> EngineSession:
        self.asked.append(spec)
        return make_session(ECHO, listener)


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def make(qtbot: QtBot, qapp: QApplication, data_home: Path) -> Iterator[Make]:
    made: list[WindowDriver] = []

    def driver(ports: Ports, settings: Settings) -> WindowDriver:
        made.append(WindowDriver(qtbot, make_program(qapp, ports, settings)))
        return made[-1]

    yield driver
    for one in made:
        one.delete()


@pytest.fixture
def desktop() -> FakeDesktop:
    return FakeDesktop()


@pytest.fixture
def gpus() -> FakeGpuSource:
    gpus = FakeGpuSource([OLD, GOOD], DRIVER)
    gpus.samples = {0: GpuSample(0, GIB, 6 * GIB), 1: GpuSample(1, 2 * GIB, 24 * GIB)}
    return gpus


def ports(gpus: FakeGpuSource, desktop: FakeDesktop, host: FakeHostSource | None = None) -> Ports:
    return Ports(gpus, host or FakeHostSource(), lambda _: desktop, lambda _: FakeInhibitor())


def test_each_probe_arrives_on_its_own(hang: threading.Event, gpus: FakeGpuSource) -> None:
    gpus.hang = hang
    detection = Detection(gpus, FakeHostSource())
    arrivals = detection.arrivals(5.0)
    first = next(arrivals)
    assert first == HardwareFacts(FAKE_HOST)
    hang.set()
    *_, last = arrivals
    assert (last.gpus, last.driver, last.findings) == ((OLD, GOOD), DRIVER, ())


def test_lines_fill_while_others_still_wait(
    make: Make, hang: threading.Event, gpus: FakeGpuSource, desktop: FakeDesktop
) -> None:
    gpus.hang = hang
    driver = make(ports(gpus, desktop), Settings(engine="echo", language="en"))
    card = driver.program.window.chat_place.stage.first_run.hardware
    machine = driver.program.machine
    arrived: list[tuple[list[str], HardwareFacts | None]] = []
    machine.hardware_arriving.connect(
        lambda _: arrived.append(([line.text for line in card.lines], machine.hardware))
    )
    driver.show()
    driver.wait_for(lambda: bool(arrived))
    (gpu, computer, *_), looked_at = arrived[0]
    assert ("—" in gpu, "32.0 GB" in computer) == (True, True)
    assert looked_at is None  # the look was not over then
    hang.set()
    driver.wait_for(lambda: "GTX 1660" in card.lines[0].text)


def test_a_window_whose_every_probe_hangs_is_usable_and_its_card_is_complete(
    make: Make, hang: threading.Event, gpus: FakeGpuSource, desktop: FakeDesktop, tmp_path: Path
) -> None:
    host = FakeHostSource()
    gpus.hang = host.hang = hang
    stuck = replace(ports(gpus, desktop, host), surroundings=HangingSurroundings(hang))
    driver = make(stuck, Settings(engine="echo", language="en"))
    machine, window = driver.program.machine, driver.program.window
    card = window.chat_place.stage.first_run.hardware
    assert all(line.text.endswith("—") and "no answer" not in line.text for line in card.lines)
    seconds = seconds_until_complete(driver)
    assert all("no answer yet" in line.text for line in card.lines)
    assert seconds < COMPLETE_SECONDS * SLACK
    assert machine.hardware is not None
    said = {(f.code, f.values["probe"], f.values["seconds"]) for f in machine.hardware.findings}
    assert said == {
        (FindingCode.PROBE_TIMED_OUT, probe, FIRST_LOOK_SECONDS)
        for probe in ("host", "driver", "gpus", "runtime", "system")
    }
    assert card.findings.isVisible()
    assert longest_turn(lambda: driver.click(window.rail.button(SETTINGS))) < STALL_SECONDS * SLACK
    assert window.settings_page.isVisible()
    assert longest_turn(lambda: driver.program.model.pick(write_model(tmp_path))) < STALL_SECONDS * SLACK
    driver.wait_for_phase(ModelPhase.PLANNED)


def test_one_probe_that_hangs_costs_its_own_line_only(
    make: Make, hang: threading.Event, gpus: FakeGpuSource, desktop: FakeDesktop
) -> None:
    host = FakeHostSource()
    host.hang = hang
    driver = make(ports(gpus, desktop, host), Settings(engine="echo", language="en"))
    card = driver.program.window.chat_place.stage.first_run.hardware
    assert seconds_until_complete(driver) < COMPLETE_SECONDS * SLACK
    texts = [line.text for line in card.lines]
    assert ["no answer yet" in text for text in texts] == [False, False, True, True, True, False]
    assert "GTX 1660" in texts[0]
    assert "551.61" in texts[-1]


def seconds_until_complete(driver: WindowDriver) -> float:
    """Show the window and wait for the first look to be over.

    Returns:
        How long that takes a machine that does nothing else: what the look waits, then what the window's
        thread did until the card stood.
    """
    told: list[float] = []
    started = time.thread_time()
    driver.program.machine.hardware_changed.connect(lambda _: told.append(time.thread_time() - started))
    driver.show()
    driver.wait_for(lambda: bool(told))
    return FIRST_LOOK_SECONDS + told[0]


def test_the_report_of_the_machine_is_one_click_away(
    make: Make, gpus: FakeGpuSource, desktop: FakeDesktop
) -> None:
    driver = make(ports(gpus, desktop), Settings(engine="echo", language="en"))
    driver.show()
    driver.wait_for(lambda: driver.program.machine.hardware is not None)
    driver.click(driver.program.window.chat_place.stage.first_run.hardware.copy_button)
    driver.wait_for(lambda: bool(desktop.copied))
    assert "GTX 1660 SUPER" in desktop.copied[0]
    assert str(Path.home()) not in desktop.copied[0]


def test_an_engine_for_the_processor_is_seen_in_the_status_bar(
    make: Make, gpus: FakeGpuSource, desktop: FakeDesktop, data_home: Path
) -> None:
    cpu, cuda = engine_folder("b-cpu", "libggml-cpu.so"), engine_folder()
    listed = (DeviceInfo("CUDA0", OLD.name, "gpu"), DeviceInfo("CUDA1", GOOD.name, "gpu"))
    real = replace(ports(gpus, desktop), engine_reader=EngineReader(None, lambda _: listed))
    driver = make(real, Settings(engine=cpu.name, language="en"))
    driver.show()
    device = driver.program.window.status_bar.device
    driver.wait_for(lambda: device.text() == "CPU: A CPU")
    driver.program.preferences.set(engine=cuda.name)
    driver.wait_for(lambda: device.text() == "GTX 1660 SUPER · driver 551.61 · CUDA 12.4")


class CountedGpus(FakeGpuSource):
    """Counts what its driver was asked."""

    asked = 0

    def gpus(self) -> tuple[GpuInfo, ...]:
        self.asked += 1
        return super().gpus()

    def driver(self) -> DriverInfo | None:
        self.asked += 1
        return super().driver()

    def read(self, index: int) -> GpuSample:
        self.asked += 1
        return super().read(index)


def test_minimised_and_idle_the_driver_is_left_alone(make: Make, desktop: FakeDesktop, qtbot: QtBot) -> None:
    gpus = CountedGpus([OLD, GOOD], DRIVER)
    driver = make(ports(gpus, desktop), Settings(engine="echo", language="en"))
    driver.show()
    machine, window = driver.program.machine, driver.program.window
    driver.wait_for(lambda: machine.hardware is not None and machine.last_sample is not None)
    window.showMinimized()
    qtbot.waitUntil(lambda: machine.interval_seconds >= 30.0)
    last = machine.last_sample
    qtbot.waitUntil(lambda: machine.last_sample is not last, timeout=10_000)  # of the moment of minimising
    asked = gpus.asked
    qtbot.wait(2500)
    assert gpus.asked == asked
    window.showNormal()
    qtbot.waitUntil(lambda: gpus.asked > asked, timeout=10_000)
    assert machine.interval_seconds == 1.0


def test_own_and_shared_memory_are_told_apart(make: Make, desktop: FakeDesktop) -> None:
    chip = GpuInfo(0, "A chip", "amd", None, None, GIB // 2, GIB // 4, None, None, True, 16 * GIB)
    driver = make(ports(FakeGpuSource([chip]), desktop), Settings(engine="echo", language="en"))
    driver.show()
    card = driver.program.window.chat_place.stage.first_run.hardware
    driver.wait_for(lambda: "A chip" in card.lines[0].text)
    assert "512 MB of its own" in card.lines[0].text
    assert "up to 16.0 GB shared with the RAM" in card.lines[0].text


def test_what_was_picked_is_planned_charted_and_told_to_the_engine(
    make: Make, gpus: FakeGpuSource, desktop: FakeDesktop, tmp_path: Path, data_home: Path
) -> None:
    folder = engine_folder()
    listed = (DeviceInfo("CUDA0", OLD.name, "gpu"), DeviceInfo("CUDA1", GOOD.name, "gpu"))
    sessions = SessionMaker()
    reader = EngineReader(None, lambda _: listed)
    real = replace(ports(gpus, desktop), make_session=sessions, engine_reader=reader)
    driver = make(real, Settings(engine=folder.name, language="en"))
    driver.show(write_model(tmp_path))
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert driver.view.budget is not None
    assert driver.view.budget.vram_free_bytes == (5 * GIB, 23 * GIB)
    window = driver.program.window
    driver.click(window.rail.button(SETTINGS))
    driver.click(window.settings_page.gpus.switches()["uuid:gpu-aaaa"])
    assert driver.program.preferences.settings.excluded_gpus == ("uuid:gpu-aaaa",)
    driver.wait_for(
        lambda: driver.view.budget is not None and driver.view.budget.vram_free_bytes == (23 * GIB,)
    )
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.wait_for(lambda: window.dock.monitor_tab.history.vram_total_bytes == 24 * GIB)
    driver.program.model.load()
    driver.wait_for_phase(ModelPhase.READY)
    assert dict(sessions.asked[-1].environment) == {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}
    driver.click(window.settings_page.gpus.switches()["uuid:gpu-aaaa"])
    assert driver.view.needs_reload


class DisobedientMaker:
    """Runs the echo engine, whose words about cards are those of one that leaves its variables unread."""

    def __init__(self, bus_ids: dict[str, str]) -> None:
        self._bus_ids = bus_ids

    def __call__(self, spec: EngineSpec, listener: Callable[[SessionEvent], None]) -> EngineSession:
        def tell(event: SessionEvent) -> None:
            if isinstance(event, Hello):
                event = replace(event, devices=(DeviceInfo("CUDA0", GOOD.name, "gpu"),))
            elif isinstance(event, Loaded):
                event = replace(event, buffers=(BufferUse("CUDA0", "model", GIB),), bus_ids=self._bus_ids)
            listener(event)

        return make_session(ECHO, tell)


@pytest.mark.parametrize(
    ("bus_id", "codes"), [("0000:03:00.0", [FindingCode.GPU_CHOICE_NOT_HONOURED]), ("0000:02:00.0", [])]
)
def test_a_card_that_was_excluded_and_is_used_all_the_same_is_told_in_the_plan(
    make: Make, desktop: FakeDesktop, tmp_path: Path, data_home: Path, bus_id: str, codes: list[FindingCode]
) -> None:
    folder = engine_folder()
    twin = replace(GOOD, index=2, uuid="GPU-dddd", pci_bus_id="00000000:03:00.0")
    good = replace(GOOD, pci_bus_id="00000000:02:00.0")
    listed = (DeviceInfo("CUDA0", GOOD.name, "gpu"), DeviceInfo("CUDA1", GOOD.name, "gpu"))
    real = replace(
        ports(FakeGpuSource([good, twin], DRIVER), desktop),
        make_session=DisobedientMaker({"CUDA0": bus_id}),
        engine_reader=EngineReader(None, lambda _: listed),
    )
    driver = make(real, Settings(engine=folder.name, language="en", excluded_gpus=("uuid:gpu-dddd",)))
    driver.show(write_model(tmp_path))
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.program.model.load()
    driver.wait_for_phase(ModelPhase.READY)
    told = [f for f in driver.view.findings if f.code is FindingCode.GPU_CHOICE_NOT_HONOURED]
    assert [finding.code for finding in told] == codes
    window = driver.program.window
    window.set_dock_open(True)
    window.dock.show_tab(PLAN)
    driver.wait_for(lambda: window.dock.plan_tab.isVisible())
    says = "The engine took memory on NVIDIA GeForce RTX 3090, although"
    labels = cast("list[TextLabel]", window.dock.plan_tab.findChildren(TextLabel))
    assert any(label.isVisible() and says in label.text() for label in labels) == bool(codes)


def engine_folder(name: str = "cuda-12.4", library: str = "libggml-cuda.so") -> Path:
    """Return the folder of an engine for CUDA, or another one, as far as files tell."""
    folder = engines_folder() / name
    folder.mkdir(parents=True)
    (folder / SERVER).write_bytes(b"#!/bin/sh\n")
    (folder / library).write_bytes(linux_program())
    return folder


def test_a_spill_while_answers_come_is_told_in_monitor_and_plan_once(
    make: Make, gpus: FakeGpuSource, desktop: FakeDesktop, tmp_path: Path
) -> None:
    driver = make(ports(gpus, desktop), Settings(engine="echo", language="en"))
    driver.show(write_model(tmp_path))
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.program.model.load()
    driver.wait_for_phase(ModelPhase.READY)
    machine = driver.program.machine
    taken = machine.last_sample
    driver.wait_for(lambda: machine.last_sample is not taken)
    gpus.samples[1] = GpuSample(1, 23 * GIB, 24 * GIB, process_shared_bytes=0)
    taken = machine.last_sample
    driver.wait_for(lambda: machine.last_sample is not taken)
    gpus.samples[1] = GpuSample(1, 23 * GIB, 24 * GIB, process_shared_bytes=3 * GIB)

    def spills() -> int:
        return sum(finding.code is FindingCode.VRAM_SPILLED for finding in driver.view.findings)

    driver.wait_for(lambda: spills() == 1)
    monitor = driver.program.window.dock.monitor_tab
    warned = [event for event in monitor.history.events if event.kind == "warning"]
    assert len(warned) == 1
    gpus.samples[1] = GpuSample(1, 23 * GIB, 24 * GIB, process_shared_bytes=5 * GIB)
    taken = machine.last_sample
    driver.wait_for(lambda: machine.last_sample is not taken)
    assert spills() == 1
    assert len([event for event in monitor.history.events if event.kind == "warning"]) == 1
    driver.program.model.unload()
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert spills() == 0
