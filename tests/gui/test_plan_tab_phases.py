"""The plan tab in every phase, both languages, narrow and zoomed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.plan_tab import PlanTab
from app.ui.widgets.buttons import Button
from app.ui.widgets.layer_map import LayerMap
from app.ui.widgets.parts_bar import PartsBar
from tests.fakes import GIB
from tests.plan_views import differing_view, every_phase, failed_view, loaded_view, planned_view, too_big_view

Show = Callable[[QWidget], QWidget]
Kind = TypeVar("Kind", bound=QWidget)
PHASES = dict(every_phase())
DOCK_WIDTH = 328
MIB = 1024**2


@pytest.fixture
def tab(looks: LookSource, show: Show) -> PlanTab:
    """A plan tab as wide as the dock."""
    made = PlanTab(looks)
    made.resize(DOCK_WIDTH, 620)
    show(made)
    return made


def _inside(widget: QWidget) -> Iterator[QWidget]:
    for child in widget.children():
        if isinstance(child, QWidget):
            yield child
            yield from _inside(child)


def all_of(widget: QWidget, kind: type[Kind]) -> list[Kind]:
    """Return the visible widgets of a kind."""
    return [child for child in _inside(widget) if isinstance(child, kind) and child.isVisible()]


def words_on(widget: QWidget) -> str:
    """Return all words that can be seen."""
    labels = [label.text() for label in all_of(widget, QLabel)]
    buttons = [button.text() for button in all_of(widget, QPushButton)]
    return "\n".join((*labels, *buttons))


def button_named(widget: QWidget, name: str) -> QPushButton:
    """Return the visible button with this text or accessible name."""
    buttons = all_of(widget, QPushButton)
    found = [button for button in buttons if name in (button.text(), button.accessibleName())]
    assert len(found) == 1, [button.text() for button in buttons]
    return found[0]


def clipped(tab: QWidget) -> list[str]:
    """Return what does not fit where it is."""
    area = all_of(tab, QScrollArea)[0]
    page = area.widget()
    assert page is not None
    problems = []
    if page.width() > area.viewport().width():
        problems.append(f"page {page.width()} wider than {area.viewport().width()}")
    for widget in (*all_of(page, QLabel), *all_of(page, QPushButton), *all_of(page, PartsBar)):
        where = widget.mapTo(page, widget.rect().bottomRight())
        if where.x() > page.width():
            problems.append(f"{type(widget).__name__} beyond the right edge: {where.x()}")
        needed = widget.heightForWidth(widget.width()) if widget.hasHeightForWidth() else 0
        needed = needed if needed > 0 else widget.minimumSizeHint().height()
        if widget.height() < needed:
            problems.append(f"{type(widget).__name__} {widget.height()} of {needed} high")
        if isinstance(widget, QPushButton) and widget.width() < widget.sizeHint().width():
            problems.append(f"button {widget.text()} too narrow")
    return problems


def fits_in_time(qtbot: QtBot, tab: QWidget) -> None:
    """Wait until the layout has settled, and say what is clipped if it never fits."""

    def fits() -> None:
        assert clipped(tab) == []

    qtbot.waitUntil(fits, timeout=2000)


@pytest.mark.parametrize("zoom", [1.0, 1.5])
@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
@pytest.mark.parametrize("name", PHASES)
def test_nothing_is_clipped(tab: PlanTab, looks: LookSource, qtbot: QtBot, name: str, zoom: float) -> None:
    looks.set_look(replace(looks.look, zoom=zoom))
    tab.show_view(PHASES[name])
    fits_in_time(qtbot, tab)


@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
@pytest.mark.parametrize("name", PHASES)
def test_every_control_has_a_name_and_the_keyboard_reaches_it(tab: PlanTab, name: str) -> None:
    tab.show_view(PHASES[name])
    for control in (*all_of(tab, QPushButton), *all_of(tab, LayerMap)):
        assert control.accessibleName() or (isinstance(control, QPushButton) and control.text())
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
    for bar in all_of(tab, PartsBar):
        assert bar.accessibleName()
        assert "GB" in bar.value_text() or "MB" in bar.value_text()


def test_without_a_model_the_next_action_is_a_button(tab: PlanTab, qtbot: QtBot) -> None:
    tab.show_view(ModelView())
    with qtbot.waitSignal(tab.pick_requested):
        button_named(tab, "Pick a model").click()


def test_a_file_being_checked_is_named(tab: PlanTab) -> None:
    tab.show_view(PHASES["checking"])
    assert "Reading the header of Qwen3-30B-A3B-Q4_K_M" in words_on(tab)
    assert "Findings" not in words_on(tab)


def test_a_plan_says_why_and_what_it_will_be_like(tab: PlanTab) -> None:
    view = planned_view()
    tab.show_view(view)
    words = words_on(tab)
    assert view.plan is not None
    in_ram = view.plan.options.n_cpu_moe
    assert 0 < in_ram < 48
    assert f"Experts of {in_ram} of 48 layers in RAM" in words
    assert "tok/s" in words
    assert "All checks passed." in words


def test_a_load_under_way_says_so(tab: PlanTab) -> None:
    tab.show_view(PHASES["loading"])
    assert "Loading 40%: reading weights" in words_on(tab)
    assert not button_named(tab, "Use the plan Safe").isEnabled()


def planned_on_gpu_bytes(view: ModelView) -> int:
    assert view.plan is not None
    return view.plan.devices[0].planned_bytes


def test_differences_are_marked_with_their_figures(tab: PlanTab) -> None:
    view = differing_view()
    tab.show_view(view)
    words = words_on(tab)
    assert "2 differences" in words
    assert "700 MB more than planned, most of it KV cache: 1.4 GB instead of 768 MB." in words
    assert "The engine kept f16: q8_0 needs flash attention" in words
    table = tab.table
    told = next(text for text in table.row_texts() if text.startswith("GPU0 VRAM"))
    planned_bytes = planned_on_gpu_bytes(view)
    assert f"Planned {planned_bytes / GIB:.1f} GB" in told
    assert f"Measured {(planned_bytes + 700 * MIB) / GIB:.1f} GB" in told
    assert "700 MB more" in told


def test_a_load_as_planned_marks_nothing(tab: PlanTab) -> None:
    tab.show_view(loaded_view())
    assert "differ" not in words_on(tab)


def test_where_columns_have_no_room_values_stand_below_their_name(
    tab: PlanTab, looks: LookSource, qtbot: QtBot
) -> None:
    view = loaded_view()
    tab.show_view(view)
    table = tab.table
    qtbot.waitUntil(lambda: not table.is_narrow)
    looks.set_look(replace(looks.look, zoom=1.5))
    qtbot.waitUntil(lambda: table.is_narrow)
    assert f"Measured {planned_on_gpu_bytes(view) / GIB:.1f} GB" in words_on(table)


def test_findings_beyond_two_are_folded(tab: PlanTab, qtbot: QtBot) -> None:
    tab.show_view(too_big_view())
    assert "bytes after the last tensor" not in words_on(tab)
    button_named(tab, "2 more").click()
    qtbot.waitUntil(lambda: "bytes after the last tensor" in words_on(tab))
    button_named(tab, "Show fewer").click()
    assert "bytes after the last tensor" not in words_on(tab)


def test_the_button_of_a_finding_hands_the_finding_over(tab: PlanTab, qtbot: QtBot) -> None:
    view = too_big_view()
    tab.show_view(view)
    with qtbot.waitSignal(tab.finding_action_requested) as heard:
        button_named(tab, "Set MoE to Auto").click()
    assert heard.args == [view.findings[0]]


def test_a_step_is_asked_for_by_key(tab: PlanTab, qtbot: QtBot) -> None:
    view = planned_view()
    tab.show_view(view)
    safe = button_named(tab, "Use the plan Safe")
    safe.setFocus()
    assert view.plan is not None
    with qtbot.waitSignal(tab.step_requested) as heard:
        qtbot.keyClick(safe, Qt.Key.Key_Space)
    assert heard.args == [view.plan.ladder[1]]


def test_a_failure_says_what_the_engine_said(tab: PlanTab, qtbot: QtBot) -> None:
    view = failed_view()
    tab.show_view(view)
    note = tab.failure
    assert "needed 2.0 GB" in words_on(note)
    assert not note.log.isVisible()
    note.fold.click()
    assert note.log.isVisible()
    assert "allocating 2048.00 MiB" in note.log.toPlainText()
    note.copy.click()
    assert QGuiApplication.clipboard().text() == "\n".join(view.log_tail)
    with qtbot.waitSignal(tab.step_requested) as heard:
        note.use_step.click()
    assert heard.args == [view.next_step]


def test_the_language_changes_while_it_is_shown(tab: PlanTab, looks: LookSource) -> None:
    tab.show_view(differing_view())
    looks.set_look(replace(looks.look, texts=Texts("zh_CN")))
    words = words_on(tab)
    assert "2 处不同" in words
    assert "比方案多 700 MB" in words
    assert "Findings" not in words


def test_a_hidden_tab_does_nothing_until_it_is_shown(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    tab = PlanTab(looks)
    tab.show_view(differing_view())
    assert tab.table.row_texts() == ()
    show(tab)
    qtbot.waitUntil(lambda: "2 differences" in words_on(tab))


def test_another_speed_draws_nothing(tab: PlanTab, monkeypatch: pytest.MonkeyPatch) -> None:
    view = replace(loaded_view(), phase=ModelPhase.GENERATING)
    tab.show_view(view)
    drawn: list[int] = []
    monkeypatch.setattr(tab, "_show", lambda: drawn.append(1))
    for speed in range(5):
        tab.show_view(replace(view, tokens_per_second=float(speed)))
    assert drawn == []


def test_the_buttons_are_all_of_the_theme(tab: PlanTab) -> None:
    tab.show_view(failed_view())
    primaries = [b for b in all_of(tab, Button) if b.property("kind") == "primary"]
    assert primaries == []  # the one primary button is the failure card's in the chat
