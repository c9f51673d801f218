"""What an engine wrote to stderr: its last lines in memory, the first megabytes in a file."""

import contextlib
import os
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import IO, Final

from app.engine.plain_text import plain
from app.paths import logs_folder

TAIL_LINES: Final = 2000
FILE_LIMIT_BYTES: Final = 4 * 1024**2
FILES_KEPT: Final = 10
LINE_LIMIT_CHARACTERS: Final = 4000


class WorkerLog:
    """The log of one worker. `add` and `tail` may be called from any thread.

    A file that cannot be written (disk full, read-only folder) costs the file, never the engine.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Open a new `engine-*.log` in `folder` and delete the oldest beyond `FILES_KEPT`.

        Args:
            folder: None for the program's own.
        """
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._written_bytes = 0
        self._file: IO[bytes] | None = None
        self.path: Path | None = None
        try:
            folder = logs_folder() if folder is None else folder
            _prune(folder)
            self._open(folder)
        except OSError:
            self.path = None

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines, oldest first, without line ends."""
        with self._lock:
            return tuple(self._lines)

    def add(self, line: str) -> None:
        """Keep one line, without what would steer a terminal."""
        shortened = plain(line[:LINE_LIMIT_CHARACTERS]).rstrip()
        with self._lock:
            self._lines.append(shortened)
            self._write(f"{shortened}\n".encode(errors="replace"))

    def add_text(self, text: str) -> None:
        """Keep several lines."""
        for line in text.splitlines():
            self.add(line)

    def close(self) -> None:
        """Close the file, and delete it when nothing is in it; the lines stay readable."""
        with self._lock:
            self._stop_writing()
            if self.path is not None and not self._written_bytes:
                with contextlib.suppress(OSError):
                    self.path.unlink(missing_ok=True)
                self.path = None

    def _open(self, folder: Path) -> None:
        descriptor, name = tempfile.mkstemp(prefix="engine-", suffix=".log", dir=folder)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self.path = Path(name)

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data)
        except OSError:
            self._stop_writing()
            return
        self._written_bytes += len(data)
        if self._written_bytes >= FILE_LIMIT_BYTES:
            self._stop_writing()

    def _stop_writing(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _prune(folder: Path) -> None:
    logs = sorted(folder.glob("engine-*.log"), key=lambda log: log.stat().st_mtime)
    for log in logs[: len(logs) - FILES_KEPT + 1 if len(logs) >= FILES_KEPT else 0]:
        log.unlink()
