"""The real window, the real default model, a real engine: what a person does in the first ten minutes.

The machine seems to have a GPU of 12 GB, and the engine really has a second device: the processor again,
through llama.cpp's RPC backend. So the experts' place can be seen in the engine's own buffers.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.chat.conversation import MessageState
from app.engine.engine_devices import EngineReader
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent
from app.engine.spec import EngineSpec
from app.gguf.inspect_file import inspect_path
from app.hardware.facts import GpuInfo
from app.hardware.host import PsutilHostSource
from app.options import EngineOptions, SamplingOptions
from app.planner.measured_speeds import SpeedBasis
from app.settings import Settings
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.views.dock import MONITOR, PLAN
from app.ui.views.monitor_history import Curve
from tests.fakes import FakeGpuSource
from tests.rpc_server import worker_rpc_server
from tests.session_recorder import gone_within, is_running
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, make_program
from tests.window_process import WindowProcess

pytestmark = pytest.mark.engine

GIB = 1024**3
GONE_SECONDS = 5.0
QUESTION = "What is the capital of France? Answer in one sentence."
STORY = "Write a long story about a lighthouse keeper and the sea, with many details."
SAMPLING = SamplingOptions(temperature=0.0, max_tokens=400)
"""Greedy, with an end."""

GPU = GpuInfo(0, "A GPU", vram_total_bytes=12 * GIB, vram_free_bytes=11 * GIB)


@pytest.fixture(scope="module")
def device() -> Iterator[str]:
    """`host:port` of the engine's second device."""
    with worker_rpc_server() as server:
        yield server


@pytest.fixture
def driver(qtbot: QtBot, qapp: QApplication, data_home: Path, device: str) -> Iterator[WindowDriver]:
    ports = Ports(
        FakeGpuSource([GPU]),
        PsutilHostSource(),
        lambda _parent: FakeDesktop(),
        lambda _reason: FakeInhibitor(),
        session_with(device),
    )
    settings = Settings(engine="worker", language="en", sampling=SAMPLING)
    driver = WindowDriver(qtbot, make_program(qapp, ports, settings))
    yield driver
    driver.delete()


def session_with(server: str) -> Callable[[EngineSpec, Callable[[SessionEvent], None]], EngineSession]:
    """Return a maker of real sessions whose engine has one more device."""

    class Session(EngineSession):
        def load(self, path: Path, options: EngineOptions) -> None:
            here = {"n_threads": 2, "n_threads_batch": 2, "repack": False}
            super().load(path, replace(options, rpc_servers=(server,), **here))  # type: ignore[arg-type]  # checked by EngineOptions

    return Session


def bytes_on_device(driver: WindowDriver) -> int:
    loaded = driver.view.loaded
    assert loaded is not None
    return sum(
        use.size_bytes for use in loaded.buffers if use.part == "model" and use.device.startswith("RPC")
    )


def load(driver: WindowDriver, model: Path) -> None:
    driver.show(model)
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.click(driver.program.window.model_bar.primary)
    driver.wait_for_phase(ModelPhase.READY)


def begin_story(driver: WindowDriver) -> None:
    """Have a long answer begun, some words of it shown."""
    driver.write(STORY)
    driver.wait_for(lambda: len(driver.answer_text.split()) > 5)
    assert driver.view.phase is ModelPhase.GENERATING


def test_pick_load_chat_move_the_experts_and_reload(driver: WindowDriver, moe_model: Path) -> None:
    window = driver.program.window
    facts = inspect_path(moe_model).facts
    driver.show(moe_model)
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert driver.view.plan is not None
    assert driver.view.plan.options.n_cpu_moe == 0  # all fits into 12 GB
    window.show_findings()
    assert window.dock.tab == PLAN
    assert window.chat_place.stage.content is window.chat_place.stage.planned

    driver.click(window.model_bar.primary)
    driver.wait_for_phase(ModelPhase.READY)
    assert driver.phases[-1] is ModelPhase.READY
    assert ModelPhase.LOADING in driver.phases
    with_experts = bytes_on_device(driver)

    driver.write(QUESTION)
    answer = driver.wait_for_answer()
    assert "Paris" in answer.text
    assert answer.figures is not None
    assert answer.figures.tokens_per_second is not None
    monitor = window.dock.monitor_tab
    driver.wait_for(lambda: monitor.history.ring.has_values(Curve.SPEED))

    window.model_bar.moe.slider.setFocus()
    QTest.keyClick(window.model_bar.moe.slider, Qt.Key.Key_End)
    driver.wait_for(lambda: driver.view.wishes.moe == "all")
    assert driver.view.needs_reload
    driver.click(window.model_bar.primary)
    driver.wait_for(lambda: not driver.view.is_loaded)
    driver.wait_for_phase(ModelPhase.READY)
    assert driver.view.asked is not None
    assert driver.view.asked.cpu_moe
    assert driver.view.loaded is not None
    assert driver.view.loaded.applied["cpu_moe"] is True
    moved = with_experts - bytes_on_device(driver)
    assert abs(moved - facts.routed_expert_bytes) < 64 * 1024

    driver.write(QUESTION)
    assert "Paris" in driver.wait_for_answer().text


