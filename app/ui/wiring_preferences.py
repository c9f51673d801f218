"""Joins the preferences with the pages that show and change them."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.engine.packs import EngineEntry, list_engines
from app.hardware.facts import GpuInfo
from app.hardware.gpu_choice import gpu_key
from app.paths import data_folder
from app.ui.parts import Parts
from app.ui.views.engine_choice import EngineChoice
from app.ui.views.gpu_choice import GpuUse
from app.ui.views.parameters_tab import EXPERT, SIMPLE
from app.ui.views.settings_page import SettingsView


class PreferencesWiring(QObject):
    """Settings page and parameters tab. GUI thread."""

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self._parts = parts
        self._engines: tuple[EngineChoice, ...] = ()
        page, preferences = parts.window.settings_page, parts.preferences
        page.language_chosen.connect(lambda language: preferences.set(language=language))
        page.theme_chosen.connect(lambda theme: preferences.set(theme=theme))
        page.zoom_chosen.connect(lambda zoom: preferences.set(zoom=zoom))
        page.reduced_motion_chosen.connect(lambda is_on: preferences.set(reduced_motion=is_on))
        page.engine_chosen.connect(lambda name: preferences.set(engine=name))
        page.gpu_chosen.connect(self._on_gpu_chosen)
        parts.machine.hardware_changed.connect(self._show)
        page.data_folder_requested.connect(self._on_data_folder_requested)
        self._connect_parameters()
        preferences.changed.connect(self._show)
        self._show()

    def look_for_engines(self) -> None:
        """List the engines there are, in the background."""
        chosen = self._parts.preferences.settings.engine
        self._parts.tasks.run_in_background(partial(list_engines, chosen), self._on_engines_found)

    def _connect_parameters(self) -> None:
        tab, preferences = self._parts.window.dock.parameters_tab, self._parts.preferences
        tab.sampling_changed.connect(preferences.set_sampling)
        tab.system_prompt_changed.connect(preferences.set_system_prompt)
        tab.detail.chosen.connect(lambda detail: preferences.set(is_expert=detail == EXPERT))
        tab.show_detail(EXPERT if preferences.settings.is_expert else SIMPLE)
        tab.show_sampling(preferences.sampling)
        tab.show_system_prompt(preferences.system_prompt)

    @Slot()
    def _on_data_folder_requested(self) -> None:
        self._parts.desktop.open_folder(data_folder())

    @Slot(str, bool)
    def _on_gpu_chosen(self, key: str, is_used: bool) -> None:
        preferences = self._parts.preferences
        others = tuple(known for known in preferences.settings.excluded_gpus if known != key)
        preferences.set(excluded_gpus=others if is_used else (*others, key))

    def _on_engines_found(self, entries: Sequence[EngineEntry]) -> None:
        self._engines = tuple(EngineChoice(entry.name, _state(entry), entry.build) for entry in entries)
        self._show()

    @Slot()
    def _show(self) -> None:
        preferences = self._parts.preferences
        settings = preferences.settings
        self._parts.window.settings_page.show_settings(
            SettingsView(
                language=preferences.language,
                theme=settings.theme,
                engines=self._engines,
                engine=settings.engine,
                data_folder=str(data_folder()),
                reduced_motion=settings.reduced_motion or False,
                zoom=settings.zoom,
                gpus=tuple(GpuUse(gpu, gpu_key(gpu) not in settings.excluded_gpus) for gpu in self._gpus()),
            )
        )

    def _gpus(self) -> tuple[GpuInfo, ...]:
        hardware = self._parts.machine.hardware
        return hardware.gpus if hardware is not None else ()


def _state(entry: EngineEntry) -> str:
    if entry.spec.pack_folder is None:
        return "built_in"
    if entry.record is None or entry.record.smoke is None:
        return "untested"
    return "passed" if entry.record.smoke.passed else "failed"
