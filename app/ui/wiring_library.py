"""Joins the library and the shown model with the Models page, the palette and the model that is loaded."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.engine.dry_run import WORKER
from app.engine.packs import choose_engine
from app.findings import Finding
from app.gguf.facts import FileKind
from app.paths import data_folder
from app.ui.controllers.library_controller import LibraryController
from app.ui.controllers.library_jobs import LibraryPlaces, LibraryPorts
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.model_details_job import details_of
from app.ui.controllers.model_jobs import ModelPorts
from app.ui.controllers.shown_model import ShownModel
from app.ui.main_window import CHAT, MODELS
from app.ui.model_page_view import ModelPageView, Verdict
from app.ui.model_view import BUSY_PHASES, ModelPhase, ModelView
from app.ui.parts import Parts
from app.ui.theme.look import Look
from app.ui.views.finding_actions import finding_wishes
from app.ui.views.library_facts import LibraryModel
from app.ui.views.model_details.comparison_rows import Comparison, comparison_of
from app.ui.views.model_details.facts import ModelDetailsFacts
from app.ui.views.model_list_rows import detail_words
from app.ui.views.palette_rows import PaletteModel
from app.ui.wiring_model import ModelWiring
from app.ui.wiring_places import PlaceActions, PlacesWiring

SUMMARIES_NAME = "models.sqlite3"


class LibraryWiring(QObject):
    """Finds, shows, judges and hands over to be loaded. GUI thread."""

    def __init__(self, parts: Parts, model: ModelController, model_wiring: ModelWiring) -> None:
        super().__init__()
        self._parts = parts
        self._model = model
        self._model_wiring = model_wiring
        self._page = parts.window.models_page
        self._loads: dict[Path, tuple[ModelView, str]] = {}  # of this session, the last one of each file
        self._in_force: Path | None = None
        machine = parts.machine
        ports = LibraryPorts(machine.fresh_budget, data_folder() / SUMMARIES_NAME, parts.model_folders)
        self.library = LibraryController(parts.tasks, ports)
        checks = ModelPorts(
            machine.fresh_budget,
            language=lambda: parts.preferences.language,
            seen=lambda: machine.seen,
            choose=lambda name, _: choose_engine(name, parts.preferences.settings.engine),
            memory=parts.plan_memory,
        )
        self.shown = ShownModel(parts.tasks, checks)
        actions = PlaceActions(self.look, self._show, model_wiring.open_path, self._start)
        self._places = PlacesWiring(parts, actions)
        self._connect_library()
        self._connect_page()
        self._connect_model()
        parts.preferences.changed.connect(self._on_preferences_changed)
        self._on_preferences_changed()

    def close(self) -> None:
        """Give up what is under way."""
        self.library.close()
        self.shown.close()

    @Slot()
    def look(self) -> None:
        """Look for models, and what has become of those that are known."""
        settings = self._parts.preferences.settings
        places = LibraryPlaces(
            tuple(map(Path, settings.library_paths)), tuple(map(Path, settings.recent_models))
        )
        self.library.look(places)

    def show_new(self, path: Path) -> None:
        """Show a file that was just made, and have it found."""
        if self._parts.window.place == MODELS:
            self._show(path)
        self.look()

    def look_again(self, path: Path) -> None:
        """Look anew at one file: it, or what is given with it, has changed."""
        self.library.judge_again(path)
        if self.shown.view.path == path or _path_of(self.shown.view) == path:
            self.shown.look_again()
        self.look()
        self._page.list.tell_seen()

    def _connect_library(self) -> None:
        page = self._page
        self.library.models_changed.connect(self._on_models_changed)
        self.library.fits_changed.connect(page.list.show_fits)
        page.list.rows_seen.connect(self.library.want_fits)
        page.list.model_chosen.connect(self.shown.show)
        page.list.opened.connect(self._on_opened)
        page.list.again_requested.connect(self._on_again_requested)
        page.shown.connect(self._on_page_shown)
        self._parts.window.model_bar.pick_requested.connect(self.look)

    def _connect_page(self) -> None:
        page, shown = self._page, self.shown
        shown.view_changed.connect(self._on_view_changed)
        shown.details_changed.connect(page.show_details)
        page.compare_popup.picked.connect(self._compare)
        page.compare_popup.file_requested.connect(self._on_compare_file_requested)
        page.load_requested.connect(self._on_load_requested)
        page.chat_requested.connect(partial(self._parts.window.show_place, CHAT))
        page.step_chosen.connect(shown.choose_step)
        page.finding_action_requested.connect(self._on_finding_action)
        page.engine_requested.connect(shown.ask_engine)
        page.weights_requested.connect(shown.weights.check_all)
        page.weights_cancelled.connect(shown.weights.cancel)
        page.again_requested.connect(shown.look_again)
        page.folder_requested.connect(self._on_show_folder)

    def _connect_model(self) -> None:
        window = self._parts.window
        self._model.view_changed.connect(self._on_model_changed)
        window.palette_popup.picked.connect(self._on_path_opened)

    @Slot()
    def _on_preferences_changed(self) -> None:
        engine = self._parts.preferences.settings.engine
        self.shown.set_loads_elsewhere(loads_elsewhere=engine not in (None, WORKER.name))

    def _show(self, path: Path) -> None:
        self.shown.show(path)
        self._page.list.choose(path)

    @Slot()
    def _on_page_shown(self) -> None:
        self._page.list.list.setFocus()
        if self.shown.view.path is None:
            self._choose_one()
        self.look()

    def _choose_one(self) -> None:
        picked = self._model.view.facts
        path = picked.path if picked is not None else self._page.list.first_path
        if path is not None:
            self._show(path)

    def _on_models_changed(self, models: tuple[LibraryModel, ...], is_searching: bool) -> None:
        page = self._page
        page.list.show_models(models, is_searching=is_searching)
        page.empty.show_state(has_models=bool(models) or is_searching)
        if not is_searching:
            said = self._parts.looks.look
            self._parts.tasks.run_in_background(partial(_palette_rows, said, models), self._on_palette_rows)
        if not is_searching and self.shown.view.path is None and page.isVisible():
            self._choose_one()

    def _on_palette_rows(self, rows: tuple[PaletteModel, ...]) -> None:
        self._model_wiring.show_found(rows)
        self._page.compare_popup.show_models(rows)

    def _on_view_changed(self, view: ModelPageView) -> None:
        self._page.show_view(view)
        path = _path_of(view)
        if path is not None and view.verdict in (Verdict.ACCEPTED, Verdict.REFUSED):
            self.library.set_refused(path, is_refused=view.is_refused)
        self._tell_load()

    def _tell_load(self) -> None:
        key = _path_of(self.shown.view)
        self.shown.set_load(*self._loads.get(key, (None, "")) if key is not None else (None, ""))

    def _on_model_changed(self, view: ModelView) -> None:
        path = view.facts.path if view.facts is not None else None
        self.shown.set_may_ask(may_ask=view.phase not in BUSY_PHASES)
        if view.is_loaded and path is not None:
            kept = replace(view, phase=ModelPhase.READY, tokens_per_second=None)
            before, at = self._loads.get(path, (None, ""))
            if before is None or self._in_force != path:
                at = datetime.now().strftime("%H:%M")
            self._loads[path] = (kept, at)
            self._set_in_force(path)
        elif self._in_force is not None and view.phase is not ModelPhase.UNLOADING:
            kept, at = self._loads[self._in_force]
            self._loads[self._in_force] = (replace(kept, phase=ModelPhase.PLANNED), at)
            self._set_in_force(None)
        self._tell_load()

    def _set_in_force(self, path: Path | None) -> None:
        if path != self._in_force:
            self._in_force = path
            self.library.forget_fits()  # what is loaded takes memory that others cannot have

    def _on_path_opened(self, path: Path) -> None:
        if self._parts.window.place == MODELS:
            self._show(path.absolute())

    @Slot(object)
    def _on_opened(self, path: Path) -> None:
        self._show(path)
        self._page.head.load.setFocus()

    @Slot(object)
    def _on_again_requested(self, path: Path) -> None:
        self._show(path)
        self.look_again(path)

    @Slot()
    def _on_load_requested(self) -> None:
        view = self.shown.view
        if view.facts is not None and view.step is not None and view.can_load:
            self._model_wiring.load_path(view.facts.path, view.step)

    @Slot(object)
    def _on_finding_action(self, finding: Finding) -> None:
        wishes = finding_wishes(finding, self.shown.view.wishes)
        if wishes is not None:
            self.shown.set_wishes(wishes)

    @Slot()
    def _on_show_folder(self) -> None:
        path = self.shown.view.path
        if path is not None:
            self._parts.desktop.open_folder(path.parent)

    @Slot()
    def _on_compare_file_requested(self) -> None:
        self._places.choose_file(self._compare)

    def _compare(self, other: Path) -> None:
        mine = self.shown.details
        if mine is not None:
            self._parts.tasks.run_in_background(
                lambda: comparison_of(mine, details_of(other)), partial(self._on_compared, mine)
            )

    def _on_compared(self, mine: ModelDetailsFacts, comparison: Comparison) -> None:
        if mine is self.shown.details:
            self._page.show_comparison(comparison)

    def _start(self) -> Path:
        path = self.shown.view.path
        return Path.home() if path is None else path.parent


def _path_of(view: ModelPageView) -> Path | None:
    return view.facts.path if view.facts is not None else view.path


def _palette_rows(look: Look, models: tuple[LibraryModel, ...]) -> tuple[PaletteModel, ...]:
    """Return the chat models as the palette shows them."""
    return tuple(
        PaletteModel(model.path, model.name, f"{detail_words(look, model)} · {model.path.parent}", "found")
        for model in models
        if model.kind is FileKind.MODEL
    )
