"""Repairs in the window over real files: switched at load, copied, cancelled."""

import hashlib
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.findings import FindingCode, Severity
from app.gguf.inspect_file import inspect_path
from app.library.repair_memory import RepairMemory
from app.settings import Settings
from app.ui.main_window import MODELS
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.views.dock import PLAN
from app.ui.views.repair_dialog import RepairDialog
from app.ui.views.repair_view import RepairPhase
from tests.fakes import FakeGpuSource, FakeHostSource
from tests.gui.page_parts import clipped
from tests.models.broken import BROKEN_CASES
from tests.models.tiny import write_tiny
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, make_program

A = "qwen3moe"
CLOSE_MOST_SECONDS = 5.0
USED = f"{A}.expert_used_count".encode()
COUNT = f"{A}.expert_count".encode()


@pytest.fixture(params=["en", "zh_CN"])
def driver(
    qtbot: QtBot, qapp: QApplication, data_home: Path, request: pytest.FixtureRequest
) -> Iterator[WindowDriver]:
    ports = Ports(
        FakeGpuSource(), FakeHostSource(), lambda _parent: FakeDesktop(), lambda _reason: FakeInhibitor()
    )
    driver = WindowDriver(qtbot, make_program(qapp, ports, Settings(engine="echo", language=request.param)))
    yield driver
    driver.delete()


@pytest.fixture
def without_used(tmp_path: Path) -> Path:
    file = write_tiny(A, tmp_path / "模型 a.gguf")
    content = file.read_bytes()
    assert content.count(USED) == 1
    file.write_bytes(content.replace(USED, USED[:-1] + b"X"))
    return file


@pytest.fixture
def wrong_count(tmp_path: Path) -> Path:
    file = write_tiny(A, tmp_path / "count.gguf")
    content = file.read_bytes()
    assert content.count(COUNT) == 1
    file.write_bytes(content.replace(COUNT + struct.pack("<II", 4, 8), COUNT + struct.pack("<II", 4, 16)))
    return file


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    file = tmp_path / "twice.gguf"
    case = next(case for case in BROKEN_CASES if case.name == "key-duplicated")
    file.write_bytes(next(iter(case.files().values())))
    return file


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def is_offered(button: QPushButton) -> bool:
    """Return whether a button can be pressed: views are shown a turn later."""
    return button.isVisible() and bool(button.text())


def dialog_of(driver: WindowDriver) -> RepairDialog:
    driver.wait_for(lambda: driver.program._repair_wiring.dialog is not None)
    dialog = driver.program._repair_wiring.dialog
    assert dialog is not None
    return dialog


def open_dialog(driver: WindowDriver, file: Path) -> RepairDialog:
    """Open a file that needs a copy and press the button of its failure."""
    driver.show(file)
    driver.wait_for_phase(ModelPhase.FAILED)
    window = driver.program.window
    window.set_dock_open(True)
    window.dock.show_tab(PLAN)
    driver.wait_for(lambda: is_offered(window.dock.plan_tab.failure.repair))
    driver.click(window.dock.plan_tab.failure.repair)
    dialog = dialog_of(driver)
    wait_for_repair(driver, RepairPhase.PLANNED)
    return dialog


def wait_for_repair(driver: WindowDriver, phase: RepairPhase) -> None:
    repair = driver.program._repair_wiring.repair
    driver.wait_for(lambda: repair.view is not None and repair.view.phase is phase)


@pytest.mark.engine
def test_a_copy_is_shown_made_tried_and_opened(driver: WindowDriver, without_used: Path) -> None:
    before = sha256(without_used)
    dialog = open_dialog(driver, without_used)
    assert not dialog.primary.isEnabled()  # nothing known has 8 experts of this kind: a person must say
    field = dialog._fields[f"{A}.expert_used_count"]
    assert field.line_edit.hasFocus()  # the one thing that only a person can do
    assert field.y() < dialog.bytes.mapTo(dialog, dialog.bytes.rect().topLeft()).y()
    field.line_edit.setText("9")
    field.edited.emit("9")
    assert field.line_edit.property("wrong")
    assert not dialog.primary.isEnabled()
    field.line_edit.setText("2")
    field.edited.emit("2")
    driver.wait_for(dialog.primary.isEnabled)
    assert "04 00 00 00 02 00 00 00" in dialog.bytes.toPlainText()  # seen before it is written
    assert clipped(dialog) == []
    driver.click(dialog.primary)
    wait_for_repair(driver, RepairPhase.DONE)
    copy = without_used.with_name("模型 a.repaired.gguf")
    assert dialog.primary.hasFocus()
    QTest.keyClick(dialog.primary, Qt.Key.Key_Return)
    driver.wait_for(lambda: driver.view.path == copy and driver.view.phase is ModelPhase.PLANNED)
    inspected = inspect_path(copy)
    assert inspected.loadable
    assert inspected.facts.expert_used_count == 2
    assert sha256(without_used) == before


