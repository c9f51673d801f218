"""Ends waits that would have no end: a deadline, or a limit on being silent and idle."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from app.processes.activity import Activity, was_busy

_LOOKS_PER_LIMIT: Final = 4

ReadActivity = Callable[[], Activity | None]


class Watchdog:
    """Watches one thing at a time. Everything here is called with the owner's lock held."""

    def __init__(self, lock: threading.RLock) -> None:  # type: ignore[valid-type, unused-ignore]  # a function before 3.13
        """Watch nothing yet.

        Args:
            lock: Held while what is due is called, so that it never comes after `stop`.
        """
        self._lock = lock
        self._timer: threading.Timer | None = None
        self._was_heard = False

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Call `then` after so many seconds, whatever is heard; what was watched before is forgotten."""
        self.stop()
        self._start(seconds, then)

    def on_silence(self, seconds: float, read_activity: ReadActivity, then: Callable[[], None]) -> None:
        """Call `then` once nothing was heard for so long, and nothing was done either.

        A busy engine may be silent for as long as it needs: a batch of a model that is read from the
        disk takes minutes. Where nobody can tell whether it is busy, it counts as busy. After a word
        it takes up to a quarter longer.
        """
        self.stop()
        self._was_heard = False
        self._look_later(_Silence(seconds, read_activity, then))

    def heard(self) -> None:
        """Note a sign of life."""
        self._was_heard = True

    def stop(self) -> None:
        """Watch nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self, seconds: float, then: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, lambda: self._run(timer, then))
        timer.daemon = True
        self._timer = timer
        timer.start()

    def _run(self, timer: threading.Timer, then: Callable[[], None]) -> None:
        with self._lock:
            if timer is self._timer:
                then()

    def _look_later(self, silence: "_Silence") -> None:
        self._start(silence.seconds / _LOOKS_PER_LIMIT, partial(self._look, silence))

    def _look(self, silence: "_Silence") -> None:
        was_heard, self._was_heard = self._was_heard, False
        silence.look(was_heard=was_heard)
        if silence.idle_looks >= _LOOKS_PER_LIMIT:
            silence.then()
        else:
            self._look_later(silence)


class _Silence:
    """One limit on silence.

    Attributes:
        idle_looks: How many times in a row there was neither a word nor work. They are counted, since
            clocks go on while a computer sleeps.
    """

    def __init__(self, seconds: float, read_activity: ReadActivity, then: Callable[[], None]) -> None:
        self.seconds = seconds
        self.then = then
        self.idle_looks = 0
        self._read_activity = read_activity
        self._before: Activity | None = None
        self._looked_at = time.monotonic()

    def look(self, *, was_heard: bool) -> None:
        """Count the time since the last look as idle or not."""
        before, now = self._before, None if was_heard else self._read_activity()
        looked_at, self._looked_at = self._looked_at, time.monotonic()
        self._before = now
        if now is None or (before is not None and was_busy(before, now, self._looked_at - looked_at)):
            self.idle_looks = 0  # heard, at work, or nobody can tell
        else:
            self.idle_looks += 1
