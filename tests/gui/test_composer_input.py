"""The composer: Enter during input of Chinese sends nothing, and what is written is never lost."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.composer import Composer
from tests.gui.look_names import LOOK_NAMES
from tests.gui.view_builders import model_view

Show = Callable[[QWidget], QWidget]
RETURN, KEYPAD_ENTER, UP, ESCAPE = (
    Qt.Key.Key_Return,
    Qt.Key.Key_Enter,
    Qt.Key.Key_Up,
    Qt.Key.Key_Escape,
)


@dataclass
class Desk:
    """A composer and what it asked for."""

    composer: Composer
    qtbot: QtBot
    sent: list[str] = field(default_factory=list)
    stops: list[None] = field(default_factory=list)

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.qtbot.keyClick(self.composer.box, key, modifier)

    def type(self, text: str) -> None:
        self.qtbot.keyClicks(self.composer.box, text)

    def compose(self, preedit: str, commit: str = "") -> None:
        event = QInputMethodEvent(preedit, [])
        event.setCommitString(commit)
        QApplication.sendEvent(self.composer.box, event)

    def paste(self, text: str) -> None:
        data = QMimeData()
        data.setText(text)
        self.composer.box.insertFromMimeData(data)

    def be(self, phase: ModelPhase) -> None:
        self.composer.show_view(ModelView(phase=phase))


@pytest.fixture
def desk(looks: LookSource, show: Show, qtbot: QtBot) -> Desk:
    composer = Composer(looks)
    composer.resize(760, 200)
    show(composer)
    made = Desk(composer, qtbot)
    composer.send_requested.connect(made.sent.append)
    composer.stop_requested.connect(lambda: made.stops.append(None))
    made.be(ModelPhase.READY)
    composer.setFocus()
    return made


def test_return_while_composing_sends_nothing_and_after_the_commit_once(desk: Desk) -> None:
    desk.compose("nihao")
    desk.press(RETURN)
    assert desk.sent == []
    assert desk.composer.text() == ""
    desk.compose("", commit="你好")
    assert desk.composer.text() == "你好"
    assert desk.sent == []
    desk.press(RETURN)
    assert desk.sent == ["你好"]
    assert desk.composer.text() == ""
    desk.press(RETURN)
    assert desk.sent == ["你好"]


def test_keypad_enter_while_composing_sends_nothing(desk: Desk) -> None:
    desk.type("a")
    desk.compose("ka")
    desk.press(KEYPAD_ENTER)
    assert desk.sent == []
    assert desk.composer.text() == "a"


def test_letters_of_a_composition_that_was_given_up_do_not_block_return(desk: Desk) -> None:
    desk.type("ok")
    desk.compose("ni")
    desk.compose("")
    desk.press(RETURN)
    assert desk.sent == ["ok"]


def test_shift_return_makes_a_new_line(desk: Desk) -> None:
    desk.type("a")
    desk.press(RETURN, Qt.KeyboardModifier.ShiftModifier)
    desk.type("b")
    assert desk.sent == []
    assert desk.composer.text() == "a\nb"


def test_keypad_enter_sends(desk: Desk) -> None:
    desk.type("hello")
    desk.press(KEYPAD_ENTER)
    assert desk.sent == ["hello"]


@pytest.mark.parametrize("blank", ["", "   ", "\n\n", " \u3000\t"])
def test_blank_text_is_not_sent(desk: Desk, blank: str) -> None:
    desk.composer.set_text(blank)
    desk.press(RETURN)
    assert desk.sent == []
    assert not desk.composer.button.isEnabled()


def test_return_while_generating_sends_nothing_and_keeps_the_text(desk: Desk) -> None:
    desk.be(ModelPhase.GENERATING)
    desk.type("next")
    desk.press(RETURN)
    assert desk.sent == []
    assert desk.stops == []
    assert desk.composer.text() == "next"


def test_pasted_lines_are_not_sent(desk: Desk) -> None:
    desk.paste("one\ntwo\nthree\n")
    assert desk.sent == []
    assert desk.composer.text() == "one\ntwo\nthree\n"
    desk.press(RETURN)
    assert desk.sent == ["one\ntwo\nthree"]


def test_rich_text_is_pasted_as_words(desk: Desk) -> None:
    data = QMimeData()
    data.setHtml("<b>bold</b><img src='https://tracker.example/x.png'>")
    data.setText("bold")
    desk.composer.box.insertFromMimeData(data)
    assert desk.composer.text() == "bold"


@pytest.mark.parametrize("text", ["word " * 40_000, "a line of forty characters, more or less\n" * 5_000])
def test_a_paste_of_200_kb_stays_fluent(desk: Desk, text: str) -> None:
    began = time.process_time()
    desk.paste(text)
    QApplication.processEvents()
    desk.type("x")
    QApplication.processEvents()
    assert time.process_time() - began < 0.4 * 3
    assert desk.composer.text() == text + "x"
    desk.press(RETURN)
    assert desk.sent == [(text + "x").strip()]


def test_up_in_the_empty_box_brings_the_last_message_back(desk: Desk) -> None:
    desk.type("first")
    desk.press(RETURN)
    desk.press(UP)
    assert desk.composer.text() == "first"
    desk.composer.set_text("draft")
    desk.press(UP)
    assert desk.composer.text() == "draft"


def test_a_message_typed_while_loading_is_handed_over(desk: Desk) -> None:
    desk.be(ModelPhase.LOADING)
    desk.type("wait for me")
    desk.press(RETURN)
    assert desk.sent == ["wait for me"]


@pytest.mark.parametrize(
    "phase", [ModelPhase.NONE, ModelPhase.PLANNED, ModelPhase.FAILED, ModelPhase.UNLOADING]
)
def test_without_a_model_the_text_stays(desk: Desk, phase: ModelPhase) -> None:
    desk.be(phase)
    desk.type("keep")
    desk.press(RETURN)
    assert desk.sent == []
    assert desk.composer.text() == "keep"
    assert not desk.composer.button.isEnabled()


def test_a_message_to_a_planned_model_is_handed_over(desk: Desk) -> None:
    desk.composer.show_view(model_view(ModelPhase.PLANNED))
    assert "Enter loads and sends" in desk.composer.box.placeholderText()
    desk.type("load for me")
    assert desk.composer.button.accessibleName() == "Load the model and send"
    desk.press(RETURN)
    assert desk.sent == ["load for me"]


def test_enter_without_a_model_is_refused_and_the_text_stays(desk: Desk) -> None:
    refusals: list[None] = []
    desk.composer.send_refused.connect(lambda: refusals.append(None))
    desk.be(ModelPhase.NONE)
    desk.press(RETURN)
    assert not refusals
    desk.type("keep this")
    desk.press(RETURN)
    assert (len(refusals), desk.composer.text(), desk.sent) == (1, "keep this", [])


def test_a_file_that_cannot_be_loaded_is_not_said_to_be_loaded_first(desk: Desk) -> None:
    desk.composer.show_view(replace(model_view(ModelPhase.FAILED), plan=None))
    assert desk.composer.box.placeholderText().startswith("This file cannot be loaded.")


def test_the_button_stops_while_generating_and_escape_does_too(desk: Desk) -> None:
    desk.be(ModelPhase.GENERATING)
    assert desk.composer.button.icon_name == "stop"
    desk.qtbot.mouseClick(desk.composer.button, Qt.MouseButton.LeftButton)
    desk.press(ESCAPE)
    assert len(desk.stops) == 2
    desk.be(ModelPhase.STOPPING)
    assert not desk.composer.button.isEnabled()
    desk.be(ModelPhase.READY)
    desk.press(ESCAPE)
    assert len(desk.stops) == 2


def test_the_box_grows_to_eight_lines_and_then_scrolls(desk: Desk) -> None:
    heights = []
    for count in (1, 2, 8, 9, 40):
        desk.composer.set_text("\n".join(["line"] * count))
        QApplication.processEvents()
        heights.append(desk.composer.box.height())
    one, two, eight, nine, forty = heights
    line = two - one
    assert line > 10
    assert eight - one == 7 * line
    assert nine == forty == eight


@pytest.mark.parametrize("line", ["第一行文字", "Latin and 中文", "かな 😀"])
def test_lines_of_every_script_are_seen_whole(desk: Desk, line: str) -> None:
    for count in (1, 3, 8):
        desk.composer.set_text("\n".join([line] * count))
        QApplication.processEvents()
        box = desk.composer.box
        assert box.verticalScrollBar().maximum() == 0
        assert box.cursorRect().bottom() <= box.viewport().height()


def test_tab_leaves_the_box(desk: Desk) -> None:
    desk.type("x")
    desk.press(Qt.Key.Key_Tab)
    assert desk.composer.text() == "x"
    assert desk.composer.button.hasFocus()


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_every_state_has_words_of_its_own(desk: Desk) -> None:
    said = set()
    for phase in (
        ModelPhase.READY,
        ModelPhase.LOADING,
        ModelPhase.NONE,
        ModelPhase.PLANNED,
        ModelPhase.GENERATING,
    ):
        desk.be(phase)
        said.add(desk.composer.box.placeholderText())
        assert desk.composer.button.accessibleName()
        assert desk.composer.button.accessibleName() in desk.composer.button.toolTip()
    assert len(said) == 5
    assert desk.composer.box.accessibleName()


class _WidestPaint(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.width = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.width = max(self.width, event.region().boundingRect().width())
        return super().eventFilter(watched, event)


def test_another_hint_in_the_empty_box_is_painted_at_once(desk: Desk) -> None:
    desk.composer.box.setFocus()
    desk.be(ModelPhase.READY)
    QApplication.processEvents()
    widest = _WidestPaint()
    desk.composer.box.viewport().installEventFilter(widest)
    desk.be(ModelPhase.PLANNED)  # same buttons: nothing but the hint is another one
    desk.qtbot.waitUntil(lambda: widest.width > 100, timeout=1500)
