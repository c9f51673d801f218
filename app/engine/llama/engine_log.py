"""The engine's log, line by line: the only place where it says what it did and why it failed."""

import os
from collections import deque
from typing import Any, Final

from app.engine.llama.bindings import Library

MOST_LINES: Final = 20_000
STDERR: Final = 2
LEVEL_DEBUG: Final = 1
LEVEL_CONTINUED: Final = 5

WANTED_DEBUG: Final = ("assigned to device", "buffer type overridden")
"""Debug lines that tell where a layer and a tensor went; the other thousands are dropped."""


class EngineLog:
    """Collects the log of this process's engine and passes it on to stderr.

    stderr is what is left when the engine aborts in the middle of a call.
    """

    def __init__(self, library: Library) -> None:
        """Take over the library's log."""
        self._library = library
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._is_dropping = False
        # ctypes frees a callback nobody holds, and the library would call into freed memory
        self._callback: Any = library.llama.llama_log_callback(self._take)
        library.llama.llama_log_set(self._callback, None)

    def lines(self) -> tuple[str, ...]:
        """Return what was said since `clear`."""
        return tuple(self._lines)

    def clear(self) -> None:
        """Forget what was said so far."""
        self._lines.clear()

    def release(self) -> None:
        """Give the log back to stderr; the library must not call into a collected object."""
        self._library.llama.llama_log_set(self._library.llama.llama_log_callback(), None)

    def _take(self, level: int, text: bytes, _user_data: object) -> None:
        words = text.decode("utf-8", "replace")
        if level != LEVEL_CONTINUED:
            self._is_dropping = level == LEVEL_DEBUG and not any(mark in words for mark in WANTED_DEBUG)
        if self._is_dropping:
            return
        if level == LEVEL_CONTINUED and self._lines:
            self._lines[-1] += words.rstrip("\n")
        else:
            self._lines.append(words.rstrip("\n"))
        if level != LEVEL_DEBUG:
            os.write(STDERR, text)
