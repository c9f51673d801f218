"""The details of a model: real headers shown in words, searched, copied, in every look."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.gguf.anatomy import anatomy_of
from app.gguf.facts import TensorClass
from app.gguf.inspect_file import inspect_path
from app.texts import Texts
from app.ui.controllers.model_details_job import cache_figures, details_of, template_facts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK
from app.ui.views.model_details.details import METADATA, SECTIONS, TEMPLATE, TENSORS, ModelDetails
from app.ui.views.model_details.facts import ModelDetailsFacts, TemplateFacts
from app.ui.widgets.layouts import scrolled
from tests.builders import dense_model, moe_model, text, write_gguf
from tests.gui.look_names import LOOK_NAMES
from tests.gui.page_parts import clipped, parts
from tests.models.giants import giant_named, write_giant

Show = Callable[[QWidget], QWidget]
PREVIEW = {
    "en": "<|im_start|>user\n17 × 3? 😀<|im_end|>\n",
    "zh_CN": "<|im_start|>user\n十七乘三？<|im_end|>\n",
}
SUPPORTS = {"system": True, "tools": False, "thinking": None}


@cache
def details_of_giant(name: str) -> ModelDetailsFacts:
    """Return the details of a real model's header; its template is told, not tried."""
    with TemporaryDirectory() as folder:
        details = details_of(write_giant(giant_named(name), Path(folder))[0])
    template = TemplateFacts("{{ messages }}", PREVIEW, ("<|im_start|>", "<|im_end|>"), SUPPORTS)
    return replace(details, template=template)


@pytest.fixture
def qwen() -> ModelDetailsFacts:
    """The details of Qwen3-30B-A3B."""
    return details_of_giant("Qwen3-30B-A3B")


@pytest.fixture
def view(looks: LookSource, show: Show, qwen: ModelDetailsFacts) -> ModelDetails:
    """The details as wide as the models page leaves them on a small screen."""
    made = ModelDetails(looks)
    made.show_model(qwen)
    made.resize(980, 1000)
    show(made)
    return made


def lines_of(view: ModelDetails, section: str) -> list[str]:
    """Return what the table of a section shows, line by line."""
    table = {TENSORS: view.tensors, METADATA: view.metadata}[section]
    return [table.rows_model.line_text(line) for line in range(table.rows_model.rowCount())]


def search(qtbot: QtBot, view: ModelDetails, section: str, words: str) -> list[str]:
    """Type words into the field of a section and return the lines that are left."""
    view.show_section(section)
    table = {TENSORS: view.tensors, METADATA: view.metadata}[section]
    table.search.clear()
    qtbot.keyClicks(table.search, words)
    qtbot.waitUntil(lambda: not table._row_search.is_running)
    return lines_of(view, section)


def test_the_sizes_are_those_of_the_header(view: ModelDetails, qwen: ModelDetailsFacts) -> None:
    texts = view.sizes.figure_texts()
    assert len(texts) == 8
    assert texts[0].startswith("One expert, 2.5 – 2.9 MB, ")
    assert any(text.startswith("Active parameters, 3.0 B, of 30.5 B") for text in texts)
    assert any(text.startswith("KV cache at 8k, 768 MB") for text in texts)
    assert any(text.startswith("KV cache at 40k, 3.8 GB") and "full" in text for text in texts)
    assert len(view.sizes.class_texts()) == len(qwen.anatomy.types_by_class)
    assert view.sizes.class_texts()[0].startswith("Routed experts, 16.3 GB: Q4_K 12.7 GB")


def test_a_dense_model_has_no_figures_of_experts(view: ModelDetails, tmp_path: Path) -> None:
    file = tmp_path / "dense.gguf"
    write_gguf(file, *dense_model())
    facts = inspect_path(file).facts
    view.show_model(ModelDetailsFacts(facts, anatomy_of(facts), cache_figures(facts)))
    assert not any("expert" in text.lower() for text in view.sizes.figure_texts())
    assert not any("expert" in text.lower() for text in view.sizes.class_texts())
    assert [cache.tokens for cache in cache_figures(facts)] == [4096]


