"""The parameters tab: Simple and Expert, wrong values, what is asked for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSlider, QComboBox, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.options import SamplingOptions
from app.planner.facts import Wishes
from app.texts import Texts
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.parameters_tab import EXPERT, SIMPLE, ParametersTab
from tests.gui.test_plan_tab_phases import all_of, fits_in_time, words_on
from tests.plan_views import loaded_view, planned_view

Show = Callable[[QWidget], QWidget]


@pytest.fixture
def tab(looks: LookSource, show: Show) -> ParametersTab:
    """A parameters tab as wide as the dock, with a planned model."""
    made = ParametersTab(looks)
    made.show_view(planned_view())
    made.resize(328, 620)
    show(made)
    return made


def write(qtbot: QtBot, line_edit: QLineEdit, text: str) -> None:
    """Type a text in place of what stands there, and press Enter."""
    line_edit.setFocus()
    line_edit.selectAll()
    qtbot.keyClick(line_edit, Qt.Key.Key_Delete)
    qtbot.keyClicks(line_edit, text)
    qtbot.keyClick(line_edit, Qt.Key.Key_Return)


@pytest.mark.parametrize("zoom", [1.0, 1.5])
@pytest.mark.parametrize("detail", [SIMPLE, EXPERT])
@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
def test_nothing_is_clipped(
    tab: ParametersTab, looks: LookSource, qtbot: QtBot, detail: str, zoom: float
) -> None:
    looks.set_look(replace(looks.look, zoom=zoom))
    tab.show_detail(detail)
    if detail == EXPERT:
        write(qtbot, tab.numbers["max_tokens"].line_edit, "many")
    tab.show_view(replace(loaded_view(), needs_reload=True))
    fits_in_time(qtbot, tab)


@pytest.mark.parametrize("detail", [SIMPLE, EXPERT])
@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
def test_every_control_has_a_name_and_the_keyboard_reaches_it(tab: ParametersTab, detail: str) -> None:
    tab.show_detail(detail)
    kinds = (QLineEdit, QPlainTextEdit, QAbstractSlider, QComboBox)
    controls = [
        widget
        for widget in all_of(tab, QWidget)
        if isinstance(widget, kinds) and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert len(controls) == (4 if detail == SIMPLE else 24)
    names = [control.accessibleName() for control in controls]
    assert all(names)
    assert len(set(names)) == len(names)


def test_simple_shows_four_and_expert_all(tab: ParametersTab) -> None:
    assert "Creativity" in words_on(tab)
    assert "Top P" not in words_on(tab)
    tab.detail.chosen.emit(EXPERT)
    assert "Top P" in words_on(tab)
    assert "Creativity" not in words_on(tab)


def test_it_is_said_when_a_change_applies(tab: ParametersTab) -> None:
    words = words_on(tab)
    assert "at the next answer" in words
    assert "needs reload" in words
    assert "Reload it to apply" not in words
    tab.show_view(replace(loaded_view(), needs_reload=True))
    assert "Reload it to apply" in words_on(tab)


def test_creativity_moves_in_tenths_and_says_a_word(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.show_sampling(SamplingOptions(temperature=0.7, top_k=17))
    assert "0.7 · balanced" in words_on(tab)
    slider = tab.creativity.slider
    slider.setFocus()
    with qtbot.waitSignal(tab.sampling_changed) as heard:
        qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert heard.args == [SamplingOptions(temperature=0.8, top_k=17)]
    assert slider.accessibleDescription() == "0.8 · balanced"


def test_a_temperature_beyond_the_slider_stays_what_it_is(tab: ParametersTab, qtbot: QtBot) -> None:
    heard: list[object] = []
    tab.sampling_changed.connect(heard.append)
    tab.show_sampling(SamplingOptions(temperature=4.25))
    qtbot.wait(20)
    assert heard == []
    assert "4.25 · wild" in words_on(tab)


def test_the_answers_length_goes_from_no_limit_down(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.length.slider.setFocus()
    with qtbot.waitSignal(tab.sampling_changed) as heard:
        qtbot.keyClick(tab.length.slider, Qt.Key.Key_Left)
    assert heard.args == [SamplingOptions(max_tokens=8192)]


def test_context_auto_stands_at_what_was_planned_and_marks_it(tab: ParametersTab, qtbot: QtBot) -> None:
    assert "Auto: 8,192" in words_on(tab)
    context = tab.load.context
    assert context.mode.current == "auto"
    assert context.slider.value() == context.slider.mark == 2
    context.slider.setFocus()
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        qtbot.keyClick(context.slider, Qt.Key.Key_Right)
    assert heard.args == [Wishes(n_ctx=16384)]
    assert context.mode.current == "manual"
    tab.show_view(planned_view(Wishes(n_ctx=16384)))
    assert (context.slider.value(), context.slider.mark) == (3, 2)
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        context.mode.chosen.emit("auto")
    assert heard.args == [Wishes()]


def test_manual_takes_over_what_auto_chose(tab: ParametersTab, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        tab.load.context.mode.chosen.emit("manual")
    assert heard.args == [Wishes(n_ctx=8192)]


def test_without_a_plan_auto_has_no_place_on_the_slider(tab: ParametersTab) -> None:
    tab.show_view(ModelView())
    assert not tab.load.context.slider.isEnabled()
    assert tab.load.context.slider.mark is None
    tab.show_view(ModelView(wishes=Wishes(n_ctx=4096)))
    assert tab.load.context.slider.isEnabled()
    assert "4,096 tokens" in words_on(tab)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", "0,35", 0.35),
        ("top_k", "0", 0),
        ("top_p", "1", 1.0),
        ("min_p", "0.1", 0.1),
        ("repeat_penalty", "1.15", 1.15),
        ("max_tokens", "1,024", 1024),
        ("seed", "42", 42),
    ],
)
def test_each_number_of_the_sampling_is_handed_on(
    tab: ParametersTab, qtbot: QtBot, name: str, text: str, value: float
) -> None:
    tab.show_detail(EXPERT)
    with qtbot.waitSignal(tab.sampling_changed) as heard:
        write(qtbot, tab.numbers[name].line_edit, text)
    values: dict[str, Any] = {name: value}
    assert heard.args == [SamplingOptions(**values)]


def test_a_wrong_value_is_marked_says_what_to_write_and_is_not_set(tab: ParametersTab, qtbot: QtBot) -> None:
    heard: list[object] = []
    tab.sampling_changed.connect(heard.append)
    tab.show_detail(EXPERT)
    line = tab.numbers["temperature"]
    write(qtbot, line.line_edit, "11")
    assert line.line_edit.property("wrong") is True
    assert line.sentence == "Write a number from 0 to 10."
    assert line.line_edit.accessibleDescription() == line.sentence
    tab.show_sampling(SamplingOptions())  # the same values again leave the wrong text to be mended
    assert line.line_edit.text() == "11"
    assert heard == []
    write(qtbot, line.line_edit, "1")
    assert line.line_edit.property("wrong") is False
    assert line.sentence == ""
    assert heard == [SamplingOptions(temperature=1.0)]


def test_an_empty_field_leaves_the_value_open(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.show_detail(EXPERT)
    tab.show_sampling(SamplingOptions(seed=7))
    with qtbot.waitSignal(tab.sampling_changed) as heard:
        write(qtbot, tab.numbers["seed"].line_edit, "")
    assert heard.args == [SamplingOptions()]
    assert tab.numbers["seed"].line_edit.placeholderText() == "random"


def test_wishes_are_handed_on_and_the_moe_wish_is_kept(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.show_view(planned_view(Wishes(moe=30)))
    tab.show_detail(EXPERT)
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        write(qtbot, tab.load.n_ctx.line_edit, "4096")
    assert heard.args == [Wishes(moe=30, n_ctx=4096)]
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        write(qtbot, tab.load.n_threads.line_edit, "6")
    assert heard.args == [Wishes(moe=30, n_ctx=4096, n_threads=6)]
    choice = tab.load.kv_type.choice
    choice.setFocus()
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        qtbot.keyClick(choice, Qt.Key.Key_Down)
    assert heard.args == [Wishes(moe=30, n_ctx=4096, n_threads=6, kv_type="f16")]
    repack = tab.load.repack.choice
    repack.setFocus()
    with qtbot.waitSignal(tab.wishes_changed) as heard:
        qtbot.keyClick(repack, Qt.Key.Key_End)
    assert heard.args == [Wishes(moe=30, n_ctx=4096, n_threads=6, kv_type="f16", repack=False)]


def test_stop_texts_are_read_line_by_line(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.show_detail(EXPERT)
    tab.stop.editor.setFocus()
    with qtbot.waitSignal(tab.sampling_changed) as heard:
        qtbot.keyClicks(tab.stop.editor, "###")
        tab.stop.editor.clearFocus()
    assert heard.args == [SamplingOptions(stop=("###",))]


def test_the_system_prompt_is_handed_on_when_the_focus_leaves(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.show_system_prompt("Be brief.")
    editor = tab.system_prompt.editor
    assert editor.toPlainText() == "Be brief."
    editor.setFocus()
    editor.selectAll()
    with qtbot.waitSignal(tab.system_prompt_changed) as heard:
        qtbot.keyClicks(editor, "Be exact.")
        qtbot.keyClick(editor, Qt.Key.Key_Tab)
    assert heard.args == ["Be exact."]


def test_a_system_prompt_being_written_is_not_lost_when_the_tab_is_hidden(
    tab: ParametersTab, qtbot: QtBot
) -> None:
    tab.system_prompt.editor.setFocus()
    qtbot.keyClicks(tab.system_prompt.editor, "Be kind.")
    with qtbot.waitSignal(tab.system_prompt_changed) as heard:
        tab.hide()
    assert heard.args == ["Be kind."]


def test_reset_leaves_everything_open_but_prompt_and_moe(tab: ParametersTab, qtbot: QtBot) -> None:
    tab.show_sampling(SamplingOptions(temperature=1.5, seed=3, stop=("x",)))
    tab.show_system_prompt("Be brief.")
    tab.show_view(planned_view(Wishes(moe=30, n_ctx=4096, kv_type="q8_0", n_threads=3, repack=False)))
    with qtbot.waitSignals([tab.sampling_changed, tab.wishes_changed]):
        heard: list[object] = []
        tab.sampling_changed.connect(heard.append)
        tab.wishes_changed.connect(heard.append)
        tab.reset.click()
    assert heard == [SamplingOptions(), Wishes(moe=30)]
    assert tab.system_prompt.editor.toPlainText() == "Be brief."
    assert tab.stop.editor.toPlainText() == ""


def test_the_language_changes_while_it_is_shown(tab: ParametersTab, looks: LookSource, qtbot: QtBot) -> None:
    tab.show_detail(EXPERT)
    write(qtbot, tab.numbers["temperature"].line_edit, "11")
    looks.set_look(replace(looks.look, texts=Texts("zh_CN")))
    words = words_on(tab)
    assert "需重新加载" in words
    assert "填 0 到 10 的数。" in words
    assert tab.load.kv_type.choice.currentText() == "自动：f16"
    assert "Answers" not in words


def test_an_unlike_context_of_the_wishes_is_offered(tab: ParametersTab) -> None:
    tab.show_view(planned_view(Wishes(n_ctx=5000)))
    assert "5,000 tokens" in words_on(tab)
