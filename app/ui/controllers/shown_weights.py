"""The weights of the model the Models page shows: a sample at once, all of them when the person asks."""

import threading
import time
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from app.gguf.facts import ModelFacts
from app.library.weights_memory import WeightsCheck, WeightsMemory
from app.ui.model_page_view import WeightsView
from app.ui.tasks import Tasks

_TELL_SECONDS: Final = 0.1


class ShownWeights(QObject):
    """Owns what is known of the weights of one file. Methods return at once.

    Signals:
        view_changed: a `WeightsView`.
    """

    view_changed = Signal(object)

    def __init__(self, tasks: Tasks, memory: WeightsMemory) -> None:
        """Look at nothing yet."""
        super().__init__()
        self._tasks = tasks
        self._memory = memory
        self._facts: ModelFacts | None = None
        self._view = WeightsView()
        self._given_up = threading.Event()

    def show(self, facts: ModelFacts | None, known: WeightsCheck | None = None) -> None:
        """Look at a sample of another file, unless that is known; what is under way is given up."""
        self._given_up.set()
        self._given_up = threading.Event()
        self._facts = facts
        self._set(WeightsView(known, is_sampling=facts is not None and known is None))
        if facts is not None and known is None:
            self._tasks.run_in_background(
                partial(self._memory.sample, facts, self._given_up.is_set),
                partial(self._on_checked, self._given_up),
                partial(self._on_failed, self._given_up),
            )

    @Slot()
    def check_all(self) -> None:
        """Read all weights."""
        if self._facts is None or self._view.progress is not None or self._view.check is None:
            return
        self._given_up = threading.Event()
        self._set(WeightsView(self._view.check, progress=0.0))
        progress = _Progress(self._tasks, partial(self._on_progress, self._given_up))
        self._tasks.run_in_background(
            partial(self._memory.check_all, self._facts, progress.tell, self._given_up.is_set),
            partial(self._on_checked, self._given_up),
            partial(self._on_failed, self._given_up),
        )

    @Slot()
    def cancel(self) -> None:
        """Give up reading all weights; what was known stays."""
        if self._view.progress is not None:
            self._given_up.set()
            self._set(WeightsView(self._view.check))

    def _on_progress(self, given_up: threading.Event, share: float) -> None:
        if not given_up.is_set() and self._view.progress is not None:
            self._set(WeightsView(self._view.check, progress=share))

    def _on_checked(self, given_up: threading.Event, check: WeightsCheck | None) -> None:
        if not given_up.is_set():
            self._set(WeightsView(check or self._view.check))

    def _on_failed(self, given_up: threading.Event, reason: Exception) -> None:
        if not given_up.is_set():
            self._set(WeightsView(self._view.check))
        raise reason

    def _set(self, view: WeightsView) -> None:
        if view != self._view:
            self._view = view
            self.view_changed.emit(view)


class _Progress:
    """Tells the GUI thread how far a check is, ten times a second."""

    def __init__(self, tasks: Tasks, on_progress: "partial[None]") -> None:
        self._tasks = tasks
        self._on_progress = on_progress
        self._told_at = 0.0

    def tell(self, share: float) -> None:
        """Any thread."""
        now = time.monotonic()
        if now - self._told_at >= _TELL_SECONDS:
            self._told_at = now
            self._tasks.post(partial(self._on_progress, share))
