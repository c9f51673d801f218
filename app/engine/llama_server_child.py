"""One running llama-server: its port, its key, its log; it dies with this process."""

import contextlib
import os
import secrets
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from app.engine.llama_server_http import HOST, ServerAddress
from app.engine.llama_server_key import KeyFile
from app.findings import FindingCode, FindingError, error
from app.processes.children import ChildStreams, end_child, start_child
from app.processes.environment import engine_environment

_ENDING: Final = "cleaning up before exit"
"""What a server logs once it was told to end: then it may take 30 s to give up its connections (b10434)."""

LINES_KEPT: Final = 4000
"""A load at verbosity 4 writes some 250 lines, more for metadata-rich models."""

PHASES: Final = (
    ("warming up the model", "warmup"),
    ("constructing llama_context", "context"),
    ("loading model tensors", "weights"),
)
"""Text in the log -> the phase of `LoadProgress` that begins with it."""

_LINE_LIMIT_BYTES: Final = 16_384
_KEY_BYTES: Final = 32
_END_SECONDS: Final = 0.5
_SETTLE_SECONDS: Final = 0.05
_SETTLE_LIMIT_SECONDS: Final = 1.0

ArgumentsFor = Callable[[int, str], Sequence[str]]
"""Port and key file's name -> arguments."""


class ServerChild:
    """A llama-server process. `lines`, `phase` and `seconds_silent` may be read from any thread.

    Attributes:
        is_ending: It said that it was told to end.
    """

    def __init__(self, executable: Path, arguments_for: ArgumentsFor, on_line: Callable[[str], None]) -> None:
        """Start it. Call from a thread that lives as long as the process (parent-death signal).

        Args:
            on_line: Gets every line of its output, from the thread that reads it.

        Raises:
            FindingError: it cannot be started.
        """
        self.phase = "starting"
        self.is_ending = False
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._lock = threading.Lock()
        self._last_line_at = time.monotonic()
        self.address = ServerAddress(_free_port(), secrets.token_hex(_KEY_BYTES))
        # named relatively, so in ASCII whatever the user is called: Windows engines use the code page
        self._key_file = KeyFile(self.address.key)
        argv = [str(executable), *arguments_for(self.address.port, self._key_file.path.name)]
        try:
            self._process = start_child(
                argv,
                env=engine_environment(os.environ),
                streams=ChildStreams(stdout=subprocess.PIPE, stderr=subprocess.STDOUT),
                die_with_parent=True,
                cwd=self._key_file.path.parent,
            )
        except OSError as reason:
            self._key_file.forget()
            raise FindingError(
                error(FindingCode.ENGINE_START_FAILED, engine=executable.parent.name, detail=str(reason))
            ) from reason
        self._reader = threading.Thread(target=self._read_log, name="llama-server-log", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines of its output, oldest first."""
        with self._lock:
            return tuple(self._lines)

    @property
    def seconds_silent(self) -> float:
        """Seconds since the last line."""
        return time.monotonic() - self._last_line_at

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; returns the exit code, its log then being complete, or None if it lives."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(_END_SECONDS)
        return code

    def settle(self) -> None:
        """Wait until its log has caught up with its answers: no new line for a moment."""
        deadline = time.monotonic() + _SETTLE_LIMIT_SECONDS
        while self.seconds_silent < _SETTLE_SECONDS and time.monotonic() < deadline:
            self.wait(_SETTLE_SECONDS)

    def forget_key_file(self) -> None:
        """Delete the file with the key: the server has read it once it listens."""
        self._key_file.forget()

    def stop(self) -> int:
        """End it, by force if need be; it is gone when this returns. Returns its exit code."""
        exit_code = end_child(self._process, _END_SECONDS)
        self._reader.join(_END_SECONDS)
        self._key_file.forget()
        return exit_code

    def _read_log(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with stream, contextlib.suppress(OSError, ValueError):
            for line in _lines_of(stream):
                self._take(line)

    def _take(self, line: str) -> None:
        self._last_line_at = time.monotonic()
        self.is_ending = self.is_ending or _ENDING in line
        self.phase = next((phase for text, phase in PHASES if text in line), self.phase)
        with self._lock:
            self._lines.append(line)
        self._on_line(line)


def _lines_of(stream: IO[bytes]) -> Iterator[str]:
    pending = b""
    while chunk := os.read(stream.fileno(), _LINE_LIMIT_BYTES):
        *whole, pending = (pending + chunk).split(b"\n")
        for line in whole:
            yield line.rstrip(b"\r").decode(errors="replace")
        if len(pending) > _LINE_LIMIT_BYTES:
            yield pending.decode(errors="replace")
            pending = b""
    if pending:
        yield pending.decode(errors="replace")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
