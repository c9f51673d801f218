"""The Models page over real files and the real wiring: looked at, planned, judged, loaded, compared."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.findings import FindingCode
from app.gguf.display_name import file_title
from app.gguf.facts import FileKind
from app.gguf.inspect_file import inspect_path
from app.gguf.reader import read_header
from app.hardware.facts import GpuInfo
from app.paths import settings_file
from app.planner.facts import Wishes
from app.settings import Settings, load_settings
from app.texts import LANGUAGES
from app.ui.main_window import MODELS
from app.ui.model_page_view import Verdict
from app.ui.model_view import ModelPhase
from app.ui.program import Ports
from app.ui.views.library_facts import Fit
from app.ui.views.models_page import ModelsPage
from app.ui.wiring_library import LibraryWiring
from tests.builders import dense_model
from tests.controller_setup import write_model
from tests.fakes import GIB, FakeGpuSource, FakeHostSource
from tests.gguf_bytes import Tensor, text, write_gguf
from tests.gui.page_parts import clipped
from tests.models.giants import giant_named, write_giant
from tests.models.tiny import write_tiny
from tests.window_driver import FakeDesktop, FakeInhibitor, WindowDriver, make_program

CARD = GpuInfo(0, "A card", "nvidia", vram_total_bytes=12 * GIB, vram_free_bytes=11 * GIB)
SETTLE_MS = 3000
SIZES = ((1366, 768), (1440, 900))


@pytest.fixture
def desktop() -> FakeDesktop:
    return FakeDesktop()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder as people have it: a MoE, a dense model, a projector, a broken file, a web page."""
    folder = tmp_path / "模型 models"
    folder.mkdir()
    write_giant(giant_named("GLM-4.5-Air"), folder, parts=2)
    write_gguf(folder / "dense-F16.gguf", *dense_model())
    tiny = write_tiny("llama", folder / "tiny-Q8_0.gguf")
    (folder / "half.gguf").write_bytes(tiny.read_bytes()[: tiny.stat().st_size // 2])
    (folder / "page.gguf").write_text("<!DOCTYPE html><html>Sign in</html>")
    keys = {"general.architecture": text("clip"), "general.type": text("mmproj")}
    write_gguf(folder / "mmproj-F16.gguf", keys, [Tensor("v.blk.0.attn_q.weight", (32, 32))])
    return folder


@pytest.fixture
def driver(
    qtbot: QtBot, qapp: QApplication, data_home: Path, desktop: FakeDesktop, library: Path, tmp_path: Path
) -> Iterator[WindowDriver]:
    others = tmp_path / ".lmstudio" / "models"
    others.mkdir(parents=True)
    write_model(others, "theirs.gguf")
    ports = Ports(
        FakeGpuSource([CARD]),
        FakeHostSource(),
        lambda _parent: desktop,
        lambda _reason: FakeInhibitor(),
        model_folders=lambda: (others,),
    )
    settings = Settings(engine="echo", language="en", library_paths=(str(library),))
    driver = WindowDriver(qtbot, make_program(qapp, ports, settings))
    driver.program.window.resize(*SIZES[0])
    driver.show()
    yield driver
    driver.delete()


@pytest.fixture
def page(driver: WindowDriver) -> ModelsPage:
    """The page, opened, with everything found."""
    driver.program.window.show_place(MODELS)
    wiring = wiring_of(driver)
    driver.wait_for(lambda: len(wiring.library.models) == 7 and not wiring.library.is_searching)
    return driver.program.window.models_page


def wiring_of(driver: WindowDriver) -> LibraryWiring:
    return driver.program._library_wiring


def choose(driver: WindowDriver, name: str) -> None:
    """Select a model in the list and wait until it was looked at and the engine has answered."""
    page, wiring = driver.program.window.models_page, wiring_of(driver)
    path = next(model.path for model in wiring.library.models if name in model.path.name)
    number = page.list.rows.number_of(path)
    assert number is not None
    page.list.list.setCurrentIndex(page.list.rows.index(number))
    driver.wait_for(lambda: wiring.shown.view.path == path and not wiring.shown.view.is_checking)
    driver.wait_for(lambda: wiring.shown.view.verdict is not Verdict.ASKING)
    driver.wait_for(lambda: page.is_settled)


def cut_off(page: ModelsPage) -> list[str]:
    """Return texts without room."""
    parts = (page.head, page.state, page.layers, page.steps, page.findings, page.truth, page.details)
    return [text for part in parts for text in clipped(part)]


def words_of(part: QWidget) -> str:
    """Return everything that a part of the page says."""
    labels: list[QLabel] = []
    labels += part.findChildren(QLabel)
    return "\n".join(label.text() for label in labels if label.isVisible())


def test_what_is_found_is_judged_by_the_planner(driver: WindowDriver, page: ModelsPage) -> None:
    models = {file_title(model.path): model for model in wiring_of(driver).library.models}
    assert {title: model.name for title, model in models.items()} == {
        "GLM-4.5-Air": "GLM-4.5-Air",
        "dense-F16": "case",
        "half": "tiny-llama",
        "mmproj-F16": "mmproj",
        "page": "page",
        "theirs": "case",
        "tiny-Q8_0": "tiny-llama",
    }
    assert models["GLM-4.5-Air"].part_count == 2
    assert models["mmproj-F16"].kind is FileKind.PROJECTOR
    assert not models["mmproj-F16"].has_errors
    assert models["half"].has_errors and models["page"].has_errors
    assert models["theirs"].program == "lm-studio"
    fits = wiring_of(driver).library._fits
    driver.wait_for(lambda: models["dense-F16"].path in fits and models["GLM-4.5-Air"].path in fits)
    assert fits[models["dense-F16"].path] is Fit.FITS
    assert fits[models["GLM-4.5-Air"].path] is Fit.SSD


def test_a_moe_model_is_shown_layer_by_layer_without_loading_it(
    driver: WindowDriver, page: ModelsPage, qtbot: QtBot
) -> None:
    choose(driver, "GLM")
    view = wiring_of(driver).shown.view
    assert driver.view.phase is ModelPhase.NONE
    head = words_of(page.head)
    assert "GLM-4.5-Air  Q4_K" in head
    assert "46 layers · 128 experts, 8 used + 1 shared · context 128k" in head
    assert page.head.load.text() == "Load with plan Fast"
    assert len(page.layers.map.row_amounts()) == 3
    assert "8 of 128 answer each token" in page.layers.foot.text()
    assert view.plan is not None and view.plan.disk_bytes > 0
    assert "from disk" in page.layers.foot.text()
    page.layers.map.setFocus()
    for _ in range(4):
        qtbot.keyClick(page.layers.map, Qt.Key.Key_Right)
    assert page.layers.foot.text().startswith("Layer 3: attention ")
    assert "routed experts" in page.layers.foot.text()
    found = words_of(page.findings)
    assert "warning" in found
    assert "Both parts of the file are here and complete." in found
    assert "tok/s" not in words_of(page.steps)  # no bandwidth was measured here


def test_another_step_moves_layers_and_the_load_button(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "GLM")
    shown = wiring_of(driver).shown
    before = page.layers._legend
    fast = {tier: label.text() for tier, label in before.items()}
    driver.click(page.steps.cards[1].use)
    driver.wait_for(lambda: page.is_settled)
    assert page.head.load.text() == "Load with plan Safe"
    assert shown.view.plan is not None
    assert shown.view.plan.options == shown.view.steps[1].options
    assert {tier: label.text() for tier, label in before.items()} != fast


def test_a_dense_model_has_no_experts_anywhere(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "dense")
    assert "Dense" in words_of(page.head)
    assert len(page.layers.map.row_amounts()) == 2
    assert "experts" not in page.layers.foot.text().casefold()
    assert "All weights answer each token" in page.layers.foot.text()


@pytest.mark.engine
def test_the_engine_is_asked_unbidden_and_says_yes(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "tiny")
    assert wiring_of(driver).shown.view.verdict is Verdict.ACCEPTED
    assert "The engine accepts this file." in words_of(page.findings)
    assert driver.engines() == []


@pytest.mark.engine
def test_a_broken_file_says_why_and_so_does_the_engine(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "half")
    assert page.layers.isHidden() and page.steps.isHidden() and page.head.load.isHidden()
    assert "This file cannot be loaded" in words_of(page.state)
    assert wiring_of(driver).shown.view.failure is not None
    assert "1 error" in words_of(page.findings)
    assert "The file is complete." not in words_of(page.findings)
    assert "The engine refuses this file." in words_of(page.findings)


def test_weights_are_sampled_unbidden_and_read_in_full_on_request(
    driver: WindowDriver, page: ModelsPage
) -> None:
    choose(driver, "tiny")
    shown, line = wiring_of(driver).shown, page.findings.weights
    driver.wait_for(lambda: shown.view.weights.check is not None)
    assert "Weights sampled: no NaN" in words_of(line)
    driver.click(line.check)
    driver.wait_for(lambda: shown.view.weights.check is not None and shown.view.weights.check.is_full)
    assert "All weights were read: no NaN" in words_of(line)
    assert line.check.isHidden() and line.cancel.isHidden()


def test_a_file_of_nothing_but_zeros_is_not_called_sound(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "GLM")
    shown, line = wiring_of(driver).shown, page.findings.weights
    driver.wait_for(lambda: shown.view.weights.check is not None)
    assert FindingCode.WEIGHTS_ALL_ZERO in {finding.code for finding in shown.view.all_findings}
    assert "is not in order" in words_of(line)
    driver.click(line.check)  # some 60 GB: there is time to think better of it
    driver.wait_for(lambda: line.progress.isVisible() and line.cancel.isVisible())
    driver.click(line.cancel)
    assert shown.view.weights.progress is None
    driver.wait_for(lambda: page.is_settled)
    assert "is not in order" in words_of(line)


def test_weights_that_are_no_numbers_stop_a_load_before_it(
    driver: WindowDriver, page: ModelsPage, library: Path
) -> None:
    file = write_tiny("llama", library / "nan.gguf")
    tensor = next(t for t in inspect_path(file).facts.tensors if t.name == "output_norm.weight")
    with file.open("r+b") as stream:
        stream.seek(read_header(file).data_offset + tensor.offset_bytes)
        stream.write(b"\x00\x00\xc0\x7f" * 4)
    wiring_of(driver).look()
    driver.wait_for(lambda: file in {model.path for model in wiring_of(driver).library.models})
    choose(driver, "nan")
    failed = FindingCode.WEIGHTS_NOT_FINITE
    driver.wait_for(lambda: failed in {f.code for f in wiring_of(driver).shown.view.all_findings})
    assert page.head.load.isHidden()
    driver.program.model.pick(file)
    driver.wait_for_phase(ModelPhase.FAILED)
    assert driver.view.failure is not None and driver.view.failure.code is failed


def test_a_projector_says_what_it_is(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "mmproj")
    assert "A projector, not a chat model" in words_of(page.state)
    assert page.findings.engine.isHidden()
    choose(driver, "page")
    assert "This file cannot be loaded" in words_of(page.state)
    assert wiring_of(driver).shown.view.findings[0].code is FindingCode.NOT_GGUF


def test_only_the_model_chosen_last_is_shown(driver: WindowDriver, page: ModelsPage) -> None:
    wiring = wiring_of(driver)
    paths = [model.path for model in wiring.library.models]
    for path in (*paths, *paths):
        wiring.shown.show(path)
    driver.wait_for(lambda: not wiring.shown.view.is_checking)
    assert wiring.shown.view.facts is not None
    assert wiring.shown.view.facts.path == paths[-1]


def test_a_file_that_goes_away_can_be_checked_again(
    driver: WindowDriver, page: ModelsPage, library: Path
) -> None:
    file = library / "dense-F16.gguf"
    content = file.read_bytes()
    choose(driver, "theirs")
    file.unlink()
    choose(driver, "dense")
    assert "This file cannot be read" in words_of(page.state)
    file.write_bytes(content)
    driver.click(page.state.again)
    driver.wait_for(lambda: bool(wiring_of(driver).shown.view.plans))
    assert page.state.isHidden()


def test_the_load_button_loads_this_file_and_the_table_fills(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "theirs")
    assert "not loaded yet" in words_of(page.truth)
    driver.click(page.steps.cards[-1].use)
    step = wiring_of(driver).shown.view.step
    driver.click(page.head.load)
    driver.wait_for_phase(ModelPhase.READY)
    assert step is not None and driver.view.asked == step.options
    driver.wait_for(lambda: wiring_of(driver).shown.view.is_loaded)
    assert "last load" in words_of(page.truth)
    assert page.head.load.isHidden()
    driver.program.model.unload()
    driver.wait_for_phase(ModelPhase.PLANNED)
    assert not wiring_of(driver).shown.view.is_loaded
    assert "last load" in words_of(page.truth)
    choose(driver, "dense")
    assert "not loaded yet" in words_of(page.truth)


def test_a_finding_that_other_wishes_mend_is_mended_on_the_page(
    driver: WindowDriver, page: ModelsPage
) -> None:
    choose(driver, "dense")
    shown = wiring_of(driver).shown
    shown.set_wishes(Wishes(n_ctx=10_000_000))
    code = FindingCode.CONTEXT_BEYOND_MODEL
    driver.wait_for(lambda: any(finding.code is code for finding in shown.view.findings))
    found = next(finding for finding in shown.view.findings if finding.code is code)
    page.finding_action_requested.emit(found)
    assert shown.view.wishes.n_ctx == found.values["context_length"]
    driver.wait_for(lambda: not shown.view.is_checking)
    assert all(finding.code is not code for finding in shown.view.findings)


def test_what_is_added_is_looked_at_and_remembered(
    driver: WindowDriver, page: ModelsPage, desktop: FakeDesktop, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    (more / "deep").mkdir(parents=True)
    added = write_model(more / "deep", "added.gguf")
    desktop.chosen = more
    driver.click(page.list.add_folder)
    driver.wait_for(lambda: added in {model.path for model in wiring_of(driver).library.models})
    driver.program.preferences.save_now()
    driver.wait_for(lambda: str(more) in load_settings(settings_file())[0].library_paths)


def test_the_palette_offers_the_same_models(driver: WindowDriver, page: ModelsPage) -> None:
    palette = driver.program.window.palette_popup
    driver.wait_for(
        lambda: {model.name for model in palette._models} >= {"case", "GLM-4.5-Air", "tiny-llama"}
    )
    assert "mmproj" not in {model.name for model in palette._models}


def test_two_models_stand_side_by_side(driver: WindowDriver, page: ModelsPage) -> None:
    choose(driver, "GLM")
    driver.wait_for(lambda: page.head.compare.isEnabled())
    driver.click(page.head.compare)
    assert page.compare_popup.isVisible()
    page.compare_popup.search.setText("theirs")
    page.compare_popup.list.clicked.emit(page.compare_popup.list.currentIndex())
    driver.wait_for(lambda: page.comparison.isVisible())
    assert "GLM-4.5-Air" in words_of(page.comparison)
    driver.click(page.comparison.back)
    assert page.head.isVisible()


def test_nothing_found_says_what_to_do(
    driver: WindowDriver, page: ModelsPage, desktop: FakeDesktop, tmp_path: Path
) -> None:
    page.empty.show_state(has_models=False)
    wiring_of(driver).shown.show(None)
    assert page.empty.isVisible()
    assert "No models found" in words_of(page.empty)
    desktop.chosen = tmp_path
    driver.click(page.empty.folder)
    driver.wait_for(lambda: str(tmp_path) in driver.program.preferences.settings.library_paths)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off(
    driver: WindowDriver, page: ModelsPage, qtbot: QtBot, language: str, size: tuple[int, int]
) -> None:
    window = driver.program.window
    window.resize(*size)
    for name in ("GLM", "dense", "half", "mmproj"):
        choose(driver, name)
        driver.program.preferences.set(language=language, theme="dark" if name == "GLM" else "light")
        qtbot.waitUntil(lambda: cut_off(page) == [], timeout=SETTLE_MS)
        assert window.size().width() == size[0]
