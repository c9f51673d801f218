"""The window's end of one worker process: lines out, lines in, its log, its end."""

import contextlib
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol

from app import paths
from app.engine.environment import engine_environment
from app.engine.process import ChildStreams, end_child, kill_child, start_child
from app.engine.protocol import Command, Event, ProtocolError, decode, encode
from app.engine.spec import EngineSpec
from app.engine.worker_log import WorkerLog

LINE_LIMIT_BYTES: Final = 16 * 1024**2
_LOG_WAIT_SECONDS: Final = 1.0


class WorkerListener(Protocol):
    """Told what a worker says. Called from the `engine-events` thread, in order; quick."""

    def on_event(self, client: "WorkerClient", event: Event) -> None:
        """Take one event."""
        ...

    def on_exit(self, client: "WorkerClient", return_code: int) -> None:
        """Take the end of the process; nothing comes after it."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How a worker is started."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path | None


def worker_command(spec: EngineSpec, argv: Sequence[str] | None = None) -> WorkerCommand:
    """Return how to start a worker for `spec`: this program again, or `argv` when given."""
    own = [*paths.worker_command(), "--engine-worker", *spec.worker_arguments()]
    cwd = None if getattr(sys, "frozen", False) else paths.source_root()
    return WorkerCommand(argv or own, engine_environment(os.environ), cwd)


class WorkerClient:
    """One running worker. Its methods may be called from any thread."""

    def __init__(self, command: WorkerCommand, log: WorkerLog, listener: WorkerListener) -> None:
        """Start the process; nothing is read before `listen`.

        Raises:
            OSError: the program cannot be started.
        """
        self._log = log
        self._listener = listener
        self._write_lock = threading.Lock()
        pipes = ChildStreams(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        self._process = start_child(
            command.argv, env=command.env, cwd=command.cwd, streams=pipes, die_with_parent=False
        )
        self._stderr_thread = threading.Thread(target=self._read_log, name="engine-log", daemon=True)
        self._events_thread = threading.Thread(target=self._read_events, name="engine-events", daemon=True)

    def listen(self) -> None:
        """Start reading; the listener is called from now on. Once."""
        self._stderr_thread.start()
        self._events_thread.start()

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def send(self, command: Command) -> None:
        """Send a command. A worker that is gone takes none; its end is told through `on_exit`."""
        line = encode(command)
        with self._write_lock, contextlib.suppress(OSError, ValueError):
            stdin = _pipe(self._process.stdin)
            stdin.write(line)
            stdin.flush()

    def kill(self) -> None:
        """End the worker and its child at once; `on_exit` follows."""
        kill_child(self._process)

    def close(self, timeout_seconds: float) -> None:
        """Let the worker go by closing its stdin, kill it after the timeout, and wait for its threads.

        Callable from a listener too: then only the process is waited for.
        """
        with self._write_lock, contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            kill_child(self._process)
            end_child(self._process)
        for thread in (self._events_thread, self._stderr_thread):
            if thread is not threading.current_thread():
                thread.join(_LOG_WAIT_SECONDS)

    def _read_events(self) -> None:
        stream = _pipe(self._process.stdout)
        try:
            with stream:
                while line := stream.readline(LINE_LIMIT_BYTES):
                    self._take(line)
        except Exception:  # noqa: BLE001  # thread entry: the worker must not wait for a reader that is gone
            self._log.add(traceback.format_exc())
            kill_child(self._process)
        return_code = self._process.wait()
        self._stderr_thread.join(_LOG_WAIT_SECONDS)  # its last lines explain the end
        self._log.close()
        with self._write_lock, contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        self._listener.on_exit(self, return_code)

    def _take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ProtocolError as reason:
            self._log.add(f"not a message ({reason}): {line[:200]!r}")
            return
        if isinstance(message, Event):
            self._listener.on_event(self, message)
        else:
            self._log.add(f"a command where an event belongs: {line[:200]!r}")

    def _read_log(self) -> None:
        with _pipe(self._process.stderr) as stream:
            while line := stream.readline(LINE_LIMIT_BYTES):
                self._log.add(line.decode("utf-8", errors="replace"))


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # PIPE was asked for
    return stream
