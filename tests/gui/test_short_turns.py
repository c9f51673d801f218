"""What the person does most holds the GUI thread up for a few milliseconds: 5 at most, here with slack."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.settings import Settings
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.views.dock import PARAMETERS, PLAN
from tests.controller_setup import write_model
from tests.fakes import FakeGpuSource, FakeHostSource
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, make_program

TURN_SECONDS = 0.005
SLACK = 3
QUIET_SECONDS = 0.4


@pytest.fixture
def driver(qtbot: QtBot, qapp: QApplication, data_home: Path, tmp_path: Path) -> Iterator[WindowDriver]:
    ports = Ports(
        FakeGpuSource(), FakeHostSource(), lambda _parent: FakeDesktop(), lambda _reason: FakeInhibitor()
    )
    driver = WindowDriver(qtbot, make_program(qapp, ports, Settings(engine="echo", language="en")))
    driver.show(write_model(tmp_path))
    driver.wait_for_phase(ModelPhase.PLANNED)
    yield driver
    driver.delete()


def longest_turn(job: Callable[[], object]) -> float:
    """Do `job` and let the window live for a while; return what the longest turn of all took it."""
    started = time.thread_time()
    job()
    costs = [time.thread_time() - started]
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        started = time.thread_time()
        QApplication.processEvents()
        costs.append(time.thread_time() - started)
    return max(costs)


def test_a_message_is_sent_and_its_answer_begun_in_short_turns(driver: WindowDriver, qtbot: QtBot) -> None:
    driver.click(driver.program.window.model_bar.primary)
    driver.wait_for_phase(ModelPhase.READY)
    spares = driver.program.window.chat_place.chat_view.message_list.spares
    longest = []
    for _ in range(4):
        longest.append(longest_turn(lambda: driver.program.chat.send("Hello")))
        driver.wait_for_answer()
        driver.wait_for_phase(ModelPhase.READY)
        qtbot.waitUntil(lambda: spares.spare_count == 2)
    assert min(longest) <= TURN_SECONDS * SLACK, longest


def test_the_plan_is_opened_for_the_first_time_in_short_turns(driver: WindowDriver) -> None:
    window = driver.program.window
    window.set_dock_open(True)
    window.dock.show_tab(PARAMETERS)
    longest_turn(lambda: None)
    assert longest_turn(lambda: window.dock.show_tab(PLAN)) <= TURN_SECONDS * 2 * SLACK
    assert window.is_settled
    assert len(window.dock.plan_tab.table.row_texts()) > 5
