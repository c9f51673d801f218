"""The model bar: every phase, its words and its buttons; the MoE control."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.gguf.facts import FileKind, ModelFacts
from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.texts import Texts
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.model_bar import ModelBar
from app.ui.views.model_picker import TEXT_LEFT, TEXT_RIGHT, WIDTH_MOST
from tests.gui.conftest import LOOK_NAMES
from tests.gui.view_builders import (
    BUDGET,
    CPU_BUDGET,
    dense_model_facts,
    every_phase,
    model_view,
    qwen_facts,
    sample_with_gpu,
    sample_without_gpu,
)

Show = Callable[[QWidget], QWidget]

BUTTONS = {
    "none": (),
    "checking": (),
    "planned": ("load",),
    "loading": ("cancel",),
    "warming": ("cancel",),
    "ready": ("unload",),
    "ready-changed": ("reload", "unload"),
    "generating": (),
    "stopping": ("unload",),
    "unloading": (),
    "failed": ("load",),
    "refused": (),
    "dense": ("load",),
    "cpu-only": ("load",),
}
"""Buttons that work, by state; the picker and the one of the side panel always do."""

STATES = {
    "none": ("Idle", "空闲"),
    "checking": ("Checking", "正在检查"),
    "planned": ("Not loaded", "未加载"),
    "loading": ("Loading 41%", "加载中 41%"),
    "warming": ("Warming up", "预热"),
    "ready": ("Ready", "就绪"),
    "ready-changed": ("Ready", "就绪"),
    "generating": ("Generating", "正在生成"),
    "stopping": ("Stopping", "正在停止"),
    "unloading": ("Unloading", "正在卸载"),
    "failed": ("Failed", "失败"),
    "refused": ("Not loadable", "无法加载"),
    "dense": ("Not loaded", "未加载"),
    "cpu-only": ("Not loaded", "未加载"),
}


@pytest.fixture
def bar(looks: LookSource, show: Show) -> ModelBar:
    """The bar, shown at the width it has in a small window."""
    widget = ModelBar(looks)
    widget.resize(1298, 76)
    show(widget)
    return widget


def working_buttons(bar: ModelBar) -> tuple[str, ...]:
    """Return the keys of the buttons that are shown and work."""
    texts = {bar._looks.look.text(f"ui.model_bar.{key}"): key for key in ("load", "cancel", "reload")}
    found = [
        texts[button.text()]
        for button in (bar.primary, bar.secondary)
        if not button.isHidden() and button.isEnabled()
    ]
    return (*found, "unload") if bar.unload.isEnabled() else tuple(found)


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_every_phase_says_its_state_and_shows_the_buttons_that_work(bar: ModelBar, looks: LookSource) -> None:
    seen = set()
    for name, view in every_phase():
        bar.show_view(view)
        assert working_buttons(bar) == BUTTONS[name], name
        assert bar.state.text() == STATES[name][looks.look.is_chinese], name
        seen.add(name)
    assert seen == set(STATES)


def test_at_most_one_button_is_primary_and_a_failure_leaves_it_to_the_remedy(bar: ModelBar) -> None:
    for name, view in every_phase():
        bar.show_view(view)
        is_primary = not bar.primary.isHidden()
        assert is_primary == (name in ("planned", "dense", "cpu-only", "ready-changed")), name


def test_buttons_say_what_the_person_wants(bar: ModelBar, qtbot: QtBot) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED))
    with qtbot.waitSignal(bar.load_requested):
        bar.primary.click()
    bar.show_view(model_view(ModelPhase.LOADING))
    with qtbot.waitSignal(bar.cancel_requested):
        bar.secondary.click()
    bar.show_view(replace(model_view(ModelPhase.READY), needs_reload=True))
    with qtbot.waitSignal(bar.reload_requested):
        bar.primary.click()
    with qtbot.waitSignal(bar.unload_requested):
        bar.unload.click()
    with qtbot.waitSignal(bar.pick_requested):
        bar.picker.click()
    with qtbot.waitSignal(bar.dock_toggled):
        bar.dock.click()


def test_the_focus_stays_on_the_button_that_changes_its_meaning(bar: ModelBar) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED))
    bar.primary.setFocus()
    bar.show_view(model_view(ModelPhase.LOADING))
    assert bar.secondary.hasFocus()


@pytest.mark.parametrize(
    "name", ["SmolLM2 135M Instruct, 8 experts", "A model whose name goes on and on, " * 4 + "at last"]
)
def test_a_long_name_gets_the_room_there_is(bar: ModelBar, looks: LookSource, name: str) -> None:
    view = model_view(ModelPhase.READY, facts=replace(qwen_facts(), name=name))
    bar.show_view(view)
    bar.resize(1440 - 68, bar.height())
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    needed = QFontMetrics(looks.look.font("subtitle")).horizontalAdvance(name)
    room = bar.picker.width() - TEXT_LEFT - TEXT_RIGHT
    assert room >= needed or bar.picker.width() == WIDTH_MOST
    assert bar.gpu_bar.width() >= 200
    assert name in bar.picker.toolTip()


def test_the_picker_names_the_model_and_what_it_is(bar: ModelBar) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED))
    name, detail = bar.picker.texts()
    assert name == "Qwen3-30B-A3B"
    assert "Q4_K" in detail
    assert "48 × 128 experts" in detail
    bar.show_view(model_view(ModelPhase.PLANNED, facts=dense_model_facts()))
    name, detail = bar.picker.texts()
    assert name == "Llama-3.1-8B"
    assert "dense" in detail
    bar.show_view(
        ModelView(ModelPhase.FAILED, facts=ModelFacts(Path("notes.gguf"), FileKind.UNKNOWN, size_bytes=4096))
    )
    assert bar.picker.texts() == ("notes", "4 KB")


def test_the_progress_line_runs_only_during_a_load(bar: ModelBar) -> None:
    bar.show_view(model_view(ModelPhase.LOADING))
    assert bar.progress.fraction == 0.41
    bar.show_view(model_view(ModelPhase.READY))
    assert bar.progress.fraction is None


def test_another_language_holds_at_once(bar: ModelBar, looks: LookSource) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED))
    looks.set_look(replace(looks.look, texts=Texts("zh_CN")))
    assert bar.state.text() == "未加载"
    assert bar.primary.text() == "加载"
    assert "层" in bar.picker.texts()[1]
    assert bar.moe.value.text().endswith("层")


def test_without_a_gpu_words_stand_where_its_bar_was(bar: ModelBar) -> None:
    view = model_view(ModelPhase.PLANNED, budget=CPU_BUDGET)
    bar.show_view(view)
    bar.show_memory(sample_without_gpu(), view)
    assert not bar.has_gpu_bar()
    bar.show_memory(sample_with_gpu(), view)
    assert bar.has_gpu_bar()
    bar.show_memory(None, view)
    assert bar.has_gpu_bar()


def test_auto_shows_its_own_choice_as_value_and_as_mark(bar: ModelBar) -> None:
    view = model_view(ModelPhase.PLANNED)
    assert view.plan is not None
    bar.show_view(view)
    chosen = view.plan.options.n_cpu_moe
    assert bar.moe.choice.current == "auto"
    assert (bar.moe.slider.value(), bar.moe.slider.mark) == (chosen, chosen)
    assert bar.moe.value.text() == f"{chosen} of 48 layers"


def test_the_mark_of_auto_stays_while_the_person_chooses(bar: ModelBar) -> None:
    auto = model_view(ModelPhase.PLANNED)
    bar.show_view(auto)
    mark = bar.moe.slider.mark
    bar.show_view(model_view(ModelPhase.PLANNED, wishes=Wishes(moe=40)))
    assert bar.moe.choice.current == "manual"
    assert (bar.moe.slider.value(), bar.moe.slider.mark) == (40, mark)
    other_context = model_view(ModelPhase.PLANNED, wishes=Wishes(moe=40, n_ctx=32_768))
    bar.show_view(other_context)
    assert bar.moe.slider.mark is None


def test_moving_the_slider_asks_for_n_once_per_turn_of_the_loop(bar: ModelBar, qtbot: QtBot) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED, facts=qwen_facts(leading_dense=3)))
    asked: list[Wishes] = []
    bar.wishes_changed.connect(asked.append)
    for step in (10, 11, 12):
        bar.moe.slider.setValue(step)
    assert asked == []
    qtbot.waitUntil(lambda: len(asked) == 1)
    assert asked[0].moe == 15
    assert bar.moe.choice.current == "manual"
    assert bar.moe.value.text() == "12 of 45 layers"


def test_dragging_moves_the_plan_in_both_bars(bar: ModelBar, qtbot: QtBot) -> None:
    view = model_view(ModelPhase.PLANNED)
    bar.show_view(view)
    shown: list[ModelView] = []

    def answer(wishes: Wishes) -> None:
        plan = plan_offload(qwen_facts(), BUDGET, wishes)
        shown.append(replace(view, wishes=wishes, plan=plan))
        bar.show_view(shown[-1])
        bar.show_memory(sample_with_gpu(), shown[-1])

    bar.wishes_changed.connect(answer)
    bar.show_memory(sample_with_gpu(), view)
    gpu_before, ram_before = bar.gpu_bar.accessibleDescription(), bar.ram_bar.accessibleDescription()
    slider = bar.moe.slider
    y = slider.height() // 2
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() // 2, y))
    QTest.mouseMove(slider, QPoint(slider.width() - 14, y))
    qtbot.waitUntil(lambda: bool(shown) and bar.moe.slider.value() > 40)
    qtbot.waitUntil(lambda: shown[-1].wishes.moe == slider.value() or shown[-1].wishes.moe == "all")
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() - 14, y))
    assert bar.gpu_bar.accessibleDescription() != gpu_before
    assert bar.ram_bar.accessibleDescription() != ram_before


def test_arrows_move_one_layer_and_pages_four(bar: ModelBar, qtbot: QtBot) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED, wishes=Wishes(moe=20)))
    bar.moe.slider.setFocus()
    qtbot.keyClick(bar.moe.slider, Qt.Key.Key_Right)
    assert bar.moe.slider.value() == 21
    qtbot.keyClick(bar.moe.slider, Qt.Key.Key_PageUp)
    assert bar.moe.slider.value() == 25


def test_auto_is_one_click_away(bar: ModelBar, qtbot: QtBot) -> None:
    bar.show_view(model_view(ModelPhase.PLANNED, wishes=Wishes(moe=30)))
    with qtbot.waitSignal(bar.wishes_changed) as asked:
        bar.moe.choice.chosen.emit("auto")
    assert asked.args == [Wishes()]


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        (ModelView(), "ui.moe.why_no_model"),
        (model_view(ModelPhase.PLANNED, facts=dense_model_facts()), "ui.moe.why_dense"),
        (model_view(ModelPhase.GENERATING), "ui.moe.why_busy"),
        (replace(model_view(ModelPhase.PLANNED), plan=None), "ui.moe.why_no_plan"),
    ],
)
def test_a_control_that_does_not_work_says_why(
    bar: ModelBar, looks: LookSource, view: ModelView, reason: str
) -> None:
    bar.show_view(view)
    assert not bar.moe.slider.isEnabled()
    assert not bar.moe.choice.isEnabled()
    sentence = looks.look.text(reason)
    assert sentence == bar.moe.toolTip()
    assert sentence in bar.moe.slider.accessibleDescription()


@pytest.mark.parametrize("moe", ["auto", "off", 15])
def test_without_a_gpu_the_control_says_that_everything_is_in_ram(bar: ModelBar, moe: str | int) -> None:
    view = model_view(ModelPhase.PLANNED, budget=CPU_BUDGET)
    assert view.facts is not None
    wishes = Wishes(moe=moe)
    bar.show_view(replace(view, wishes=wishes, plan=plan_offload(view.facts, CPU_BUDGET, wishes)))
    assert not bar.moe.slider.isEnabled()
    assert not bar.moe.choice.isEnabled()
    assert bar.moe.value.text() == "all 48 layers"
    assert bar.moe.toolTip() == "Everything is in RAM: no graphics card."
