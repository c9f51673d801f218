"""What the window will need soon, made while nobody waits for it: after the first paint, a bit at a time."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from PySide6.QtCore import QObject, QTimer

from app.ui.charts import late
from app.ui.main_window import MainWindow
from app.ui.markdown import highlight
from app.ui.theme.style_sheet import polish

_EVERY_MS: Final = 20
_STEP_SECONDS: Final = 0.002
"""After which no other step begins until the next time."""


class Preparation(QObject):
    """Styles what is hidden still, makes the parts of a plan, imports what charts and code need."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._steps = _steps(window)
        self._timer = QTimer(self, interval=_EVERY_MS)
        self._timer.timeout.connect(self._work)

    @property
    def is_done(self) -> bool:
        """Nothing is left to make."""
        return not self._timer.isActive()

    def start(self) -> None:
        """Begin; it takes a second or two, in which the window hardly notices."""
        _begin(highlight.warm_up)
        self._timer.start()

    def stop(self) -> None:
        """Leave the rest undone."""
        self._timer.stop()

    def _work(self) -> None:
        until = time.perf_counter() + _STEP_SECONDS
        while time.perf_counter() < until:
            try:
                next(self._steps)
            except StopIteration:
                self._timer.stop()
                return


def _begin(warm_up: Callable[[], None]) -> None:
    threading.Thread(target=warm_up, name="tasks", daemon=True).start()


def _steps(window: MainWindow) -> Iterator[None]:
    yield from late.make_types()
    _begin(late.warm_up)
    yield from window.dock.plan_tab.prepare()
    yield from window.models_page.prepare()
    yield from polish(window)
