"""When Python looks for garbage: never in the middle of an answer, and never through what stays anyway."""

import gc
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

STANDS_AFTER_MS: Final = 1500
"""After the start, when the first look at machine and chats is over."""

IDLE_INTERVAL_MS: Final = 60_000
_NEVER: Final = 100_000
"""Middle collections before Python starts a full one by itself: a full one stops the GUI thread for 16 to
37 ms (measured with the window's half a million objects)."""


class Collecting(QObject):
    """Sets what was made for the window aside, and does full collections only while nothing is under way.

    The small collections, a fraction of a millisecond each, go on as ever. GUI thread.
    """

    def __init__(self, parent: QObject | None = None, *, idle_interval_ms: int = IDLE_INTERVAL_MS) -> None:
        super().__init__(parent)
        self._is_busy = False
        self._before: tuple[int, int, int] | None = None
        self._stands = QTimer(self, interval=STANDS_AFTER_MS, singleShot=True)
        self._stands.timeout.connect(self.settle)
        self._idle = QTimer(self, interval=idle_interval_ms)
        self._idle.timeout.connect(self._on_idle)

    def start(self) -> None:
        """Settle once the window stands."""
        self._stands.start()

    @Slot()
    def settle(self) -> None:
        """Take what there is now for good: it is not looked through again. Twice is harmless."""
        if self._before is not None:
            return
        self._before = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*self._before[:2], _NEVER)
        self._idle.start()

    def set_busy(self, *, is_busy: bool) -> None:
        """Say whether an answer is coming, or a model is being loaded."""
        self._is_busy = is_busy

    def close(self) -> None:
        """Leave all to Python again. Twice is harmless."""
        self._stands.stop()
        self._idle.stop()
        if self._before is not None:
            gc.set_threshold(*self._before)
            gc.unfreeze()
            self._before = None

    @Slot()
    def _on_idle(self) -> None:
        if not self._is_busy:
            gc.collect()
