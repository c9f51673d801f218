"""The model palette."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme.look import LookSource
from app.ui.views.model_palette import ModelPalette
from app.ui.views.palette_rows import FileRow, HeadRow, PaletteModel, palette_rows

Show = Callable[[QWidget], QWidget]

QWEN = PaletteModel(Path("models/Qwen3-30B-A3B.gguf"), "Qwen3-30B-A3B", "Q4_K · 17.3 GB", "recent")
DEEPSEEK = PaletteModel(Path("models/ds.gguf"), "DeepSeek-V2-Lite", "Q4_K_M · 9.7 GB", "found")
DEMO = PaletteModel(Path("demo.gguf"), "SmolLM2 MoE", "447 MB", "default")
MODELS = (DEEPSEEK, QWEN, DEMO)


@pytest.fixture
def palette(looks: LookSource, show: Show) -> ModelPalette:
    """The palette, open with three models."""
    anchor = QWidget()
    anchor.resize(300, 60)
    show(anchor)
    widget = ModelPalette(looks, anchor)
    widget.show_models(MODELS)
    widget.open_at(anchor)
    return widget


def selected(palette: ModelPalette) -> object:
    """Return the row Enter would take."""
    return palette.rows.row_at(palette.list.currentIndex())


def test_groups_stand_in_order_and_the_file_dialog_is_last() -> None:
    rows = palette_rows(MODELS, "")
    assert rows == (
        HeadRow("recent"), QWEN, HeadRow("found"), DEEPSEEK, HeadRow("default"), DEMO, FileRow(),
    )  # fmt: skip


def test_a_model_in_two_groups_is_shown_once() -> None:
    twice = PaletteModel(QWEN.path, QWEN.name, QWEN.detail, "found")
    assert palette_rows((QWEN, twice), "") == (HeadRow("recent"), QWEN, FileRow())


def test_words_are_looked_for_in_name_detail_and_file() -> None:
    assert palette_rows(MODELS, "SEEK lite") == (HeadRow("found"), DEEPSEEK, FileRow())
    assert palette_rows(MODELS, "17.3") == (HeadRow("recent"), QWEN, FileRow())
    assert palette_rows(MODELS, "ds.gguf") == (HeadRow("found"), DEEPSEEK, FileRow())
    assert palette_rows(MODELS, "nothing") == (FileRow(),)


def test_the_first_model_is_selected_and_enter_picks_it(palette: ModelPalette, qtbot: QtBot) -> None:
    assert selected(palette) == QWEN
    with qtbot.waitSignal(palette.picked) as picked:
        qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert picked.args == [QWEN.path]
    assert palette.isHidden()


def test_arrows_in_the_search_field_move_past_the_heads(palette: ModelPalette, qtbot: QtBot) -> None:
    qtbot.keyClick(palette.search, Qt.Key.Key_Down)
    assert selected(palette) == DEEPSEEK
    qtbot.keyClick(palette.search, Qt.Key.Key_Down)
    qtbot.keyClick(palette.search, Qt.Key.Key_Down)
    assert selected(palette) == FileRow()
    qtbot.keyClick(palette.search, Qt.Key.Key_Down)
    assert selected(palette) == FileRow()
    qtbot.keyClick(palette.search, Qt.Key.Key_Up)
    assert selected(palette) == DEMO


def test_typing_narrows_and_enter_takes_what_is_left(palette: ModelPalette, qtbot: QtBot) -> None:
    qtbot.keyClicks(palette.search, "smol")
    with qtbot.waitSignal(palette.picked) as picked:
        qtbot.keyClick(palette.search, Qt.Key.Key_Enter)
    assert picked.args == [DEMO.path]


def test_escape_closes_and_picks_nothing(palette: ModelPalette, qtbot: QtBot) -> None:
    picked: list[object] = []
    palette.picked.connect(picked.append)
    qtbot.keyClicks(palette.search, "smol")
    qtbot.keyClick(palette.search, Qt.Key.Key_Escape)
    assert palette.isHidden()
    assert picked == []


def test_the_last_row_leads_to_a_file(palette: ModelPalette, qtbot: QtBot) -> None:
    qtbot.keyClicks(palette.search, "no such model")
    assert "no such model" in palette._nothing.text()
    with qtbot.waitSignal(palette.file_requested):
        qtbot.keyClick(palette.search, Qt.Key.Key_Return)


def test_it_opens_with_an_empty_search_every_time(palette: ModelPalette, qtbot: QtBot) -> None:
    qtbot.keyClicks(palette.search, "smol")
    palette.close()
    anchor = palette.parentWidget()
    assert anchor is not None
    palette.open_at(anchor)
    assert palette.search.text() == ""
    assert selected(palette) == QWEN


def test_without_models_it_says_what_to_do(palette: ModelPalette) -> None:
    palette.show_models(())
    assert not palette._nothing.isHidden()
    assert "Choose a file" in palette._nothing.text()


@pytest.mark.parametrize("is_see_through", [True, False])
def test_its_corners_are_seen_through_or_its_own(looks: LookSource, show: Show, is_see_through: bool) -> None:
    anchor = QWidget()
    show(anchor)
    palette = ModelPalette(looks, anchor, is_see_through=is_see_through)
    palette.show_models(MODELS)
    palette.open_at(anchor)
    assert palette.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground) is is_see_through
    image = QImage(palette.size(), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    palette.render(image, QPoint(), renderFlags=QWidget.RenderFlag.DrawChildren)
    assert (image.pixelColor(0, 0).alpha() == 0) is is_see_through