def test_stop_language_and_a_killed_engine(driver: WindowDriver, moe_model: Path) -> None:
    window = driver.program.window
    load(driver, moe_model)
    begin_story(driver)
    QTest.keyClick(window.chat_place.composer.box, Qt.Key.Key_Escape)
    stopped = driver.wait_for_answer()
    assert stopped.state is MessageState.CANCELLED
    driver.wait_for_phase(ModelPhase.READY)

    window.settings_page.language_chosen.emit("zh_CN")
    assert any("\u4e00" <= sign <= "\u9fff" for sign in window.model_bar.state.text())
    window.settings_page.language_chosen.emit("en")

    window.dock.show_tab(MONITOR)
    samples = len(window.dock.monitor_tab.history.ring)
    begin_story(driver)
    for engine in driver.engines():
        engine.kill()
    driver.wait_for(lambda: driver.view.phase is ModelPhase.FAILED)
    assert window.isVisible()
    kept = driver.items[-1]
    assert kept.failure is not None
    assert len(kept.text.split()) > 5
    assert not window.chat_place.stage.isVisible()  # the card under the answer is the one place
    driver.click_primary_of(window.chat_place.chat_view)
    driver.wait_for(lambda: driver.view.phase is ModelPhase.READY)
    driver.write(QUESTION)
    assert "Paris" in driver.wait_for_answer().text
    assert len(window.dock.monitor_tab.history.ring) > samples

    engines = [engine.pid for engine in driver.engines()]
    assert engines
    driver.close()
    assert gone_within(engines, GONE_SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_killed_window_leaves_no_real_engine(data_home: Path, moe_model: Path) -> None:
    with WindowProcess(data_home, [str(moe_model)], question=STORY, engine="worker") as window:
        window.wait_for("text")
        engines = window.children()
        assert engines
        assert all(is_running(pid) for pid in engines)
        window.process.kill()
        assert gone_within(engines, GONE_SECONDS)


def test_the_window_measures_and_learns_how_fast_a_plan_is(
    qtbot: QtBot, qapp: QApplication, data_home: Path, moe_model: Path
) -> None:
    ports = Ports(
        FakeGpuSource([]),
        PsutilHostSource(),
        lambda _parent: FakeDesktop(),
        lambda _reason: FakeInhibitor(),
        engine_reader=EngineReader(None),
    )
    settings = Settings(engine="worker", language="en", sampling=replace(SAMPLING, max_tokens=24))
    driver = WindowDriver(qtbot, make_program(qapp, ports, settings))
    try:
        tab = driver.program.window.dock.plan_tab
        driver.show(moe_model)
        driver.program.window.show_findings()
        driver.wait_for_phase(ModelPhase.PLANNED)
        assert driver.view.plan is not None
        assert driver.view.plan.forecast is None
        driver.wait_for(lambda: tab.is_settled)
        driver.click(tab.measure_button)
        driver.wait_for(lambda: driver.view.is_measuring)
        driver.wait_for(lambda: driver.view.plan is not None and driver.view.plan.forecast is not None)
        assert basis_of(driver) is SpeedBasis.CALIBRATED

        driver.click(driver.program.window.model_bar.primary)
        driver.wait_for_phase(ModelPhase.READY)
        driver.write(STORY)
        driver.wait_for_answer()
        driver.wait_for_phase(ModelPhase.READY)
        speed = driver.view.tokens_per_second
        driver.program.model.unload()
        driver.wait_for_phase(ModelPhase.PLANNED)
        driver.program.model.look_again()
        driver.wait_for(lambda: basis_of(driver) is SpeedBasis.MEASURED_HERE)
        told = driver.view.plan.forecast
        assert told is not None and speed is not None
        assert told.decode.low < speed < told.decode.high
    finally:
        driver.delete()


def basis_of(driver: WindowDriver) -> SpeedBasis | None:
    plan = driver.view.plan
    return plan.forecast.basis if plan is not None and plan.forecast is not None else None
