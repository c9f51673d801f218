"""What the person does most holds the GUI thread up for a few milliseconds: 5 at most, here with slack."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.settings import Settings
from app.ui.charts import late
from app.ui.main_window import MainWindow
from app.ui.markdown.highlight import colored, warm_up
from app.ui.model_view import ModelPhase
from app.ui.preparation import Preparation
from app.ui.program import Ports
from app.ui.theme.look import LookSource
from app.ui.views.dock import PARAMETERS, PLAN
from tests.controller_setup import write_model
from tests.fakes import FakeGpuSource, FakeHostSource
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, longest_turn, make_program

TURN_SECONDS = 0.005
SLACK = 3


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


def test_what_is_hidden_is_styled_while_nothing_happens(driver: WindowDriver, qtbot: QtBot) -> None:
    window = driver.program.window
    preparation = window.findChild(Preparation)
    assert isinstance(preparation, Preparation)
    qtbot.waitUntil(lambda: preparation.is_done, timeout=20_000)
    hidden = [widget for widget in all_in(window.dock.plan_tab) if not widget.isVisible()]
    assert len(hidden) > 100
    assert all(widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished) for widget in hidden)


def test_the_first_code_of_a_common_language_finds_its_rules_read() -> None:
    warm_up()
    started = time.thread_time()
    assert list(colored("rust", "fn main() {}"))
    assert not list(colored("some-language", "x"))
    assert time.thread_time() - started <= TURN_SECONDS


def all_in(widget: QWidget) -> list[QWidget]:
    return cast("list[QWidget]", widget.findChildren(QWidget))


def test_qt_has_made_its_classes_before_charts_are_imported_behind_it(
    qapp: QApplication, looks: LookSource, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """A class that two threads make at once ends the program: a few starts of a hundred did."""
    steps: list[str] = []

    def types() -> Iterator[None]:
        for number in range(3):
            steps.append(f"class {number}")
            yield

    monkeypatch.setattr(late, "make_types", types)
    monkeypatch.setattr(late, "warm_up", lambda: steps.append("import"))
    window = MainWindow(looks)
    preparation = Preparation(window)
    preparation.start()
    qtbot.waitUntil(lambda: "import" in steps, timeout=20_000)
    preparation.stop()
    assert steps == ["class 0", "class 1", "class 2", "import"]
    window.deleteLater()


def test_each_class_of_qt_is_made_in_a_short_turn() -> None:
    makes = late.make_types()
    costs = []
    while True:
        started = time.thread_time()
        try:
            next(makes)
        except StopIteration:
            break
        costs.append(time.thread_time() - started)
    assert len(costs) > 500
    assert max(costs) <= TURN_SECONDS * SLACK
