"""The whole window over the echo engine: what the wiring joins."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.findings import FindingCode
from app.paths import logs_folder, settings_file
from app.settings import Settings, load_settings
from app.ui.main_window import SETTINGS
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.single_instance import Handover
from app.ui.views.crash_dialog import CrashDialog
from app.ui.views.dock import PARAMETERS, PLAN
from app.ui.widgets.dialogs import TextDialog
from app.ui.window_geometry import DockState, dock_of_text, geometry_of_text
from tests.controller_setup import write_model
from tests.fakes import FakeGpuSource, FakeHostSource
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, make_program


@pytest.fixture
def desktop() -> FakeDesktop:
    return FakeDesktop()


@pytest.fixture
def inhibitor() -> FakeInhibitor:
    return FakeInhibitor()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path)


@pytest.fixture
def driver(
    qtbot: QtBot, qapp: QApplication, data_home: Path, desktop: FakeDesktop, inhibitor: FakeInhibitor
) -> Iterator[WindowDriver]:
    ports = Ports(
        FakeGpuSource(),
        FakeHostSource(),
        lambda _parent: desktop,
        lambda _reason: inhibitor,
        log_lines=lambda: ("WARNING app.part: a warning",),
    )
    program = make_program(qapp, ports, Settings(engine="echo", language="en"))
    driver = WindowDriver(qtbot, program)
    yield driver
    driver.delete()


@pytest.fixture
def ready(driver: WindowDriver, model: Path) -> WindowDriver:
    driver.show(model)
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.click(driver.program.window.model_bar.primary)
    driver.wait_for_phase(ModelPhase.READY)
    return driver


def test_the_machine_is_looked_at_while_the_window_is_not_shown_yet(driver: WindowDriver) -> None:
    driver.wait_for(lambda: driver.program.machine.hardware is not None)
    assert not driver.program.window.isVisible()


def test_a_first_window_shows_the_machine_and_no_model(driver: WindowDriver) -> None:
    driver.show()
    stage = driver.program.window.chat_place.stage
    driver.wait_for(lambda: driver.program.machine.hardware is not None)
    assert stage.content is stage.first_run
    assert driver.view.phase is ModelPhase.NONE
    assert driver.engines() == []


def test_a_path_is_planned_and_nothing_is_loaded_unasked(driver: WindowDriver, model: Path) -> None:
    driver.show(model)
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert driver.view.path == model
    assert driver.engines() == []


def test_the_file_dialog_picks_a_model(driver: WindowDriver, desktop: FakeDesktop, model: Path) -> None:
    desktop.chosen = model
    driver.show()
    driver.click(driver.program.window.chat_place.stage.first_run.file_button)
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert driver.view.path == model


def test_a_file_that_is_no_model_is_told_and_the_loaded_model_stays(
    ready: WindowDriver, desktop: FakeDesktop, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.gguf"
    notes.write_text("these are notes")
    window = ready.program.window
    window.path_dropped.emit(notes)
    ready.wait_for(lambda: not window.toast.isHidden())
    assert "notes.gguf" in window.toast.accessibleName()
    assert "stays loaded." in window.toast.accessibleName()
    assert ready.view.phase is ModelPhase.READY


def test_the_last_model_is_offered_and_not_loaded_by_itself(driver: WindowDriver, model: Path) -> None:
    driver.program.preferences.add_recent_model(model)
    driver.show()
    first_run = driver.program.window.chat_place.stage.first_run
    driver.wait_for(first_run.last_button.isVisible)
    assert first_run.last_button.text() == f"Load {model.stem} again"
    assert first_run.default_button.property("kind") == "secondary"
    assert driver.view.phase is ModelPhase.NONE
    driver.click(first_run.last_button)
    driver.wait_for_phase(ModelPhase.READY)
    assert driver.view.path == model


def test_enter_without_a_model_says_what_comes_first(driver: WindowDriver) -> None:
    driver.show()
    driver.write("Hello there")
    window = driver.program.window
    assert "Choose a model first" in window.toast.accessibleName()
    assert window.chat_place.composer.text() == "Hello there"


def test_a_message_is_answered_and_the_chat_is_listed(ready: WindowDriver, inhibitor: FakeInhibitor) -> None:
    ready.write("Hello there")
    answer = ready.wait_for_answer()
    assert answer.text == "Hello there"
    conversations = ready.program.window.conversation_list
    ready.wait_for(lambda: conversations.list.model().rowCount() > 0)
    ready.wait_for(lambda: inhibitor.said[-1] == "release")
    assert inhibitor.said == ["hold", "release", "hold", "release"]  # the load, the answer


def test_a_message_written_while_loading_is_answered_when_ready(driver: WindowDriver, model: Path) -> None:
    driver.show(model)
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.click(driver.program.window.model_bar.primary)
    assert driver.view.phase is ModelPhase.LOADING
    driver.write("early")
    assert driver.wait_for_answer().text == "early"


def test_escape_stops_the_answer_and_keeps_it(ready: WindowDriver) -> None:
    ready.write("/slow " + "word " * 500)
    ready.wait_for(lambda: "word word" in ready.answer_text)
    QTest.keyClick(ready.program.window.chat_place.composer.box, Qt.Key.Key_Escape)
    answer = ready.wait_for_answer()
    assert answer.finish_reason == "cancelled"
    assert answer.text.startswith("word word")
    ready.wait_for_phase(ModelPhase.READY)


def card_button(page: QWidget, text: str) -> QPushButton:
    """Return the visible button of a text."""
    return visible_buttons(page)[text]


def visible_buttons(page: QWidget) -> dict[str, QPushButton]:
    """Return the visible buttons by their texts."""
    found = cast("list[QPushButton]", page.findChildren(QPushButton))  # the stubs lose the type
    return {button.text(): button for button in found if button.isVisible()}


def test_an_engine_that_dies_leaves_window_answer_and_a_way_on(
    ready: WindowDriver, desktop: FakeDesktop
) -> None:
    ready.write("/slow " + "word " * 2000)
    ready.wait_for(lambda: "word word" in ready.answer_text)
    for engine in ready.engines():
        engine.kill()
    ready.wait_for(lambda: ready.view.phase is ModelPhase.FAILED)
    assert ready.items[-1].text.startswith("word word")
    assert ready.items[-1].failure is not None
    place = ready.program.window.chat_place
    assert not place.stage.isVisible()  # the answer's own card is the one place
    ready.click(card_button(place, "Copy report"))
    assert "engine-killed" in desktop.copied[0]
    ready.click_primary_of(place.chat_view)
    ready.wait_for(lambda: ready.view.phase is ModelPhase.READY)
    ready.write("again")
    assert ready.wait_for_answer().text == "again"


def test_what_is_typed_after_a_press_of_load_arrives_in_the_box(driver: WindowDriver, model: Path) -> None:
    driver.show(model)
    driver.wait_for_phase(ModelPhase.PLANNED)
    button = driver.program.window.model_bar.primary
    button.setFocus()
    driver.click(button)
    driver.wait_for_phase(ModelPhase.READY)
    box = driver.program.window.chat_place.composer.box
    assert driver.program.window.focusWidget() is box


def test_a_deleted_message_comes_back_by_key(ready: WindowDriver) -> None:
    ready.write("one")
    ready.wait_for_answer()
    before = [item.id for item in ready.items]
    window = ready.program.window
    window.activateWindow()
    window.chat_place.chat_view.delete_requested.emit(before[-1])
    assert [item.id for item in ready.items] == before[:-1]
    box = window.chat_place.composer.box
    box.document().clearUndoRedoStacks()
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert [item.id for item in ready.items] == before


def test_the_details_of_a_failed_answer_stay_its_own_after_a_reload(
    ready: WindowDriver, qapp: QApplication
) -> None:
    ready.write("/slow " + "word " * 2000)
    ready.wait_for(lambda: "word word" in ready.answer_text)
    for engine in ready.engines():
        engine.kill()
    ready.wait_for(lambda: ready.view.phase is ModelPhase.FAILED)
    page = ready.program.window.chat_place
    ready.click(card_button(page.chat_view, "Load the model again"))
    ready.wait_for(lambda: ready.view.phase is ModelPhase.READY)
    page.chat_view.details_requested.emit(ready.items[-1].id)
    (dialog,) = [widget for widget in qapp.topLevelWidgets() if isinstance(widget, TextDialog)]
    (text,) = cast("list[QPlainTextEdit]", dialog.findChildren(QPlainTextEdit))
    assert '"phase": "failed"' in text.toPlainText()
    assert FindingCode.ENGINE_KILLED.value in text.toPlainText()
    dialog.close()


def test_a_failure_can_be_copied_as_a_report(
    driver: WindowDriver, desktop: FakeDesktop, tmp_path: Path
) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<!DOCTYPE html><html></html>")
    driver.show(page)
    driver.wait_for(lambda: driver.view.phase is ModelPhase.FAILED)
    driver.program.window.chat_place.stage.report_requested.emit()
    assert "not-gguf" in desktop.copied[0]
    assert "WARNING app.part: a warning" in desktop.copied[0]


def test_garbage_is_set_aside_once_the_window_stands(driver: WindowDriver) -> None:
    driver.show()
    driver.wait_for(lambda: gc.get_freeze_count() > 0)
    driver.close()
    assert gc.get_freeze_count() == 0


def test_a_minimised_window_leaves_the_drivers_alone(ready: WindowDriver) -> None:
    machine, window = ready.program.machine, ready.program.window
    assert machine.interval_seconds == 1.0
    window.showMinimized()
    ready.wait_for(lambda: machine.interval_seconds >= 30.0)
    ready.write("/slow " + "word " * 30)
    ready.wait_for(lambda: machine.interval_seconds == 5.0)
    ready.wait_for(lambda: machine.interval_seconds >= 30.0)
    window.showNormal()
    ready.wait_for(lambda: machine.interval_seconds == 1.0)
    window.hide()
    ready.wait_for(lambda: machine.interval_seconds >= 30.0)


def test_a_plan_without_gpu_shows_what_the_machine_has(ready: WindowDriver, qapp: QApplication) -> None:
    window = ready.program.window
    window.show_findings()
    ready.wait_for(lambda: "Show what this PC has" in visible_buttons(window.dock.plan_tab))
    ready.click(card_button(window.dock.plan_tab, "Show what this PC has"))
    ready.wait_for(lambda: bool(window.findChildren(TextDialog)))
    dialog = window.findChild(TextDialog)
    assert isinstance(dialog, TextDialog)
    ready.click(card_button(dialog, "Copy text"))
    copied = qapp.clipboard().text()
    assert "A CPU" in copied
    assert "Engine" in copied
    dialog.accept()


def test_the_language_changes_everywhere_at_once(ready: WindowDriver) -> None:
    window = ready.program.window
    before = window.model_bar.state.text()
    window.show_place(SETTINGS)
    window.settings_page.language_chosen.emit("zh_CN")
    assert window.model_bar.state.text() != before
    assert window.windowTitle() != ""
    assert any("\u4e00" <= sign <= "\u9fff" for sign in window.model_bar.state.text())
    window.settings_page.language_chosen.emit("en")
    assert window.model_bar.state.text() == before


def test_another_engine_or_wish_asks_for_a_reload(ready: WindowDriver) -> None:
    assert not ready.view.needs_reload
    ready.program.window.settings_page.engine_chosen.emit("worker")
    assert ready.view.needs_reload
    ready.program.window.settings_page.engine_chosen.emit("echo")
    assert not ready.view.needs_reload


def test_a_handed_over_path_is_picked(driver: WindowDriver, model: Path) -> None:
    driver.show()
    driver.program.open_handover(Handover(str(model)))
    driver.wait_for_phase(ModelPhase.PLANNED)
    driver.program.open_handover(Handover())
    assert driver.view.path == model


def test_sleep_stops_the_answer_and_lets_the_engine_go(ready: WindowDriver) -> None:
    ready.write("/slow " + "word " * 2000)
    ready.wait_for(lambda: "word word" in ready.answer_text)
    ready.program.rest()
    ready.wait_for(lambda: ready.view.phase is ModelPhase.PLANNED)
    ready.wait_for(lambda: ready.engines() == [])
    assert ready.items[-1].text.startswith("word word")


def test_closing_saves_where_the_window_stood_and_ends_the_engine(ready: WindowDriver) -> None:
    ready.program.window.resize(1200, 700)
    ready.program.window.set_dock_open(False)
    ready.program.window.dock.show_tab(PARAMETERS)
    ready.close()
    assert not ready.program.window.isVisible()
    assert ready.engines() == []
    settings, _ = load_settings(settings_file())
    geometry = geometry_of_text(settings.window_geometry)
    assert geometry is not None
    assert (geometry.width, geometry.height) == (1200, 700)
    assert dock_of_text(settings.window_geometry) == DockState(False, PARAMETERS)
    assert settings.recent_models == (str(ready.view.path),)


def test_the_side_panel_is_as_it_was_left(
    driver: WindowDriver, qtbot: QtBot, qapp: QApplication, model: Path
) -> None:
    driver.show(model)
    driver.program.window.set_dock_open(True)
    driver.program.window.dock.show_tab(PLAN)
    driver.close()
    settings, _ = load_settings(settings_file())
    again = WindowDriver(qtbot, make_program(qapp, Ports(FakeGpuSource(), FakeHostSource()), settings))
    again.show()
    dock = again.program.window.dock
    assert dock.isVisible()  # no model is picked: by itself it would be hidden
    assert dock.tab == PLAN
    again.delete()


def test_a_crash_report_is_shown_once_more_for_every_new_one(
    driver: WindowDriver, desktop: FakeDesktop, qapp: QApplication
) -> None:
    driver.show()
    driver.program.show_crash("first report")
    driver.program.show_crash("second report")
    dialog = driver.program.window.findChild(CrashDialog)
    assert isinstance(dialog, CrashDialog)
    assert dialog.isVisible()
    dialog._on_copy_clicked()
    assert qapp.clipboard().text() == "first report\nsecond report"
    dialog.folder_requested.emit()
    assert desktop.folders == [logs_folder()]
    dialog.accept()