def test_a_quantized_router_is_told_in_words(view: ModelDetails, tmp_path: Path) -> None:
    keys, tensors = moe_model()
    file = tmp_path / "q8.gguf"
    write_gguf(file, keys, [replace(t, type_name="Q8_0") if "gate_inp" in t.name else t for t in tensors])
    facts = inspect_path(file).facts
    before = view.sizes._router.isVisible()
    view.show_model(ModelDetailsFacts(facts, anatomy_of(facts)))
    assert (before, view.sizes._router.isVisible()) == (False, True)
    assert "Q8_0" in view.sizes._router_text.text()


def test_the_preview_is_the_prompt_in_the_language_of_the_window(
    view: ModelDetails, looks: LookSource
) -> None:
    assert view.template.text.toPlainText() == PREVIEW["en"]
    looks.set_look(Look(DARK, Texts("zh_CN")))
    assert view.template.text.toPlainText() == PREVIEW["zh_CN"]
    assert view.template.feature_texts() == ("系统提示词：支持", "工具调用：不支持", "思考：未知")


def test_special_tokens_are_tinted_where_they_stand(view: ModelDetails) -> None:
    tinted = [tint.cursor.selectedText() for tint in view.template.text.extraSelections()]  # type: ignore[attr-defined]
    assert tinted == ["<|im_start|>", "<|im_end|>"]


def test_the_template_itself_is_shown_and_copied_on_request(view: ModelDetails, qtbot: QtBot) -> None:
    view.template.choice.set_current("source")
    view.template.choice.chosen.emit("source")
    assert view.template.text.toPlainText() == "{{ messages }}"
    assert view.template.text.extraSelections() == []
    view.template.copy_button.click()
    assert QGuiApplication.clipboard().text() == "{{ messages }}"


def test_a_real_template_is_tried_and_a_broken_one_gives_chatml(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    good, broken = tmp_path / "good.gguf", tmp_path / "broken.gguf"
    write_gguf(good, keys, tensors)
    write_gguf(broken, {**keys, "tokenizer.chat_template": text("{% for %}")}, tensors)
    tried = template_facts(inspect_path(good))
    assert tried.fault is None
    assert tried.previews["en"].startswith("system: ")
    refused = template_facts(inspect_path(broken))
    assert refused.fault == "broken"
    assert refused.previews["en"].startswith("<|im_start|>system")
    assert refused.source == "{% for %}"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("ffn_down_exps", 48),
        ("/12", 12),
        ("/12-13 exps", 6),
        ("DOWN exps /0", 1),
        ("token_embd", 1),
        ("zzz", 0),
    ],
)
def test_tensors_are_found_by_name_and_layer(
    view: ModelDetails, qtbot: QtBot, words: str, count: int
) -> None:
    found = search(qtbot, view, TENSORS, words)
    assert len(found) == count
    assert view.tensors._nothing.isVisible() is (count == 0)


def test_tensors_are_sorted_by_a_click_on_a_head(
    view: ModelDetails, qtbot: QtBot, qwen: ModelDetailsFacts
) -> None:
    view.show_section(TENSORS)
    own = lines_of(view, TENSORS)
    view.tensors.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: lines_of(view, TENSORS) != own)
    sizes = [view.tensors.rows_model.row_at(line).tensor.size_bytes for line in range(len(own))]
    assert sizes == sorted(sizes, reverse=True)
    view.tensors.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    names = [line.split("\t")[0] for line in lines_of(view, TENSORS)]
    assert names.index("blk.2.attn_k.weight") < names.index("blk.10.attn_k.weight")
    view.tensors.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    assert lines_of(view, TENSORS) == own


