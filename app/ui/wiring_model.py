"""Joins the model controller with everything that shows the model or wants something of it."""

import os
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.findings import Finding
from app.library.default_model import SIZE_BYTES, default_model_path
from app.planner.facts import LadderStep
from app.ui.controllers.model_controller import ModelController
from app.ui.known_models import known_models
from app.ui.main_window import CHAT
from app.ui.model_view import ModelPhase, ModelView
from app.ui.parts import Parts
from app.ui.reporting import copy_report
from app.ui.views.finding_actions import finding_wishes
from app.ui.views.palette_rows import PaletteModel
from app.ui.views.state_words import model_name


class ModelWiring(QObject):
    """Picks, loads, plans again, reports. GUI thread."""

    def __init__(self, parts: Parts, model: ModelController) -> None:
        super().__init__()
        self._parts = parts
        self._model = model
        self._loads_when_planned = False
        self._step: LadderStep | None = None  # what is loaded then; None for the first
        self._known: tuple[PaletteModel, ...] = ()
        self._found: tuple[PaletteModel, ...] = ()
        self._shown = ModelView()
        settings = parts.preferences.settings
        self._devices = (settings.engine, settings.excluded_gpus)
        model.set_excluded_gpus(settings.excluded_gpus)
        self._connect_bar()
        self._connect_stage()
        self._connect_dock()
        self._connect_palette()
        model.view_changed.connect(self._on_view_changed)
        model.pick_refused.connect(self._on_pick_refused)
        parts.preferences.changed.connect(self._on_preferences_changed)
        parts.looks.changed.connect(model.update_findings)

    def open_path(self, path: Path) -> None:
        """Pick a model that came from outside: an argument, a drop, a second start."""
        self._loads_when_planned, self._step = False, None
        self._model.pick(Path(os.path.abspath(path)))  # noqa: PTH100  # keeps `..` and links as they are

    def load_path(self, path: Path, step: LadderStep) -> None:
        """Pick a model and load it with a plan that was made for it."""
        self._loads_when_planned, self._step = True, step
        self._model.pick(path)

    def show_found(self, models: tuple[PaletteModel, ...]) -> None:
        """Offer the models of the library in the palette as well."""
        self._found = models
        self._show_palette()

    @Slot()
    def look_for_models(self) -> None:
        """Find what the palette offers and whether the demo model is there, in the background."""
        recent = self._parts.preferences.settings.recent_models
        tasks = self._parts.tasks
        tasks.run_in_background(partial(known_models, recent), self._on_models_found)
        tasks.run_in_background(default_model_path, self._on_default_found)
        tasks.run_in_background(partial(_if_there, self._last_model()), self._on_last_found)

    def _connect_bar(self) -> None:
        bar, model = self._parts.window.model_bar, self._model
        bar.pick_requested.connect(self.look_for_models)
        bar.load_requested.connect(model.load)
        bar.reload_requested.connect(model.reload)
        bar.unload_requested.connect(model.unload)
        bar.cancel_requested.connect(model.cancel_load)
        bar.wishes_changed.connect(model.set_wishes)

    def _connect_stage(self) -> None:
        stage, model = self._parts.window.chat_place.stage, self._model
        stage.load_requested.connect(model.load)
        stage.pick_requested.connect(self.look_for_models)
        stage.cancel_requested.connect(model.cancel_load)
        stage.step_requested.connect(model.load_step)
        stage.report_requested.connect(self._on_report_requested)
        stage.first_run.file_requested.connect(self._on_file_requested)
        stage.first_run.default_requested.connect(self._on_default_requested)
        stage.first_run.last_requested.connect(self._on_last_requested)

    def _connect_dock(self) -> None:
        dock, model = self._parts.window.dock, self._model
        dock.plan_tab.pick_requested.connect(self._parts.window.model_bar.pick_requested)
        dock.plan_tab.step_requested.connect(model.load_step)
        dock.plan_tab.finding_action_requested.connect(self._on_finding_action)
        dock.parameters_tab.wishes_changed.connect(model.set_wishes)

    def _connect_palette(self) -> None:
        window = self._parts.window
        palette = window.palette_popup
        palette.picked.connect(self.open_path)
        palette.file_requested.connect(self._on_file_requested)

    @Slot(object)
    def _on_view_changed(self, view: ModelView) -> None:
        before, self._shown = self._shown, view
        self._parts.window.show_view_in_turns(view)
        self._parts.awake.set_working(is_working=view.phase in _AWAKE_PHASES)
        if view.loaded is not None and before.loaded is None and view.path is not None:
            self._parts.preferences.add_recent_model(view.path)
        is_chat = self._parts.window.place == CHAT
        if is_chat and view.phase in _LOADS and before.phase not in _LOADS:
            self._parts.window.chat_place.composer.setFocus()  # what is typed now waits for the model
        if view.phase is ModelPhase.PLANNED and self._loads_when_planned:
            self._loads_when_planned = False
            self._load_planned()

    def _load_planned(self) -> None:
        step, self._step = self._step, None
        if step is None:
            self._model.load()
        else:
            self._model.load_step(step)

    @Slot(object)
    def _on_pick_refused(self, why: Finding) -> None:
        texts, window = self._parts.looks.look.texts, self._parts.window
        message = texts.text(
            "ui.toast.not_opened", message=texts.finding(why).message, name=model_name(self._shown)
        )
        window.show_toast(message, texts.text("ui.toast.choose_other"), self._on_file_requested)

    @Slot()
    def _on_preferences_changed(self) -> None:
        settings, before = self._parts.preferences.settings, self._devices
        self._devices = (settings.engine, settings.excluded_gpus)
        self._model.set_engine(settings.engine)
        self._model.set_excluded_gpus(settings.excluded_gpus)
        if self._devices != before:
            self._model.look_again()

    @Slot()
    def _on_file_requested(self) -> None:
        look = self._parts.looks.look
        known = self._shown.path or self._last_model()
        self._parts.desktop.choose_file(
            look.text("ui.file.title"),
            f"{look.text('ui.file.models')} (*.gguf)",
            Path.home() if known is None else known.parent,
            self.open_path,
        )

    @Slot()
    def _on_default_requested(self) -> None:
        path = default_model_path()
        if path is not None:
            self._loads_when_planned, self._step = True, None
            self._parts.window.chat_place.composer.setFocus()
            self._model.pick(path)

    @Slot()
    def _on_last_requested(self) -> None:
        path = self._last_model()
        if path is not None:
            self._loads_when_planned, self._step = True, None
            self._model.pick(path)

    @Slot(object)
    def _on_finding_action(self, finding: Finding) -> None:
        wishes = finding_wishes(finding, self._shown.wishes)
        if wishes is not None:
            self._model.set_wishes(wishes)

    @Slot()
    def _on_report_requested(self) -> None:
        copy_report(self._parts, self._shown)

    def _on_models_found(self, models: tuple[PaletteModel, ...]) -> None:
        self._known = models
        self._show_palette()

    def _show_palette(self) -> None:
        """Show what is known; the library's words for a model go before those made of its file name."""
        mine = {model.path for model in self._known if model.group != "found"}
        found = {model.path: model for model in (*self._known, *self._found) if model.path not in mine}
        known = (model for model in self._known if model.path in mine)
        self._parts.window.palette_popup.show_models((*known, *found.values()))

    def _on_default_found(self, path: Path | None) -> None:
        stage = self._parts.window.chat_place.stage
        stage.first_run.show_default_model(path, None if path is None else SIZE_BYTES)

    def _on_last_found(self, path: Path | None) -> None:
        self._parts.window.chat_place.stage.first_run.show_last_model(path)

    def _last_model(self) -> Path | None:
        last = self._parts.preferences.settings.last_model
        return None if last is None else Path(last)


_LOADS = frozenset({ModelPhase.LOADING, ModelPhase.WARMING})


def _if_there(path: Path | None) -> Path | None:
    return path if path is not None and os.path.isfile(path) else None  # noqa: PTH113  # never raises


_AWAKE_PHASES = frozenset(
    {ModelPhase.LOADING, ModelPhase.WARMING, ModelPhase.GENERATING, ModelPhase.STOPPING}
)
