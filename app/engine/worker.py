"""The worker process: reads commands, runs one backend, says what happens."""

import argparse
import os
import queue
import sys
import threading
import traceback
from pathlib import Path
from typing import IO, Final

from app.engine.backend import Backend, EngineGoneError
from app.engine.protocol import (
    Cancel,
    CheckModel,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    ProtocolError,
    decode,
    encode,
)
from app.engine.spec import BackendKind
from app.findings import Finding, FindingCode, FindingError, error
from app.options import OptionError
from app.processes.children import kill_own_group

EXIT_OK = 0
EXIT_FAILED = 1

_IDLE_SECONDS: Final = 0.5
"""Between two looks whether an idle engine is still there."""


class Job:
    """A command that takes time, and whether it is still wanted."""

    def __init__(self, command: LoadModel | CheckModel | Generate) -> None:
        self.command = command
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Note that nobody wants it any more. Any thread."""
        self._cancelled.set()

    def is_cancelled(self) -> bool:
        """True once `cancel` was called. Any thread."""
        return self._cancelled.is_set()


class EventSender:
    """Writes events to the window, a line each. Any thread."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, event: Event) -> None:
        """Send one event at once. Ends the process when nobody reads any more."""
        line = encode(event)
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
        except OSError:
            _end_now()


class CommandReader:
    """Reads stdin in its own thread: queues jobs, cancels at once, ends the process at the end."""

    def __init__(self, stream: IO[bytes], sender: EventSender) -> None:
        self._stream = stream
        self._sender = sender
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._newest: Job | None = None

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def next_job(self, seconds: float | None = None) -> Job | None:
        """Wait for the next job; None when none came in time."""
        try:
            return self._queue.get(timeout=seconds)
        except queue.Empty:
            return None

    def _read(self) -> None:
        for line in self._stream:
            self._take(line)
        _end_now()

    def _take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ProtocolError as reason:
            sys.stderr.write(f"not a command: {reason}\n")
            self._sender.send(Failed(_refusal(reason)))
            return
        if isinstance(message, Cancel):
            if self._newest is not None:
                self._newest.cancel()
        elif isinstance(message, LoadModel | CheckModel | Generate):
            self._newest = Job(message)
            self._queue.put(self._newest)
        else:
            sys.stderr.write(f"an event where a command belongs: {type(message).__name__}\n")


def worker_main(argv: list[str]) -> int:
    """Run a worker until its window goes; `argv` is what follows `--engine-worker`."""
    args = _parser().parse_args(argv)
    sender = EventSender(_private_stdout())
    reader = CommandReader(open(0, "rb", closefd=False), sender)  # noqa: SIM115  # stdin, for good
    reader.start()
    try:
        backend = _backend(BackendKind(args.backend), args.pack_folder)
        sender.send(backend.hello())
        while True:
            job = reader.next_job(_IDLE_SECONDS)
            if job is None:
                backend.check_alive()
            else:
                _run(backend, job, sender)
    except FindingError as reason:
        sender.send(Failed(reason.finding))
    except MemoryError:
        traceback.print_exc()
        sender.send(Failed(error(FindingCode.ENGINE_OUT_OF_RAM, needed_bytes=None)))
        return EXIT_FAILED
    except Exception as reason:  # noqa: BLE001  # worker entry: logged and reported
        traceback.print_exc()
        sender.send(Failed(_unexpected(args.backend, reason)))
        return EXIT_FAILED
    return EXIT_OK


def _run(backend: Backend, job: Job, sender: EventSender) -> None:
    """Run one job. What is raised ends the worker: a failed load, a dead engine, but no failed answer."""
    match job.command:
        case LoadModel() as load:
            if job.is_cancelled():
                raise FindingError(error(FindingCode.LOAD_CANCELLED))
            sender.send(backend.load(load, sender.send, job.is_cancelled))
        case CheckModel() as check:
            sender.send(backend.check(check))
        case Generate() as generate:
            sender.send(_answer(backend, generate, sender, job))


def _answer(backend: Backend, command: Generate, sender: EventSender, job: Job) -> Finished | Failed:
    if job.is_cancelled():
        return Finished(command.request_id, "cancelled")
    try:
        return backend.generate(command, sender.send, job.is_cancelled)
    except EngineGoneError:
        raise
    except FindingError as reason:
        return Failed(reason.finding, command.request_id)


def _backend(kind: BackendKind, pack_folder: Path | None) -> Backend:
    match kind:
        case BackendKind.LLAMA:
            from app.engine.llama.backend import LlamaBackend

            return LlamaBackend()
        case BackendKind.LLAMA_SERVER:
            from app.engine.llama_server import LlamaServerBackend

            if pack_folder is None:
                raise FindingError(_unexpected(kind, "--pack-folder is missing"))
            return LlamaServerBackend(pack_folder)
        case BackendKind.ECHO:
            from app.engine.echo import EchoBackend

            return EchoBackend()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="moxie --engine-worker")
    parser.add_argument("--backend", choices=[kind.value for kind in BackendKind], required=True)
    parser.add_argument("--pack-folder", type=Path)
    return parser


def _private_stdout() -> IO[bytes]:
    """Return a stream to the pipe behind fd 1, and let fd 1 be stderr: native code prints there."""
    private = os.dup(1)
    os.dup2(2, 1)
    return open(private, "wb")  # noqa: PTH123  # open as long as the process


def _refusal(reason: ProtocolError) -> Finding:
    cause = reason.__cause__
    if isinstance(cause, OptionError):
        return error(FindingCode.OPTION_UNSUPPORTED, name=cause.field_name, value=str(cause.value))
    return _unexpected("worker", reason)


def _unexpected(engine: str, reason: object) -> Finding:
    return error(FindingCode.ENGINE_START_FAILED, engine=engine, detail=f"{reason}")


def _end_now() -> None:
    kill_own_group()
    os._exit(EXIT_OK)
