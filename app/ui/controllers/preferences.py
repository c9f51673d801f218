"""What the person prefers: the settings file on one side, the look and the controllers on the other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.findings import Finding, FindingError
from app.options import SamplingOptions
from app.settings import RECENT_MODELS_KEPT, SYSTEM_THEME, Settings, load_settings, save_settings
from app.texts import Texts, system_language
from app.ui.tasks import SerialTasks
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK, LIGHT

SAVE_DELAY_MS: Final = 300
"""A slider being dragged is written once."""


class Preferences(QObject):
    """Holds the settings, keeps the look in step with them, and saves them behind the person's back.

    Signals:
        changed: some setting is another one now.
        store_failed: a `Finding`: the settings could not be written; they hold until the program ends.
    """

    changed = Signal()
    store_failed = Signal(object)

    def __init__(self, file: Path, tasks: SerialTasks, parent: QObject | None = None) -> None:
        """Read the settings, a file of a few kilobytes."""
        super().__init__(parent)
        self._file = file
        self._tasks = tasks
        self._looks: LookSource | None = None
        self._is_system_dark: Callable[[], bool] | None = None
        self._settings, self._findings = load_settings(file)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SAVE_DELAY_MS)
        self._timer.timeout.connect(self.save_now)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What reading the file met."""
        return self._findings

    @property
    def language(self) -> str:
        """The language in force, the system's where none was chosen."""
        return self._settings.language or system_language()

    @property
    def sampling(self) -> SamplingOptions:
        """How answers are sampled."""
        return self._settings.sampling

    @property
    def system_prompt(self) -> str:
        """First message of every prompt; empty for none."""
        return self._settings.system_prompt

    def set(self, **values: Any) -> None:
        """Change settings by their names in `Settings`; saved a moment later."""
        settings = replace(self._settings, **values)
        if settings == self._settings:
            return
        self._settings = settings
        self._timer.start()
        self.update_look()
        self.changed.emit()

    def set_sampling(self, sampling: SamplingOptions) -> None:
        """Sample the next answer like this."""
        self.set(sampling=sampling)

    def set_system_prompt(self, text: str) -> None:
        """Begin the next prompt with this."""
        self.set(system_prompt=text)

    def add_recent_model(self, path: Path) -> None:
        """Remember a model that was loaded, as the newest."""
        others = [known for known in self._settings.recent_models if known != str(path)]
        self.set(last_model=str(path), recent_models=(str(path), *others)[:RECENT_MODELS_KEPT])

    def add_library_path(self, path: Path) -> None:
        """Remember a file or folder that the list of models looks at."""
        self.set(library_paths=tuple(dict.fromkeys((*self._settings.library_paths, str(path)))))

    def attach(self, looks: LookSource, is_system_dark: Callable[[], bool]) -> None:
        """Keep `looks` in step with theme, language and zoom from now on."""
        self._looks = looks
        self._is_system_dark = is_system_dark
        self.update_look()

    def look(self, *, is_system_dark: bool) -> Look:
        """Return the look the settings ask for."""
        settings = self._settings
        is_dark = is_system_dark if settings.theme == SYSTEM_THEME else settings.theme == DARK.name
        return Look(
            colors=DARK if is_dark else LIGHT,
            texts=self._texts(),
            zoom=settings.zoom,
            reduced_motion=settings.reduced_motion or False,
        )

    @Slot()
    def update_look(self) -> None:
        """Bring the look up to date: also when the system's theme changed."""
        if self._looks is not None and self._is_system_dark is not None:
            self._looks.set_look(self.look(is_system_dark=self._is_system_dark()))

    @Slot()
    def save_now(self) -> None:
        """Save what is not saved yet, in the background; `SerialTasks.finish` waits for it."""
        self._timer.stop()
        file, settings = self._file, self._settings
        self._tasks.run_in_background(lambda: save_settings(file, settings), None, self._on_save_failed)

    def _on_save_failed(self, reason: Exception) -> None:
        if not isinstance(reason, FindingError):
            raise reason
        self.store_failed.emit(reason.finding)

    def _texts(self) -> Texts:
        known = self._looks.look.texts if self._looks is not None else None
        return known if known is not None and known.language == self.language else Texts(self.language)
