"""What is added, dropped, refused and taken out on the Models page, while another model may be loaded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.findings import FindingCode, error
from app.hardware.facts import GpuInfo
from app.settings import Settings
from app.ui.main_window import CHAT, MODELS
from app.ui.model_page_view import Verdict
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.views.library_facts import Fit
from app.ui.views.model_details.comparison_rows import comparison_of
from app.ui.views.model_details.details import TENSORS
from app.ui.views.models_page import ModelsPage
from app.ui.wiring_library import LibraryWiring
from tests.controller_setup import write_model
from tests.fakes import GIB, FakeGpuSource, FakeHostSource
from tests.models.tiny import write_tiny
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, make_program

CARD = GpuInfo(0, "A card", "nvidia", vram_total_bytes=12 * GIB, vram_free_bytes=11 * GIB)


@pytest.fixture
def desktop() -> FakeDesktop:
    return FakeDesktop()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A model that was added as a folder."""
    (tmp_path / "models").mkdir()
    return write_tiny("llama", tmp_path / "models" / "tiny-Q8_0.gguf")


@pytest.fixture
def driver(
    qtbot: QtBot, qapp: QApplication, data_home: Path, desktop: FakeDesktop, tiny: Path
) -> Iterator[WindowDriver]:
    ports = Ports(
        FakeGpuSource([CARD]),
        FakeHostSource(),
        lambda _parent: desktop,
        lambda _reason: FakeInhibitor(),
        model_folders=lambda: (),
    )
    settings = Settings(engine="echo", language="en", library_paths=(str(tiny.parent),))
    driver = WindowDriver(qtbot, make_program(qapp, ports, settings))
    driver.show()
    wiring_of(driver).shown.set_may_ask(may_ask=False)
    yield driver
    driver.delete()


@pytest.fixture
def page(driver: WindowDriver) -> ModelsPage:
    driver.program.window.show_place(MODELS)
    wait_for_check(driver)
    return driver.program.window.models_page


def wiring_of(driver: WindowDriver) -> LibraryWiring:
    return driver.program._library_wiring


def found(driver: WindowDriver) -> set[Path]:
    return {model.path for model in wiring_of(driver).library.models}


def wait_for_check(driver: WindowDriver) -> None:
    wiring = wiring_of(driver)
    driver.wait_for(lambda: not wiring.library.is_searching and bool(wiring.shown.view.facts))


def test_a_file_dropped_on_the_page_leaves_the_loaded_model_alone(
    driver: WindowDriver, page: ModelsPage, tiny: Path, tmp_path: Path
) -> None:
    driver.click(page.head.load)
    driver.wait_for_phase(ModelPhase.READY)
    (tmp_path / "elsewhere").mkdir()
    dropped = write_model(tmp_path / "elsewhere", "dropped.gguf")
    driver.program.window.path_dropped.emit(dropped)
    driver.wait_for(lambda: wiring_of(driver).shown.view.path == dropped)
    driver.wait_for(lambda: dropped in found(driver))
    assert page.list.rows.model_at(page.list.list.currentIndex()) is not None
    assert page.list.list.currentIndex().row() == page.list.rows.number_of(dropped)
    assert (driver.view.phase, driver.view.path) == (ModelPhase.READY, tiny)


