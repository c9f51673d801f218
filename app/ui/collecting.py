"""When Python looks for garbage: in the GUI thread alone, and never for long in the middle of an answer."""

import gc
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

STANDS_AFTER_MS: Final = 1500
"""After the start, when the first look at machine and chats is over."""

IDLE_INTERVAL_MS: Final = 60_000
YOUNG_INTERVAL_MS: Final = 250
YOUNG_AT: Final = 2000
"""New objects before a small collection is worth its fraction of a millisecond."""


class Collecting(QObject):
    """Looks for garbage from timers of the GUI thread, and from nowhere else.

    Python by itself does it in whichever thread makes the next object. Widgets that only hold each other
    would then end in that thread, and Qt crashes the program for it. A full collection stops the GUI thread
    for 16 to 37 ms (measured with the window's half a million objects), so it waits until nothing is under
    way; what was made for the window is set aside once. GUI thread.

    Attributes:
        was_enabled: Python collected by itself before; `close` gives that back.
    """

    def __init__(self, parent: QObject | None = None, *, idle_interval_ms: int = IDLE_INTERVAL_MS) -> None:
        """Take over from Python at once."""
        super().__init__(parent)
        self._is_busy = False
        self._has_settled = False
        self.was_enabled = gc.isenabled()
        gc.disable()
        self._stands = QTimer(self, interval=STANDS_AFTER_MS, singleShot=True)
        self._stands.timeout.connect(self.settle)
        self._young = QTimer(self, interval=YOUNG_INTERVAL_MS)
        self._young.timeout.connect(self._on_young)
        self._idle = QTimer(self, interval=idle_interval_ms)
        self._idle.timeout.connect(self._on_idle)

    def start(self) -> None:
        """Collect what is made from now on, and settle once the window stands."""
        gc.freeze()
        self._stands.start()
        self._young.start()

    @Slot()
    def settle(self) -> None:
        """Take what there is now for good: it is not looked through again. Twice is harmless."""
        if self._has_settled:
            return
        self._has_settled = True
        gc.collect()
        gc.freeze()
        self._young.start()
        self._idle.start()

    def set_busy(self, *, is_busy: bool) -> None:
        """Say whether an answer is coming, or a model is being loaded."""
        self._is_busy = is_busy

    def close(self) -> None:
        """Leave all to Python again. Twice is harmless."""
        for timer in (self._stands, self._young, self._idle):
            timer.stop()
        gc.unfreeze()
        self._has_settled = False
        if self.was_enabled:
            gc.enable()

    @Slot()
    def _on_young(self) -> None:
        if gc.get_count()[0] >= YOUNG_AT:
            gc.collect(1)

    @Slot()
    def _on_idle(self) -> None:
        if not self._is_busy:
            gc.collect()
