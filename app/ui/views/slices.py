"""Long work of the GUI thread in short pieces."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from PySide6.QtCore import QObject, QTimer

_SLICE_SECONDS: Final = 0.004


class Slices(QObject):
    """Runs one iterator, some milliseconds at a time, between which events are handled."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._steps: Iterator[object] | None = None
        self._on_done: Callable[[], None] | None = None
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._run)

    @property
    def is_running(self) -> bool:
        """Some work is left."""
        return self._steps is not None

    def start(self, steps: Iterator[object], on_done: Callable[[], None], first_seconds: float) -> None:
        """Work on `steps` for `first_seconds` now and on the rest later; then call `on_done`."""
        self._steps, self._on_done = steps, on_done
        self._work(first_seconds)
        if self.is_running:
            self._timer.start()

    def stop(self) -> None:
        """Leave the rest undone."""
        self._timer.stop()
        self._steps = self._on_done = None

    def _run(self) -> None:
        self._work(_SLICE_SECONDS)

    def _work(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while self._steps is not None:
            try:
                next(self._steps)
            except StopIteration:
                on_done = self._on_done
                self.stop()
                if on_done is not None:
                    on_done()
                return
            if time.perf_counter() >= end:
                return
