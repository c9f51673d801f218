"""The models there are: found in the background, shown as they come, judged when somebody looks at them."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from app.planner.facts import MemoryBudget
from app.ui.controllers.library_jobs import Fits, LibraryPlaces, LibraryPorts, find_fits, find_models
from app.ui.tasks import Tasks
from app.ui.views.library_facts import Fit, LibraryModel, in_order

Models = tuple[LibraryModel, ...]

_TELL_SECONDS: Final = 0.15
_FITS_AT_ONCE: Final = 4
"""Models judged in one job: the first badges come soon, and what was scrolled past is left out."""


class LibraryController(QObject):
    """Owns the list of models. Methods return at once.

    Signals:
        models_changed: tuple of `LibraryModel` in the order to be shown, and whether more may come.
        fits_changed: `Fit` by `Path`, of all models judged so far.
    """

    models_changed = Signal(object, bool)
    fits_changed = Signal(object)

    def __init__(self, tasks: Tasks, ports: LibraryPorts) -> None:
        """Look at nothing yet."""
        super().__init__()
        self._tasks = tasks
        self._ports = ports
        self._models: Models = ()
        self._scan: threading.Event | None = None  # set: the scan under way is given up
        self._budget: MemoryBudget | None = None
        self._fits: dict[Path, Fit] = {}
        self._judged: set[Path] = set()
        self._refused: set[Path] = set()
        self._wanted: list[Path] = []
        self._is_judging = False

    @property
    def models(self) -> Models:
        """What was found so far, in order."""
        return self._models

    @property
    def is_searching(self) -> bool:
        """More models may come."""
        return self._scan is not None

    def look(self, places: LibraryPlaces) -> None:
        """Look for models; a search under way is given up. Those known are shown until it is done."""
        self._give_up()
        given_up = threading.Event()
        self._scan = given_up
        scan = _Scan(self._models, lambda found: self._tasks.post(partial(self._on_found, given_up, found)))
        self._tasks.run_in_background(
            partial(scan.run, self._ports, places, given_up.is_set),
            partial(self._on_searched, given_up),
            partial(self._on_failed, given_up),
        )
        self.models_changed.emit(self.models, True)

    def want_fits(self, paths: tuple[Path, ...]) -> None:
        """Judge how these models fit, instead of those asked for before."""
        self._wanted = [path for path in paths if path not in self._judged]
        self._judge_next()

    def forget_fits(self) -> None:
        """Judge anew from now on: the memory that is free is another."""
        self._budget = None
        self._judged.clear()

    def judge_again(self, path: Path) -> None:
        """Judge one model anew when it is wanted next."""
        self._judged.discard(path)
        self._refused.discard(path)
        if self._fits.pop(path, None) is not None:
            self.fits_changed.emit(dict(self._fits))

    def set_refused(self, path: Path, *, is_refused: bool) -> None:
        """Say what the engine thinks of a model: what it refuses fits nowhere."""
        if is_refused == (path in self._refused):
            return
        if is_refused:
            self._refused.add(path)
            self._fits[path] = Fit.REFUSED
            self.fits_changed.emit(dict(self._fits))
        else:
            self.judge_again(path)

    @Slot()
    def close(self) -> None:
        """Give up what is under way."""
        self._give_up()
        self._wanted = []

    def _give_up(self) -> None:
        if self._scan is not None:
            self._scan.set()
            self._scan = None

    def _on_found(self, given_up: threading.Event, models: Models) -> None:
        if not given_up.is_set():
            self._show(models)

    def _on_searched(self, given_up: threading.Event, models: Models) -> None:
        if not given_up.is_set():
            self._scan = None
            self._show(models)

    def _show(self, models: Models) -> None:
        self._models = models
        self.models_changed.emit(models, self.is_searching)

    def _on_failed(self, given_up: threading.Event, reason: Exception) -> None:
        if not given_up.is_set():
            self._scan = None
            self.models_changed.emit(self.models, False)
        raise reason

    def _judge_next(self) -> None:
        if self._is_judging or not self._wanted:
            return
        batch, self._wanted = self._wanted[:_FITS_AT_ONCE], self._wanted[_FITS_AT_ONCE:]
        self._is_judging = True
        self._judged.update(batch)
        self._tasks.run_in_background(
            partial(find_fits, self._ports, self._budget, batch), self._on_judged, self._on_not_judged
        )

    def _on_judged(self, fits: Fits) -> None:
        self._is_judging = False
        self._budget = fits.budget
        for path, fit in fits.by_path.items():
            self._fits.pop(path, None)
            if fit is not None:
                self._fits[path] = Fit.REFUSED if path in self._refused else fit
        self.fits_changed.emit(dict(self._fits))
        self._judge_next()

    def _on_not_judged(self, reason: Exception) -> None:
        self._is_judging = False
        self._judge_next()
        raise reason


class _Scan:
    """One search, in a thread of its own: what it finds is put in order there, not in the GUI thread."""

    def __init__(self, known: Models, on_found: Callable[[Models], None]) -> None:
        self._known = {model.path: model for model in known}
        self._shown = dict(self._known)
        self._found: list[LibraryModel] = []
        self._on_found = on_found
        self._told_at = 0.0

    def run(self, ports: LibraryPorts, places: LibraryPlaces, is_cancelled: Callable[[], bool]) -> Models:
        """Search, and return what there is now; what is gone is no longer among it."""
        find_models(ports, places, self._add, is_cancelled)
        return in_order(self._found)

    def _add(self, model: LibraryModel) -> None:
        known = self._known.get(model.path)
        is_new = known != model
        model = model if known is None or is_new else known  # the same object: lists compare it at once
        self._found.append(model)
        self._shown[model.path] = model
        now = time.monotonic()
        if is_new and now - self._told_at >= _TELL_SECONDS:
            self._told_at = now
            self._on_found(in_order(self._shown.values()))
