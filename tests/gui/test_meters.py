"""Painted widgets: what is planned never looks like what is measured, and every picture has its words."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.options import EngineOptions
from app.planner.facts import DevicePlan, OffloadPlan
from app.texts import Texts
from app.ui.model_view import ModelPhase
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK
from app.ui.views.layer_cells import cells_of
from app.ui.widgets.context_meter import ContextMeter, short_count
from app.ui.widgets.layer_map import LayerMap
from app.ui.widgets.memory_bar import MemoryBar
from app.ui.widgets.state_dot import DotShape, StateDot, dot_shape
from app.ui.widgets.swatch import Swatch
from tests.gui.look_names import LOOK_NAMES
from tests.planner_models import MIB, moe_facts

GIB = 1024**3
Show = Callable[[QWidget], QWidget]
FACTS = moe_facts(blocks=12, expert_bytes=350 * MIB, other_bytes=12 * MIB)


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def colors_in(image: QImage, box: QRect | None = None) -> dict[str, int]:
    """Count the colours of an image."""
    counts: dict[str, int] = {}
    area = image.rect() if box is None else box.intersected(image.rect())
    for x in range(area.left(), area.right() + 1):
        for y in range(area.top(), area.bottom() + 1):
            name = image.pixelColor(x, y).name().upper()
            counts[name] = counts.get(name, 0) + 1
    return counts


@pytest.fixture
def bar(looks: LookSource, show: Show) -> MemoryBar:
    result = MemoryBar(looks)
    result.resize(480, 20)
    show(result)
    return result


def test_what_is_measured_is_filled_and_what_is_planned_is_hatched(bar: MemoryBar, looks: LookSource) -> None:
    tier = looks.look.colors.tier_vram
    bar.show_memory("GPU", 12 * GIB, GIB, 9 * GIB, 9 * GIB, "vram")
    filled = colors_in(picture(bar)).get(tier, 0)
    bar.show_memory("GPU", 12 * GIB, GIB, None, 9 * GIB, "vram")
    hatched = colors_in(picture(bar)).get(tier, 0)
    assert filled > 1500
    assert hatched < filled / 4


def test_memory_of_other_programs_is_grey(bar: MemoryBar, looks: LookSource) -> None:
    bar.show_memory("GPU", 12 * GIB, 6 * GIB, None, None, "vram")
    counts = colors_in(picture(bar))
    assert counts[looks.look.colors.tier_other] > 900
    assert looks.look.colors.tier_vram not in counts


def test_a_part_already_loaded_is_filled_up_to_where_it_is(bar: MemoryBar, looks: LookSource) -> None:
    tier = looks.look.colors.tier_vram
    counts = []
    for loaded in (2 * GIB, 4 * GIB, 8 * GIB):
        bar.show_memory("GPU", 12 * GIB, 0, loaded, 8 * GIB, "vram")
        counts.append(colors_in(picture(bar)).get(tier, 0))
    assert counts == sorted(counts)
    assert counts[2] > 3 * counts[0]


def test_the_bar_says_its_figures(bar: MemoryBar) -> None:
    bar.show_memory("GPU", 12 * GIB, int(0.6 * GIB), int(10.2 * GIB), int(10.1 * GIB), "vram")
    assert bar.accessibleName() == "GPU"
    expected = "10.8 / 12.0 GB, other programs 0.6 GB, this model 10.2 GB, plan 10.7"
    assert bar.accessibleDescription() == expected


def test_a_plan_beyond_the_memory_is_said_and_marked(bar: MemoryBar, looks: LookSource) -> None:
    bar.show_memory("GPU", 12 * GIB, GIB, None, 14 * GIB, "vram")
    assert bar.accessibleDescription().endswith("the plan is larger than this memory")
    assert looks.look.colors.danger in colors_in(picture(bar))


def test_an_unknown_memory_is_a_dash(bar: MemoryBar) -> None:
    bar.show_memory("GPU", None, None, None, None, "vram")
    assert bar.accessibleDescription() == "—"
    picture(bar)


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_every_phase_has_a_word_and_is_painted(looks: LookSource, show: Show) -> None:
    dot = StateDot(looks)
    show(dot)
    empty = len(colors_in(picture(QWidget())))
    for phase in ModelPhase:
        dot.show_phase(phase)
        assert dot.accessibleName()
        assert len(colors_in(picture(dot))) > empty


def test_idle_working_ready_and_failed_differ_in_shape() -> None:
    phases = (ModelPhase.NONE, ModelPhase.LOADING, ModelPhase.READY, ModelPhase.FAILED)
    assert [dot_shape(phase) for phase in phases] == list(DotShape)


@pytest.mark.parametrize(
    ("used", "color"), [(13_000, "accent"), (13_200, "warning_text"), (15_600, "danger")]
)
def test_the_context_meter_turns_amber_and_red(looks: LookSource, used: int, color: str) -> None:
    meter = ContextMeter(looks)
    meter.show_use(used, 16_384)
    assert meter.color_name == color


def test_the_context_meter_says_how_full_it_is(looks: LookSource) -> None:
    meter = ContextMeter(looks)
    assert meter.isHidden()
    meter.show_use(5_222, 16_384)
    assert not meter.isHidden()
    assert meter.accessibleDescription() == "Context 32% full: 5,222 of 16,384 tokens"
    assert [short_count(n) for n in (None, 12, 5_222, 16_384, 1024)] == [None, "12", "5.1k", "16k", "1k"]


@pytest.fixture
def layer_map(looks: LookSource, show: Show) -> LayerMap:
    result = LayerMap(looks)
    result.resize(600, result.sizeHint().height())
    result.show_layers(cells_of(FACTS, EngineOptions(n_cpu_moe=5)))
    result.resize(600, result.sizeHint().height())
    show(result)
    return result


def test_tiers_differ_in_colour_and_in_pattern(looks: LookSource, show: Show) -> None:
    pictures = []
    for tier in ("vram", "ram", "disk"):
        swatch = Swatch(looks, tier)
        show(swatch)
        pictures.append(picture(swatch))
    grounds = [colors_in(image, QRect(3, 3, 6, 6)) for image in pictures]
    assert list(grounds[0]) == [looks.look.colors.tier_vram]
    assert {looks.look.colors.tier_ram, looks.look.colors.raised} <= grounds[1].keys()  # the notch
    assert len(grounds[2]) > 3  # smooth diagonals


def test_the_map_has_a_column_for_each_layer_in_its_tier(layer_map: LayerMap, looks: LookSource) -> None:
    counts = colors_in(picture(layer_map))
    assert counts[looks.look.colors.tier_ram] > 3000
    assert counts[looks.look.colors.tier_vram] > counts[looks.look.colors.tier_ram]
    assert layer_map.accessibleDescription().startswith("12 layers. Their experts: 7 in VRAM, 5 in RAM")


def test_arrow_keys_select_layers_and_say_their_figures(layer_map: LayerMap, qtbot: QtBot) -> None:
    selected: list[int] = []
    layer_map.layer_selected.connect(selected.append)
    layer_map.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_End, Qt.Key.Key_Left, Qt.Key.Key_Home):
        qtbot.keyClick(layer_map, key)
    assert selected == [0, 1, 11, 10, 0]
    expected = "Layer 0, Experts 350 MB in RAM, Attention and the rest 12 MB in VRAM"
    assert layer_map.accessibleDescription() == expected


def test_the_mouse_selects_the_layer_under_it(layer_map: LayerMap, qtbot: QtBot) -> None:
    qtbot.mouseMove(layer_map, QPoint(590, 20))
    qtbot.waitUntil(lambda: layer_map.selected_layer == 11)


def test_a_selected_layer_is_ringed(layer_map: LayerMap, qtbot: QtBot) -> None:
    before = picture(layer_map)
    qtbot.keyClick(layer_map, Qt.Key.Key_End)
    assert picture(layer_map) != before


def test_experts_on_disk_and_mtp_blocks_are_drawn_and_named(layer_map: LayerMap, looks: LookSource) -> None:
    layers = (*FACTS.layers[:-1], replace(FACTS.layers[-1], is_mtp=True))
    devices = (DevicePlan("GPU0", 1, 1), DevicePlan("CPU", 1, 1))
    plan = OffloadPlan(EngineOptions(n_cpu_moe=5), devices, 0, 700 * MIB, 0, 0, None)
    without = picture(layer_map)
    layer_map.show_layers(cells_of(replace(FACTS, layers=layers), plan))
    assert picture(layer_map) != without
    cells = cells_of(replace(FACTS, layers=layers), plan)
    assert "40% of its experts are read from disk" in layer_map.layer_words(cells[0])
    assert "MTP" in layer_map.layer_words(cells[-1])


@pytest.mark.parametrize("blocks", [1, 2, 48, 94, 400])
def test_any_number_of_layers_fits_the_dock(looks: LookSource, show: Show, blocks: int) -> None:
    layer_map = LayerMap(looks)
    layer_map.show_layers(cells_of(moe_facts(blocks=blocks), EngineOptions(n_cpu_moe=blocks // 2)))
    layer_map.resize(302, layer_map.sizeHint().height())
    show(layer_map)
    assert looks.look.colors.tier_vram in colors_in(picture(layer_map))


def test_a_map_without_layers_says_so(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    layer_map = LayerMap(looks)
    show(layer_map)
    qtbot.keyClick(layer_map, Qt.Key.Key_Right)
    assert layer_map.selected_layer is None
    assert layer_map.accessibleDescription() == "No layers to show"


def test_the_words_follow_the_language(bar: MemoryBar, layer_map: LayerMap, looks: LookSource) -> None:
    bar.show_memory("GPU", 12 * GIB, GIB, None, 9 * GIB, "vram")
    looks.set_look(Look(DARK, Texts("zh_CN")))
    assert "方案" in bar.accessibleDescription()
    assert layer_map.accessibleName() == "层分布图"
    assert QColor(looks.look.colors.tier_vram).name().upper() in colors_in(picture(layer_map))
