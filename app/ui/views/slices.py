"""Long work of the GUI thread in short pieces."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from PySide6.QtCore import QObject, QTimer

_SLICE_SECONDS: Final = 0.004
_TURN_SECONDS: Final = 0.002
"""After which no other step begins: each may take as long again."""

REST: Final = object()
"""What a step yields when the event loop is to lay out and paint before the next one begins."""


class Slices(QObject):
    """Runs one iterator, some milliseconds at a time, between which events are handled."""

    def __init__(self, parent: QObject, seconds: float = _SLICE_SECONDS) -> None:
        """Rest until `start`; no step begins after `seconds` of a turn."""
        super().__init__(parent)
        self._seconds = seconds
        self._steps: Iterator[object] | None = None
        self._on_done: Callable[[], None] | None = None
        self._rests = False
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._run)

    @property
    def is_running(self) -> bool:
        """Some work is left."""
        return self._steps is not None

    def start(
        self, steps: Iterator[object], on_done: Callable[[], None], first_seconds: float | None = None
    ) -> None:
        """Work on `steps` for `first_seconds` now, the rest later; then call `on_done`. None: all later."""
        self._steps, self._on_done, self._rests = steps, on_done, False
        if first_seconds is not None:
            self._work(first_seconds)
        if self.is_running:
            self._timer.start()

    def stop(self) -> None:
        """Leave the rest undone."""
        self._timer.stop()
        self._steps = self._on_done = None

    def finish(self) -> None:
        """Work on all that is left now."""
        while self.is_running:
            self._work(self._seconds)

    def _run(self) -> None:
        if self._rests:
            self._rests = False
        else:
            self._work(self._seconds)

    def _work(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while self._steps is not None:
            try:
                self._rests = next(self._steps) is REST
            except StopIteration:
                on_done = self._on_done
                self.stop()
                if on_done is not None:
                    on_done()
                return
            if self._rests or time.perf_counter() >= end:
                return


class Turns(QObject):
    """Runs the same steps whenever asked, from the next turn of the event loop on.

    Asked while they run, they run once more afterwards: however quickly it is asked, the last steps have
    their turn, and they end with what was asked last.
    """

    def __init__(self, parent: QObject, make_steps: Callable[[], Iterator[object]]) -> None:
        super().__init__(parent)
        self._make_steps = make_steps
        self._slices = Slices(self, _TURN_SECONDS)
        self._is_outdated = False

    @property
    def is_running(self) -> bool:
        """Not everything asked for is done."""
        return self._slices.is_running

    def ask(self) -> None:
        """Have the steps run."""
        if self.is_running:
            self._is_outdated = True
        else:
            self._slices.start(self._make_steps(), self._on_done)

    def finish(self) -> None:
        """Run what is left now."""
        self._slices.finish()

    def _on_done(self) -> None:
        if self._is_outdated:
            self._is_outdated = False
            self.ask()
