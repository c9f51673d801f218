"""Two models side by side, with the signs of what differs."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK
from app.ui.views.model_details.comparison import DIFFERS, ModelComparison
from app.ui.views.model_details.comparison_rows import comparison_of
from app.ui.widgets.layouts import scrolled
from tests.gui.look_names import LOOK_NAMES
from tests.gui.page_parts import clipped
from tests.gui.test_model_details import details_of_giant

Show = Callable[[QWidget], QWidget]


@pytest.fixture
def view(looks: LookSource, show: Show) -> ModelComparison:
    """Qwen3-30B-A3B beside gpt-oss-20b."""
    made = ModelComparison(looks)
    made.resize(980, 640)
    made.show_comparison(comparison_of(details_of_giant("Qwen3-30B-A3B"), details_of_giant("gpt-oss-20b")))
    show(made)
    return made


def lines_of(view: ModelComparison) -> dict[str, list[str]]:
    """Return the cells of each line by its fact."""
    model = view.section.rows_model
    cells = [model.line_text(line).split("\t") for line in range(model.rowCount())]
    return {line[1]: line for line in cells}


def test_each_fact_of_both_models_stands_in_one_line(view: ModelComparison) -> None:
    lines = lines_of(view)
    assert lines["Architecture"] == [DIFFERS, "Architecture", "qwen3moe", "gpt-oss"]
    assert lines["Active parameters"][2:] == ["3.0 B", "3.6 B"]
    assert lines["Experts per layer"][2:] == ["128", "32"]
    assert lines["KV cache at 8k"][0] == DIFFERS
    assert lines["KV cache at 40k"][3] == "—"
    experts = lines["Quantization, Routed experts"]
    assert experts[2].startswith("Q4_K 12.7 GB")
    assert experts[3].startswith("MXFP4 ")
    assert lines["qwen3moe.expert_count"][2:] == ["128", "—"]
    assert lines["Kind"][0] == "="


def test_the_columns_are_named_by_the_models(view: ModelComparison) -> None:
    model = view.section.rows_model
    heads = [model.headerData(section, Qt.Orientation.Horizontal) for section in (2, 3)]
    assert heads == ["Qwen3-30B-A3B", "gpt-oss-20b"]
    assert model.head_text().endswith("Qwen3-30B-A3B\tgpt-oss-20b")


def test_only_what_differs_is_left_on_request(view: ModelComparison, qtbot: QtBot) -> None:
    everything = len(lines_of(view))
    qtbot.mouseClick(view.only_differences, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not view.section._row_search.is_running)
    assert 0 < len(lines_of(view)) < everything
    assert {line[0] for line in lines_of(view).values()} == {DIFFERS}


def test_facts_are_found_by_their_words(view: ModelComparison, qtbot: QtBot) -> None:
    qtbot.keyClicks(view.section.search, "quantization router")
    qtbot.waitUntil(lambda: not view.section._row_search.is_running)
    assert list(lines_of(view)) == ["Quantization, Router"]


def test_a_model_is_the_same_as_itself() -> None:
    qwen = details_of_giant("Qwen3-30B-A3B")
    assert not any(row.differs for row in comparison_of(qwen, qwen).rows)


def test_templates_that_differ_are_told_apart_by_more_than_their_length() -> None:
    left = details_of_giant("Qwen3-30B-A3B")
    changed = replace(
        left.template, source="{{ massages }}", supports={**left.template.supports, "system": False}
    )
    rows = comparison_of(left, replace(left, template=changed)).rows
    assert sum(row.differs for row in rows) == 2


def test_the_comparison_is_copied_with_its_signs(view: ModelComparison, qtbot: QtBot) -> None:
    with qtbot.waitSignal(view.section.rows_copied):
        view.section.copy_button.click()
    assert f"\n{DIFFERS}\tArchitecture\tqwen3moe\tgpt-oss\n" in QGuiApplication.clipboard().text()


def test_the_language_changes_while_it_is_shown(view: ModelComparison, looks: LookSource) -> None:
    looks.set_look(Look(DARK, Texts("zh_CN")))
    assert lines_of(view)["架构"][2:] == ["qwen3moe", "gpt-oss"]
    assert view.only_differences.accessibleName() == "只看不同"


def test_without_two_models_nothing_is_shown(view: ModelComparison) -> None:
    view.show_comparison(None)
    assert not view.isVisible()


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_no_text_is_cut_off(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    view = ModelComparison(looks)
    view.show_comparison(comparison_of(details_of_giant("Qwen3-30B-A3B"), details_of_giant("gpt-oss-20b")))
    page = scrolled(view)
    page.resize(600, 500)
    show(page)
    qtbot.waitUntil(lambda: clipped(view) == [], timeout=3000)
    assert view.width() <= page.viewport().width()