@pytest.mark.engine
def test_a_copy_made_on_the_models_page_is_shown_there(driver: WindowDriver, twice: Path) -> None:
    window = driver.program.window
    driver.program.preferences.add_library_path(twice.parent)
    driver.show()
    window.show_place(MODELS)
    page, shown = window.models_page, driver.program._library_wiring.shown
    driver.wait_for(lambda: shown.view.facts is not None and bool(shown.view.findings))
    duplicate = next(f for f in shown.view.findings if f.code is FindingCode.METADATA_DUPLICATE)
    page.finding_action_requested.emit(duplicate)
    dialog = dialog_of(driver)
    wait_for_repair(driver, RepairPhase.PLANNED)
    assert dialog.focusWidget() is dialog.primary  # nothing is asked: Enter makes the copy
    driver.click(dialog.primary)
    wait_for_repair(driver, RepairPhase.DONE)
    driver.click(dialog.primary)
    copy = twice.with_name("twice.repaired.gguf")
    driver.wait_for(lambda: shown.view.path == copy and shown.view.step is not None)
    driver.wait_for(lambda: [index.data() for index in page.list.list.selectedIndexes()] != [])
    assert page.head.load.isVisible()


def test_a_dialog_that_is_closed_leaves_nothing(driver: WindowDriver, without_used: Path) -> None:
    dialog = open_dialog(driver, without_used)
    dialog.reject()
    driver.wait_for(lambda: driver.program._repair_wiring.dialog is None)
    assert [file.name for file in without_used.parent.glob("*.gguf*")] == [without_used.name]


def test_a_value_at_load_is_switched_off_and_on_again(driver: WindowDriver, wrong_count: Path) -> None:
    driver.show(wrong_count)
    driver.wait_for_phase(ModelPhase.PLANNED)
    plan_tab = driver.program.window.dock.plan_tab
    mismatch = next(f for f in driver.view.findings if f.code is FindingCode.EXPERT_COUNT_MISMATCH)
    plan_tab.finding_action_requested.emit(mismatch)
    driver.wait_for_phase(ModelPhase.FAILED)
    off = next(f for f in driver.view.findings if f.severity is Severity.ERROR)
    assert off.code is FindingCode.OVERRIDE_OFF
    assert RepairMemory().choice_for(wrong_count).off == {f"{A}.expert_count"}
    driver.program.window.set_dock_open(True)
    driver.program.window.dock.show_tab(PLAN)
    driver.wait_for(lambda: is_offered(plan_tab.failure.repair))
    assert "8" in plan_tab.failure.repair.text()
    driver.click(plan_tab.failure.repair)
    driver.wait_for(lambda: driver.view.phase is ModelPhase.PLANNED)
    assert driver.view.facts is not None
    assert driver.view.facts.kv_overrides == ((f"{A}.expert_count", 8),)


def test_a_window_that_closes_leaves_no_half_copy(
    driver: WindowDriver, moe_model: Path, tmp_path: Path
) -> None:
    original = tmp_path / "big.gguf"
    with moe_model.open("rb") as whole:
        content = whole.read(4 * 1024**2)
    with original.open("wb") as file:
        file.write(content.replace(b"llama.expert_used_count", b"llama.expert_used_counX"))
        file.truncate(moe_model.stat().st_size)  # the weights are a hole: read fast, written slowly
    dialog = open_dialog(driver, original)
    driver.wait_for(dialog.primary.isEnabled)  # Mixtral's number is proposed
    driver.click(dialog.primary)
    wait_for_repair(driver, RepairPhase.WRITING)
    repair = driver.program._repair_wiring.repair
    driver.wait_for(lambda: repair.view is not None and repair.view.done_bytes > 0)
    started = time.monotonic()
    driver.program.close()
    assert time.monotonic() - started < CLOSE_MOST_SECONDS
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["big.gguf"]
