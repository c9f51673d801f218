"""The main window: layout, keys, drops, language and theme, names for readers of the screen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.main_window import CHAT, MODELS, SETTINGS, MainWindow
from app.ui.model_view import ModelPhase
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import DARK
from app.ui.views.drop import Refusal, dropped_path
from app.ui.views.engine_choice import EngineChoice
from app.ui.views.settings_page import SettingsView
from app.ui.widgets.controls import Segmented
from tests.gui.conftest import LOOK_NAMES
from tests.gui.view_builders import (
    conversations,
    every_phase,
    hardware,
    model_view,
    sample_with_gpu,
)

Show = Callable[[QWidget], QWidget]

CONTROLS = (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QAbstractItemView,
    QComboBox,
    QLineEdit,
)
SMALL = (1366, 768)


@pytest.fixture
def window(looks: LookSource, show: Show) -> Iterator[MainWindow]:
    """The window in its smallest size, with chats, hardware and settings shown."""
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # the window of the test before
    widget = MainWindow(looks)
    widget.resize(*SMALL)
    show(widget)
    widget.conversation_list.show_conversations(conversations(), 1)
    widget.status_bar.show_hardware(hardware())
    widget.chat_place.stage.first_run.show_hardware(hardware())
    widget.chat_place.stage.first_run.show_default_model(Path("demo.gguf"), 447 * 1024**2)
    engines = (EngineChoice("worker", "built_in"), EngineChoice("cuda-13", "passed", "b11739"))
    widget.settings_page.show_settings(SettingsView("en", "light", engines, None, "/data/moxie"))
    yield widget
    widget.allow_close()


def urls(*paths: str) -> list[QUrl]:
    """Return what a file manager hands over."""
    return [QUrl.fromLocalFile(path) for path in paths]


def drop(window: MainWindow, dropped: list[QUrl]) -> None:
    """Drag over the window and drop."""
    data = QMimeData()
    data.setUrls(dropped)
    at, none, left = QPointF(400, 400), Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    action = Qt.DropAction.CopyAction
    enter = QDragEnterEvent(at.toPoint(), action, data, left, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    assert window._overlay.isVisible()
    QApplication.sendEvent(window, QDropEvent(at, action, data, left, none))
    assert not window._overlay.isVisible()


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_nothing_is_clipped_in_a_small_window(window: MainWindow, qtbot: QtBot) -> None:
    for name, view in every_phase():
        window.show_view(view)
        window.show_sample(sample_with_gpu())
        for place in (CHAT, MODELS, SETTINGS):
            window.show_place(place)
            hint = window.minimumSizeHint()
            assert (hint.width() <= SMALL[0], hint.height() <= SMALL[1]) == (True, True), name
    assert (window.width(), window.height()) == SMALL


def test_the_bar_takes_two_lines_where_one_has_no_room(window: MainWindow, looks: LookSource) -> None:
    window.show_view(model_view(ModelPhase.PLANNED))
    one_line = window.model_bar.sizeHint().height()
    looks.set_look(replace(looks.look, zoom=2.0))
    QApplication.processEvents()
    assert window.model_bar.height() > 1.5 * one_line
    assert window.minimumSizeHint().width() <= SMALL[0]
    assert window.minimumSizeHint().height() <= SMALL[1]


@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
def test_every_control_has_a_name_for_readers_of_the_screen(window: MainWindow) -> None:
    nameless = set()
    for name, view in every_phase():
        window.show_view(view)
        window.show_sample(sample_with_gpu())
        for place in (CHAT, MODELS, SETTINGS):
            window.show_place(place)
            nameless |= {
                (name, type(control).__name__, type(control.parent()).__name__)
                for control in _controls(window)
                if not _name(control)
            }
    assert nameless == set()


def test_every_control_can_be_reached_with_the_keyboard(window: MainWindow) -> None:
    deaf = set()
    for _name_of_phase, view in every_phase():
        window.show_view(view)
        for control in _controls(window):
            by_other_keys = isinstance(control.parent(), QLineEdit | Segmented)  # Escape; arrows
            can_focus = bool(control.focusPolicy() & Qt.FocusPolicy.TabFocus)
            if not can_focus and not by_other_keys:
                deaf.add((_name(control), type(control.parent()).__name__))
    assert deaf == set()


def test_tab_comes_round_to_where_it_began(window: MainWindow, qtbot: QtBot) -> None:
    window.show_view(model_view(ModelPhase.PLANNED))
    window.rail.button(CHAT).setFocus()
    start, seen = window.focusWidget(), []
    for _ in range(300):
        window.focusNextChild()
        focus = window.focusWidget()
        if focus is start:
            break
        seen.append(focus)
    assert window.focusWidget() is start
    bar = window.model_bar
    for control in (bar.picker, bar.moe.slider, bar.primary, bar.dock, window.conversation_list.list):
        assert control in seen


def test_keys_lead_to_places(window: MainWindow, qtbot: QtBot) -> None:
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(window, Qt.Key.Key_2, control)
    assert window.pages.currentWidget() is window.models_page
    qtbot.keyClick(window, Qt.Key.Key_K, control)
    assert window.models_page.list.search.hasFocus()
    qtbot.keyClick(window, Qt.Key.Key_3, control)
    assert window.pages.currentWidget() is window.settings_page
    qtbot.keyClick(window, Qt.Key.Key_1, control)
    assert window.pages.currentIndex() == 0
    qtbot.keyClick(window, Qt.Key.Key_3, control)
    qtbot.keyClick(window, Qt.Key.Key_K, control)
    assert window.pages.currentIndex() == 0
    assert window.conversation_list.search.hasFocus()
    with qtbot.waitSignal(window.conversation_list.new_requested):
        qtbot.keyClick(window, Qt.Key.Key_N, control)
    qtbot.keyClick(window, Qt.Key.Key_L, control)
    assert window.palette_popup.isVisible()
    qtbot.keyClick(window.palette_popup.search, Qt.Key.Key_Escape)
    assert not window.palette_popup.isVisible()


def test_the_side_panel_appears_with_the_first_model_and_obeys_its_key(
    window: MainWindow, qtbot: QtBot
) -> None:
    assert window.dock.isHidden()
    window.show_view(model_view(ModelPhase.PLANNED))
    assert window.dock.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    assert window.dock.isHidden()
    window.show_view(model_view(ModelPhase.READY))
    assert window.dock.isHidden()
    window.model_bar.dock.click()
    assert window.dock.isVisible()
    assert window.dock_wish() is True
    window.dock.close_button.click()
    assert window.dock.isHidden()


def test_escape_stops_an_answer_and_only_that(window: MainWindow, qtbot: QtBot) -> None:
    stopped: list[bool] = []
    window.chat_place.composer.stop_requested.connect(lambda: stopped.append(True))
    window.show_view(model_view(ModelPhase.READY))
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert stopped == []
    window.show_view(model_view(ModelPhase.GENERATING))
    window.conversation_list.search.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert stopped == [True]


def test_a_click_on_the_findings_opens_the_plan(window: MainWindow) -> None:
    window.show_view(model_view(ModelPhase.FAILED))
    window.show_place(SETTINGS)
    window.status_bar.findings.click()
    assert window.pages.currentIndex() == 0
    assert window.dock.tab == "plan"
    assert window.dock.plan_tab.isVisible()


def test_the_language_changes_at_once_everywhere(window: MainWindow, looks: LookSource) -> None:
    window.show_view(model_view(ModelPhase.PLANNED))
    looks.set_look(replace(looks.look, texts=Texts("zh_CN")))
    assert window.windowTitle() == "Qwen3-30B-A3B · 魔匣"
    assert window.rail.button(CHAT).text() == "聊天"
    assert window.dock.tabs._segments()[0].text() == "方案"
    assert window.status_bar.local.text() == "仅在本机"
    assert window.conversation_list.new.accessibleName() == "新对话"
    assert window.palette_popup.search.placeholderText() == "模型名称"


def test_the_theme_changes_at_once(window: MainWindow, looks: LookSource) -> None:
    looks.set_look(replace(looks.look, colors=DARK))
    QApplication.processEvents()
    image = window.grab().toImage()
    assert image.pixelColor(20, 400).name() == DARK.surface.lower()
    assert image.pixelColor(600, 110).name() == DARK.window.lower()


def test_a_dropped_model_is_picked(window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.path_dropped) as dropped:
        drop(window, urls("/models/我的 模型/Qwen3.GGUF"))
    assert dropped.args == [Path("/models/我的 模型/Qwen3.GGUF")]


def test_a_wrong_file_says_why_and_nothing_is_picked(window: MainWindow, qtbot: QtBot) -> None:
    picked: list[object] = []
    window.path_dropped.connect(picked.append)
    drop(window, urls("/home/photo.png"))
    assert window.toast.isVisible()
    assert "photo.png" in window.toast._message.text()
    QApplication.processEvents()
    assert picked == []


def test_a_drag_that_leaves_takes_its_sign_away(window: MainWindow) -> None:
    data = QMimeData()
    data.setUrls(urls("/models/a.gguf"))
    none, left = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(QPointF(9, 9).toPoint(), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(window, enter)
    assert window._overlay.size() == window.centralWidget().size()
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert not window._overlay.isVisible()


def test_text_dragged_over_the_window_is_not_ours(window: MainWindow) -> None:
    data = QMimeData()
    data.setText("hello")
    none, left = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(QPointF(9, 9).toPoint(), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(window, enter)
    assert not window._overlay.isVisible()


def test_names_alone_decide_what_is_worth_a_look() -> None:
    assert dropped_path(urls("/m/model.gguf")) == Path("/m/model.gguf")
    assert dropped_path(urls("/m/folder")) == Path("/m/folder")
    assert dropped_path(urls("/m/sha256-abc")) == Path("/m/sha256-abc")
    png = dropped_path(urls("/m/a.png"))
    assert png == Refusal("ui.window.drop_not_gguf", {"name": "a.png"})
    assert dropped_path([QUrl("https://example.org/a.gguf")]) == Refusal("ui.window.drop_not_local")
    assert dropped_path([]) == Refusal("ui.window.drop_not_local")
    assert dropped_path(urls("/m/a.gguf", "/m/b.gguf")) == Refusal("ui.window.drop_several")


def test_all_parts_of_a_split_model_stand_for_the_first() -> None:
    parts = [f"/m/big-{number:05}-of-00003.gguf" for number in (3, 1, 2)]
    assert dropped_path(urls(*parts)) == Path("/m/big-00001-of-00003.gguf")
    other = "/m/other-00001-of-00003.gguf"
    assert dropped_path(urls(*parts, other)) == Refusal("ui.window.drop_several")


def test_closing_is_asked_for_and_waits_for_leave(window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.close_requested):
        window.close()
    assert window.isVisible()
    window.allow_close()
    assert not window.isVisible()


def _controls(window: MainWindow) -> list[QWidget]:
    """Return what can be operated and is shown."""
    found: list[QWidget] = []
    for kind in CONTROLS:
        found += window.findChildren(kind)
    others = (QScrollBar, QHeaderView)
    return [c for c in found if c.isVisibleTo(window) and not isinstance(c, others)]


def _name(control: QWidget) -> str:
    text = control.text() if isinstance(control, QAbstractButton) else ""
    return control.accessibleName() or text
