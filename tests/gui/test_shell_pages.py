"""First run, stage, status bar and settings."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.chat.conversation import MessageState
from app.findings import FindingCode, error, note, warning
from app.hardware.facts import CpuInfo, DriverInfo, GpuInfo, HardwareFacts, HostInfo
from app.texts import Texts
from app.ui.model_view import ModelPhase
from app.ui.theme.look import LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_place import ChatPlace
from app.ui.views.engine_choice import AUTOMATIC, EngineChoice
from app.ui.views.first_run import FirstRunView
from app.ui.views.hardware_card import HardwareLine
from app.ui.views.hardware_rows import hardware_rows
from app.ui.views.loading_card import current_step, step_detail
from app.ui.views.model_stage import ModelStage, is_worth_showing
from app.ui.views.settings_page import SettingsPage, SettingsView
from app.ui.views.status_bar import StatusBar, device_words, findings_words
from tests.gui.view_builders import every_phase, hardware, model_view

Show = Callable[[QWidget], QWidget]

CONTENTS = {
    "none": "first_run",
    "checking": "loading",
    "planned": "planned",
    "loading": "loading",
    "warming": "loading",
    "ready": "planned",
    "ready-changed": "planned",
    "generating": "planned",
    "stopping": "planned",
    "unloading": "_words",
    "failed": "failure",
    "refused": "failure",
    "dense": "planned",
    "cpu-only": "planned",
}


def test_dashes_stand_in_until_the_machine_was_looked_at(looks: LookSource, show: Show) -> None:
    view = FirstRunView(looks)
    show(view)
    view.show_hardware(None)
    assert len(_shown(view, HardwareLine)) == 5
    assert all("—" in line.text for line in view.hardware.lines)
    view.show_hardware(hardware())
    assert len(_shown(view, HardwareLine)) == 5
    assert "RTX 4070" in view.hardware.lines[0].text


def test_the_hardware_card_judges_only_what_it_knows(looks: LookSource) -> None:
    good = hardware_rows(looks.look, hardware())
    assert all(row.is_good for row in good)
    assert "RTX 4070" in good[0].title
    bare = hardware_rows(looks.look, HardwareFacts(HostInfo("Linux", None, CpuInfo(), None, None)))
    assert [row.icon_name for row in bare] == ["gpu", "cpu"]
    assert not any(row.is_good for row in bare)
    assert "—" in bare[1].detail


def test_the_demo_model_is_one_click_away_when_it_is_here(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    view = FirstRunView(looks)
    show(view)
    assert view.default_button.isHidden()
    view.show_default_model(Path("demo.gguf"), 447 * 1024**2)
    with qtbot.waitSignal(view.default_requested):
        view.default_button.click()
    assert "447 MB" in view.default_button.accessibleDescription()
    with qtbot.waitSignal(view.file_requested):
        view.file_button.click()


def test_the_stage_shows_what_fits_every_phase(looks: LookSource, show: Show) -> None:
    stage = ModelStage(looks)
    show(stage)
    for name, view in every_phase():
        stage.show_view(view)
        assert stage.content is getattr(stage, CONTENTS[name]), name


def test_beside_messages_the_stage_shows_only_loads_and_failures() -> None:
    shown = {name for name, view in every_phase() if is_worth_showing(view, has_messages=True)}
    assert shown == {"checking", "loading", "warming", "failed", "refused"}


def test_the_stage_does_not_say_again_what_the_answers_card_says(looks: LookSource, show: Show) -> None:
    place = ChatPlace(looks)
    show(place)
    view = model_view(ModelPhase.FAILED)
    place.show_view(view)
    assert place.stage.isVisible()
    broken = MessageItem(1, "assistant", "Half", state=MessageState.FAILED, failure=view.failure)
    place.chat_view.show_items((broken,))
    place.set_has_messages(True)
    assert not place.stage.isVisible()
    place.show_view(replace(view, failure=error(FindingCode.ENGINE_TIMED_OUT, seconds=1)))
    assert place.stage.isVisible()  # the load after it failed, too
    place.show_view(view)
    place.chat_view.remove_item(1)
    assert place.stage.isVisible()


def test_a_failed_load_offers_the_next_safer_plan_and_its_price(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    stage = ModelStage(looks)
    show(stage)
    view = model_view(ModelPhase.FAILED)
    stage.show_view(view)
    assert stage.failure._primary.text() == "Load with the safe plan"
    assert "23 → 29" in stage.failure._price.text()
    with qtbot.waitSignal(stage.step_requested) as asked:
        stage.failure._primary.click()
    assert asked.args == [view.next_step]
    stage.show_view(replace(view, next_step=None))
    with qtbot.waitSignal(stage.load_requested):
        stage.failure._primary.click()


def test_a_file_that_cannot_be_loaded_leads_to_another_one(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    stage = ModelStage(looks)
    show(stage)
    stage.show_view(dict(every_phase())["refused"])
    assert stage.failure._primary.text() == "Choose another model"
    assert stage.failure._secondary.isHidden()
    with qtbot.waitSignal(stage.pick_requested):
        stage.failure._primary.click()


def test_the_loading_card_knows_phase_and_figures(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    stage = ModelStage(looks)
    show(stage)
    view = model_view(ModelPhase.LOADING)
    stage.show_view(view)
    assert current_step(view) == "weights"
    assert step_detail(looks.look, view, "weights") == "7.1 GB of 17.3 GB"
    assert step_detail(looks.look, view, "planning") == "experts of 23 of 48 layers in RAM"
    assert current_step(replace(view, progress=None)) == "starting"
    assert current_step(model_view(ModelPhase.WARMING)) == "warmup"
    with qtbot.waitSignal(stage.cancel_requested):
        stage.loading.cancel.click()
    stage.show_view(model_view(ModelPhase.CHECKING))
    shown = [step for step, line in stage.loading._lines.items() if not line.isHidden()]
    assert shown == ["checking", "planning"]
    assert stage.loading.cancel.isHidden()


def test_the_status_bar_counts_the_gravest_findings(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    bar = StatusBar(looks)
    show(bar)
    bar.show_view(model_view(ModelPhase.PLANNED, findings=()))
    assert bar.findings.text() == "All checks passed"
    few = (note(FindingCode.GPU_NOT_FOUND), warning(FindingCode.VRAM_MARGIN_SMALL))
    bar.show_view(model_view(ModelPhase.PLANNED, findings=(*few, *few)))
    assert bar.findings.text() == "2 warnings"
    assert findings_words(looks.look, few[:1])[0] == "1 note"
    with qtbot.waitSignal(bar.findings_requested):
        bar.findings.click()
    bar.show_view(model_view(ModelPhase.NONE))
    assert bar.findings.isHidden()


def test_the_status_bar_says_what_computes(looks: LookSource) -> None:
    assert device_words(looks.look, None) == ("Looking at the hardware…", False)
    assert device_words(looks.look, hardware()) == ("RTX 4070 · driver 581.42 · CUDA 13.0", True)
    assert device_words(looks.look, hardware(with_gpu=False)) == ("CPU: AMD Ryzen 7 7700", False)
    assert device_words(looks.look, HardwareFacts(None)) == ("Runs on the CPU", False)
    chip = GpuInfo(0, "AMD Radeon 8060S", "amd", is_integrated=True)
    lost = GpuInfo(1, "NVIDIA GeForce RTX 3060", "nvidia", is_lost=True)
    both = HardwareFacts(None, DriverInfo("551.61", (12, 4)), (chip, lost))
    assert device_words(looks.look, both) == ("Runs on the CPU", False)
    assert device_words(looks.look, both, is_usable=True) == ("Radeon 8060S", True)


def test_context_use_is_shown_only_when_known(looks: LookSource, show: Show) -> None:
    bar = StatusBar(looks)
    show(bar)
    assert not bar.context.isVisible()
    bar.set_context_use(5222, 16384)
    assert bar.context.text() == "Context 5.1k / 16k"
    assert "5,222 of 16,384" in bar.context.toolTip()
    bar.set_context_use(None, 16384)
    assert not bar.context.isVisible()


ENGINES = (
    EngineChoice("worker", "built_in"),
    EngineChoice("cuda-13", "passed", "b11739"),
    EngineChoice("vulkan", "failed", "b10434"),
)


@pytest.fixture
def page(looks: LookSource, show: Show) -> SettingsPage:
    """The settings with three engines."""
    widget = SettingsPage(looks)
    widget.resize(1298, 660)
    show(widget)
    widget.show_settings(SettingsView("en", "light", ENGINES, "cuda-13", "/data/moxie", False, 1.0))
    return widget


def test_settings_show_what_is_in_force(page: SettingsPage) -> None:
    assert page.language.current == "en"
    assert page.theme.current == "light"
    assert page.engines.buttons()["cuda-13"].isChecked()
    assert page.engines.buttons()["vulkan"].accessibleName() == "vulkan, test failed"
    assert page.zoom.value() == 10
    page.show_settings(SettingsView("zh_CN", "system", ENGINES, None))
    assert page.engines.buttons()[AUTOMATIC].isChecked()
    assert page.language.current == "zh_CN"


def test_choices_are_signals_and_nothing_else(page: SettingsPage, qtbot: QtBot) -> None:
    with qtbot.waitSignal(page.engine_chosen) as engine:
        page.engines.buttons()[AUTOMATIC].click()
    assert engine.args == [None]
    with qtbot.waitSignal(page.engine_chosen) as engine:
        page.engines.buttons()["worker"].click()
    assert engine.args == ["worker"]
    with qtbot.waitSignal(page.reduced_motion_chosen) as motion:
        page.motion.click()
    assert motion.args == [True]
    with qtbot.waitSignal(page.data_folder_requested):
        page.open_folder.click()


def test_text_size_goes_from_80_to_200_percent(page: SettingsPage, qtbot: QtBot) -> None:
    page.zoom.setFocus()
    with qtbot.waitSignal(page.zoom_chosen) as zoom:
        qtbot.keyClick(page.zoom, Qt.Key.Key_Home)
    assert zoom.args == [0.8]
    with qtbot.waitSignal(page.zoom_chosen) as zoom:
        qtbot.keyClick(page.zoom, Qt.Key.Key_End)
    assert zoom.args == [2.0]
    assert page._zoom_value.text() == "200%"


def test_text_size_changes_only_when_the_knob_is_let_go(page: SettingsPage) -> None:
    asked: list[float] = []
    page.zoom_chosen.connect(asked.append)
    middle = page.zoom.height() // 2
    QTest.mousePress(page.zoom, Qt.MouseButton.LeftButton, pos=QPoint(30, middle))
    QTest.mouseMove(page.zoom, QPoint(120, middle))
    assert asked == []
    QTest.mouseRelease(page.zoom, Qt.MouseButton.LeftButton, pos=QPoint(120, middle))
    assert len(asked) == 1


def test_a_row_of_the_engine_list_can_be_clicked_anywhere(page: SettingsPage, qtbot: QtBot) -> None:
    row = page.engines.buttons()["worker"].parentWidget()
    assert row is not None
    with qtbot.waitSignal(page.engine_chosen) as engine:
        QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=QPoint(row.width() // 2, row.height() // 2))
    assert engine.args == ["worker"]


def test_every_word_of_the_settings_follows_the_language(page: SettingsPage, looks: LookSource) -> None:
    looks.set_look(replace(looks.look, texts=Texts("zh_CN")))
    assert {label.text() for label in page._words.labels.values()} >= {"设置", "语言", "主题", "引擎"}
    assert page.language._segments()[1].text() == "简体中文"
    assert page.theme.accessibleName() == "主题"


def test_beside_messages_a_card_takes_only_the_height_it_needs(looks: LookSource, show: Show) -> None:
    place = ChatPlace(looks)
    place.resize(744, 660)
    show(place)
    view = model_view(ModelPhase.LOADING)
    place.show_view(view)
    assert place.stage.height() > 400
    place.set_has_messages(True)
    QApplication.processEvents()
    assert place.chat_view.isVisible()
    assert place.stage.height() < 400
    page = place.stage._page_of[place.stage.loading]
    assert page.verticalScrollBar().maximum() == 0
    place.show_view(model_view(ModelPhase.READY))
    assert place.stage.isHidden()


def _shown(view: QWidget, kind: type[QWidget]) -> list[QWidget]:
    found: list[QWidget] = []
    found += view.findChildren(kind)
    return [widget for widget in found if not widget.isHidden()]
