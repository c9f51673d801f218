"""The window's end of one worker process: lines out, lines in, its log, its end."""

import contextlib
import os
import queue
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol

from app import paths
from app.engine.plain_text import plain_event
from app.engine.protocol import Command, Event, ProtocolError, decode, encode
from app.engine.spec import EngineSpec
from app.engine.worker_log import WorkerLog
from app.processes.activity import Activity
from app.processes.children import ChildStreams, start_child
from app.processes.environment import engine_environment

LINE_LIMIT_BYTES: Final = 16 * 1024**2
_LOG_WAIT_SECONDS: Final = 1.0
_KILL_SECONDS: Final = 2.0
"""For a killed process to go; one that hangs in a driver or on a dead network drive takes longer."""


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
    return WorkerCommand(argv or own, engine_environment(os.environ | dict(spec.environment)), cwd)


class WorkerClient:
    """One running worker. Its methods may be called from any thread, and wait for nothing but `close`.

    Attributes:
        failure: What went wrong in this program while it listened; None when nothing did.
    """

    def __init__(self, command: WorkerCommand, log: WorkerLog, listener: WorkerListener) -> None:
        """Start the process; nothing is read before `listen`.

        Raises:
            OSError: the program cannot be started.
        """
        self.failure: str | None = None
        self._log = log
        self._listener = listener
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        pipes = ChildStreams(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        self._process = start_child(
            command.argv, env=command.env, cwd=command.cwd, streams=pipes, die_with_parent=False
        )
        self._stderr_thread = threading.Thread(target=self._read_log, name="engine-log", daemon=True)
        self._events_thread = threading.Thread(target=self._read_events, name="engine-events", daemon=True)
        self._stdin_thread = threading.Thread(
            target=self._write_commands, name="engine-commands", daemon=True
        )

    def listen(self) -> None:
        """Start reading; the listener is called from now on. Once."""
        for thread in (self._stderr_thread, self._stdin_thread, self._events_thread):
            thread.start()

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def send(self, command: Command) -> None:
        """Send a command. A worker that is gone takes none; its end is told through `on_exit`."""
        self._outbox.put(encode(command))

    def kill(self) -> None:
        """End the worker and its children at once; `on_exit` follows."""
        self._process.kill_all()

    def activity(self) -> Activity | None:
        """Return what the worker and its children have done so far; None when nobody can tell."""
        return self._process.activity()

    def close(self, timeout_seconds: float) -> None:
        """Let the worker go by closing its stdin, kill it after the timeout, and wait for its threads.

        Callable from a listener too: then only the process is waited for.
        """
        self._outbox.put(None)
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill_all()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_SECONDS)
        for thread in (self._events_thread, self._stderr_thread, self._stdin_thread):
            if thread is not threading.current_thread() and thread.is_alive():
                thread.join(_LOG_WAIT_SECONDS)

    def _read_events(self) -> None:
        stream = _pipe(self._process.stdout)
        try:
            with stream:
                while line := stream.readline(LINE_LIMIT_BYTES):
                    self._take(line)
        except Exception as reason:  # noqa: BLE001  # thread entry: the worker must not wait for a reader that is gone
            self.failure = f"{type(reason).__name__}: {reason}"
            self._log.add_text(traceback.format_exc())
            self._process.kill_all()
        return_code = self._process.wait()
        self._stderr_thread.join(_LOG_WAIT_SECONDS)  # its last lines explain the end
        self._log.close()
        self._outbox.put(None)
        self._listener.on_exit(self, return_code)

    def _take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ProtocolError as reason:
            self._log.add(f"not a message ({reason}): {line[:200]!r}")
            return
        if isinstance(message, Event):
            self._listener.on_event(self, plain_event(message))
        else:
            self._log.add(f"a command where an event belongs: {line[:200]!r}")

    def _write_commands(self) -> None:
        """Write what was sent; a worker that reads nothing blocks nobody but this thread."""
        # closing may fail as writing does: the worker is gone
        with contextlib.suppress(OSError, ValueError), _pipe(self._process.stdin) as stream:
            while (line := self._outbox.get()) is not None:
                stream.write(line)
                stream.flush()

    def _read_log(self) -> None:
        with _pipe(self._process.stderr) as stream:
            while line := stream.readline(LINE_LIMIT_BYTES):
                self._log.add(line.decode("utf-8", errors="replace"))


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # PIPE was asked for
    return stream
