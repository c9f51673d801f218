"""The program's own warnings: in a log that keeps, and at hand for a report."""

import contextlib
import logging
import sys
from collections import deque
from pathlib import Path
from typing import Final

from app.ui.capped_file import append_capped

LOG_NAME: Final = "window.log"
LINES_KEPT: Final = 100


class WindowLog(logging.Handler):
    """Takes warnings of every part of the program, from any thread; the console still gets them, if any."""

    def __init__(self, logs_folder: Path) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._file = logs_folder / LOG_NAME
        self._kept: deque[str] = deque(maxlen=LINES_KEPT)
        # what Python itself writes to the console with, though only while nobody else listens
        self._console = logging.lastResort if sys.stderr is not None else None

    def install(self) -> None:
        """Hear of every warning from now on."""
        root = logging.getLogger()
        root.addHandler(self)
        if self._console is not None:
            root.addHandler(self._console)

    def uninstall(self) -> None:
        """Hear nothing any more. Twice is harmless."""
        root = logging.getLogger()
        root.removeHandler(self)
        if self._console is not None:
            root.removeHandler(self._console)

    def lines(self) -> tuple[str, ...]:
        """Return the newest warnings of this run, oldest first. Any thread."""
        self.acquire()
        try:
            return tuple(self._kept)
        finally:
            self.release()

    def emit(self, record: logging.LogRecord) -> None:
        """Take one; a folder that cannot be written costs the file only."""
        text = self.format(record)
        self._kept.extend(text.splitlines())
        with contextlib.suppress(OSError):
            append_capped(self._file, text)