def test_selected_rows_are_copied_as_tab_separated_lines(view: ModelDetails, qtbot: QtBot) -> None:
    search(qtbot, view, TENSORS, "/0 exps")
    view.tensors.table.setFocus()
    view.tensors.table.select_line(1)
    with qtbot.waitSignal(view.tensors.rows_copied) as copied:
        qtbot.keyClick(view.tensors.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert copied.args == [1]
    head, line, end = QGuiApplication.clipboard().text().split("\n")
    assert head.split("\t")[0] == "Name"
    assert line == lines_of(view, TENSORS)[1]
    assert end == ""


def test_without_a_selection_all_that_is_found_is_copied(view: ModelDetails, qtbot: QtBot) -> None:
    search(qtbot, view, TENSORS, "/3")
    with qtbot.waitSignal(view.tensors.rows_copied) as copied:
        view.tensors.copy_button.click()
    assert copied.args == [12]


def test_metadata_is_found_by_key_and_by_value(view: ModelDetails, qtbot: QtBot) -> None:
    assert any(line.startswith("qwen3moe.expert_count\tu32\t128") for line in lines_of_all(view, qtbot))
    by_key = search(qtbot, view, METADATA, "expert_used")
    assert [line.split("\t")[:3] for line in by_key] == [["qwen3moe.expert_used_count", "u32", "8"]]
    by_value = search(qtbot, view, METADATA, "Qwen3-30B")
    assert by_value
    assert all("Qwen3-30B" in line for line in by_value)


def lines_of_all(view: ModelDetails, qtbot: QtBot) -> list[str]:
    """Return all metadata."""
    return search(qtbot, view, METADATA, "")


def test_a_value_is_copied_and_opens_whole(view: ModelDetails, qtbot: QtBot) -> None:
    search(qtbot, view, METADATA, "expert_count")
    assert not view.metadata.value_button.isEnabled()
    view.metadata.table.select_line(0)
    view.metadata.value_button.click()
    assert QGuiApplication.clipboard().text() == "128"
    view.metadata.table.setFocus()
    qtbot.keyClick(view.metadata.table, Qt.Key.Key_Return)
    dialog = view.metadata.dialog
    assert dialog is not None
    assert dialog.windowTitle() == "qwen3moe.expert_count"
    assert dialog.isVisible()
    dialog.accept()


def test_metadata_that_cannot_be_read_again_says_why(view: ModelDetails, qwen: ModelDetailsFacts) -> None:
    view.show_section(METADATA)
    view.show_model(replace(qwen, metadata=(), metadata_problem="unreadable"))
    assert "unreadable" in view.metadata._problem.text()
    assert view.metadata._problem.isVisible()


def test_details_of_a_file_that_is_gone_are_empty_and_no_error(view: ModelDetails, tmp_path: Path) -> None:
    details = details_of(tmp_path / "gone.gguf")
    assert (details.metadata, details.tensors.rows, details.caches) == ((), (), ())
    assert details.metadata_problem == "unreadable"
    view.show_model(details)
    assert view.sizes.class_texts() == ()


def test_without_a_model_nothing_is_shown(view: ModelDetails) -> None:
    view.show_model(None)
    assert not view.sizes.isVisible()
    assert not view.choice.isVisible()


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("zoom", [1.0, 1.5])
def test_no_text_is_cut_off(
    looks: LookSource, show: Show, qtbot: QtBot, qwen: ModelDetailsFacts, section: str, zoom: float
) -> None:
    looks.set_look(replace(looks.look, zoom=zoom))
    view = ModelDetails(looks)
    view.show_model(qwen)
    view.show_section(section)
    page = scrolled(view)
    page.resize(round(600 * zoom), 700)
    show(page)
    qtbot.waitUntil(lambda: clipped(view) == [], timeout=3000)
    assert view.width() <= page.viewport().width()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_control_has_a_name(view: ModelDetails, section: str) -> None:
    view.show_section(section)
    kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QAbstractItemView)
    everything: list[Any] = [w for w in parts(view, QWidget) if isinstance(w, kinds) and w.isVisible()]
    controls = [w for w in everything if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert len(controls) >= 3
    nameless = [
        w for w in controls if not w.accessibleName() and not (isinstance(w, QAbstractButton) and w.text())
    ]
    assert nameless == []


def test_a_change_of_language_reaches_every_word(view: ModelDetails, looks: LookSource) -> None:
    view.show_section(TENSORS)
    looks.set_look(Look(DARK, Texts("zh_CN")))
    assert view.sizes.figure_texts()[0].startswith("单个专家，")
    model = view.tensors.rows_model
    assert model.headerData(5, Qt.Orientation.Horizontal) == "所属部分"
    assert model.index(0, 5).data() == "词嵌入"
    assert view.tensors.search.placeholderText().startswith("搜索")
    assert TensorClass.ROUTED_EXPERTS in view.sizes._details.anatomy.types_by_class  # type: ignore[union-attr]


def test_the_sections_are_reached_by_their_words(view: ModelDetails, qtbot: QtBot) -> None:
    for key, widget in ((TENSORS, view.tensors), (METADATA, view.metadata), (TEMPLATE, view.template)):
        view.choice.chosen.emit(key)
        assert widget.isVisible()