@pytest.mark.parametrize("place", [MODELS, CHAT])
def test_a_dropped_folder_is_searched_and_nothing_fails(
    driver: WindowDriver, page: ModelsPage, tmp_path: Path, place: str
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    inside = write_model(more, "inside.gguf")
    driver.program.window.show_place(place)
    driver.program.window.path_dropped.emit(more)
    driver.wait_for(lambda: inside in found(driver))
    assert driver.program.window.place == MODELS
    assert str(more) in driver.program.preferences.settings.library_paths
    assert driver.view.phase is ModelPhase.NONE


def test_a_file_dropped_on_the_chat_is_picked(driver: WindowDriver, tiny: Path) -> None:
    driver.program.window.path_dropped.emit(tiny)
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert driver.view.path == tiny


def test_the_keyboard_goes_on_where_something_was_added_or_loaded(
    driver: WindowDriver, page: ModelsPage, desktop: FakeDesktop, tmp_path: Path
) -> None:
    desktop.chosen = tmp_path
    page.list.add_folder.setFocus()
    driver.click(page.list.add_folder)
    assert page.list.list.hasFocus()
    wait_for_check(driver)
    page.head.load.setFocus()
    driver.click(page.head.load)
    driver.wait_for_phase(ModelPhase.READY)
    driver.wait_for(page.head.chat.isVisible)
    assert page.head.chat.hasFocus()


def test_what_the_engine_refuses_is_not_offered_to_be_loaded(
    driver: WindowDriver, page: ModelsPage, tiny: Path
) -> None:
    shown = wiring_of(driver).shown
    reason = error(FindingCode.ENGINE_REJECTS_MODEL, detail="the header is not to its liking")
    shown._accepts = lambda _path, _overrides, _is_cancelled: (False, (reason,))
    shown.ask_engine()
    driver.wait_for(lambda: shown.view.verdict is Verdict.REFUSED)
    assert page.head.load.isVisible()  # the engine that is chosen is another than the one that refuses
    driver.program.preferences.set(engine=None)
    driver.wait_for(lambda: page.is_settled)
    assert page.head.load.isHidden()
    assert page.state.isVisible()
    assert reason in shown.view.all_findings
    index = page.list.rows.index(page.list.rows.number_of(tiny) or 0)
    driver.wait_for(lambda: wiring_of(driver).library._fits.get(tiny) is Fit.REFUSED)
    assert "can’t load" in str(index.data(Qt.ItemDataRole.AccessibleTextRole))


def test_a_model_whose_values_were_switched_off_is_judged_again(
    driver: WindowDriver, page: ModelsPage, tiny: Path
) -> None:
    library = wiring_of(driver).library
    driver.wait_for(lambda: tiny in library._fits)
    content = tiny.read_bytes()
    tiny.write_bytes(content[: len(content) // 2])  # now no engine would load it
    wiring_of(driver).look_again(tiny)
    driver.wait_for(lambda: library._fits.get(tiny) not in (Fit.FITS, Fit.RAM, Fit.SSD))


def test_a_row_has_a_menu_and_what_is_removed_comes_back_with_undo(
    driver: WindowDriver, page: ModelsPage, desktop: FakeDesktop, tiny: Path
) -> None:
    (model,) = wiring_of(driver).library.models
    actions = {action.text(): action for action in page.list.menu_for(model).actions()}
    assert list(actions) == [
        "Show in folder",
        "Copy path",
        "Check again",
        "Remove the folder models from the list",
    ]
    actions["Show in folder"].trigger()
    actions["Copy path"].trigger()
    assert (desktop.folders, desktop.copied) == ([tiny.parent], [str(tiny)])
    actions["Check again"].trigger()
    assert wiring_of(driver).shown.view.is_checking
    actions["Remove the folder models from the list"].trigger()
    driver.wait_for(lambda: not found(driver))
    assert tiny.is_file()
    assert driver.program.preferences.settings.library_paths == ()
    driver.program.window.toast.undo()
    driver.wait_for(lambda: found(driver) == {tiny})


def test_the_search_key_goes_to_the_table_in_view_and_escape_leaves_a_comparison(
    driver: WindowDriver, page: ModelsPage, qtbot: QtBot
) -> None:
    driver.wait_for(lambda: wiring_of(driver).shown.details is not None)
    page.list.list.setFocus()
    qtbot.keyClick(page.list.list, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.list.search.hasFocus()
    page.details.show_section(TENSORS)
    qtbot.keyClick(page.list.search, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.details.tensors.search.hasFocus()
    details = wiring_of(driver).shown.details
    assert details is not None
    page.show_comparison(comparison_of(details, details))
    section = page.comparison.table.section
    qtbot.keyClick(page.comparison.back, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert section.search.hasFocus()
    QApplication.processEvents()
    assert page.comparison.table.height() > page.height() // 2
    qtbot.keyClick(section.search, Qt.Key.Key_Escape)
    assert not page.comparison.isVisible()
    assert page.head.isVisible()
