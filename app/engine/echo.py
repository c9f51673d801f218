"""An engine without a model: says the last message back. For tests and for trying the program out."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Final

from app.engine.backend import Emit, EngineGoneError, IsCancelled
from app.engine.log_reader import explain_exit
from app.engine.protocol import (
    Checked,
    CheckModel,
    DeviceInfo,
    Finished,
    Generate,
    Hello,
    Loaded,
    LoadModel,
    LoadProgress,
    PromptProgress,
    Timings,
    Token,
)
from app.findings import FindingCode, FindingError, error
from app.options import KvOverrideValue, SamplingOptions
from app.processes.children import ChildProcess, ChildStreams, end_child, start_child
from app.processes.environment import engine_environment

_STEP_SECONDS: Final = 0.02
_CHUNK: Final = re.compile(r"\s*\S+|\s+$")
_OPTION_PREFIX: Final = "echo."
_OPTIONS: Final = ("echo.load_seconds", "echo.load_signal", "echo.ignore_cancel")


class EchoBackend:
    """Streams the last user message back, a word at a time.

    A message may start with words that tests need:

    - `/repeat N TEXT` answers TEXT N times.
    - `/slow TEXT` takes 20 ms for each word, so that there is time to cancel.
    - `/prompt N TEXT` takes N steps of 20 ms to read the prompt.
    - `/busy N TEXT` works for N seconds without a word, deaf to being cancelled, then answers TEXT.
    - `/die SIGNAL TEXT` answers TEXT, then raises the signal (`SIGKILL`, `SIGSEGV`) against itself.
    - `/child` starts a child process, as a server engine would, and answers its process id;
      without it the engine is gone.

    So may `kv_overrides` of a load: `echo.load_seconds`, `echo.load_signal`, `echo.ignore_cancel`; any
    other `echo.` key is refused by name.
    """

    def __init__(self) -> None:
        self._children: list[ChildProcess] = []

    def hello(self) -> Hello:
        """Name the engine; its one device is the processor."""
        return Hello("echo", "1", (DeviceInfo("CPU", "echo", "cpu"),))

    def load(self, command: LoadModel, emit: Emit, is_cancelled: IsCancelled) -> Loaded:
        """Report every option as applied.

        Raises:
            FindingError: `LOAD_CANCELLED`, or `OPTION_UNSUPPORTED` for an unknown `echo.` key.
        """
        own = _own_options(dict(command.options.kv_overrides))
        steps = max(1, round(float(own.get("echo.load_seconds", 0)) / _STEP_SECONDS))
        for step in range(steps):
            if is_cancelled() and not own.get("echo.ignore_cancel"):
                raise FindingError(error(FindingCode.LOAD_CANCELLED))
            emit(LoadProgress("weights", step / steps))
            if steps > 1:
                time.sleep(_STEP_SECONDS)
        if "echo.load_signal" in own:
            _raise_signal(str(own["echo.load_signal"]))
        applied = command.options.to_json()
        return Loaded(applied, context_length=command.options.n_ctx)

    def check(self, command: CheckModel) -> Checked:  # noqa: ARG002  # the port's signature
        """Accept every path: there is nothing to load."""
        return Checked(accepted=True)

    def generate(self, command: Generate, emit: Emit, is_cancelled: IsCancelled) -> Finished:
        """Say the last message back."""
        started = time.perf_counter()
        message = command.messages[-1].content if command.messages else ""
        prompt_tokens = sum(len(_CHUNK.findall(m.content)) for m in command.messages)
        word, _, rest = message.partition(" ")
        reading_steps, rest = _number_and_text(rest) if word == "/prompt" else (1, rest)
        for step in range(reading_steps):
            if is_cancelled():
                return Finished(command.request_id, "cancelled", Timings(prompt_tokens=step))
            emit(PromptProgress(command.request_id, step + 1, reading_steps))
            if reading_steps > 1:
                time.sleep(_STEP_SECONDS)
        answering = time.perf_counter()
        answer = rest if word == "/prompt" else message
        spoken, finish_reason = self._speak(command, answer, emit, is_cancelled)
        done = time.perf_counter()
        timings = Timings(
            prompt_tokens=prompt_tokens,
            prompt_ms=(answering - started) * 1000,
            predicted_tokens=spoken,
            predicted_ms=(done - answering) * 1000,
            cached_tokens=0,
        )
        return Finished(command.request_id, finish_reason, timings)

    def check_alive(self) -> None:
        """A child that died takes the engine with it."""
        for child in self._children:
            exit_code = child.poll()
            if exit_code is not None:
                raise EngineGoneError(explain_exit(exit_code, (), "idle"))

    def close(self) -> None:
        """End the children."""
        for child in self._children:
            end_child(child)

    def _speak(
        self, command: Generate, message: str, emit: Emit, is_cancelled: IsCancelled
    ) -> tuple[int, str]:
        spoken = 0
        for chunk in _until_stop(self._chunks(message), command.sampling):
            if is_cancelled():
                return spoken, "cancelled"
            if command.sampling.max_tokens is not None and spoken >= command.sampling.max_tokens:
                return spoken, "length"
            emit(Token(command.request_id, chunk))
            spoken += 1
        return spoken, "cancelled" if is_cancelled() else "stop"

    def _chunks(self, message: str) -> Iterator[str]:
        word, _, rest = message.partition(" ")
        match word:
            case "/repeat":
                times, text = _number_and_text(rest)
                for _ in range(times):
                    yield from _CHUNK.findall(f"{text} ")
            case "/slow":
                for chunk in _CHUNK.findall(rest):
                    yield chunk
                    time.sleep(_STEP_SECONDS)
            case "/busy":
                seconds, text = _number_and_text(rest)
                _work(seconds)
                yield from _CHUNK.findall(text)
            case "/die":
                name, _, text = rest.partition(" ")
                yield from _CHUNK.findall(text)
                _raise_signal(name)
            case "/child":
                yield str(self._start_child())
            case _:
                yield from _CHUNK.findall(message)

    def _start_child(self) -> int:
        child = start_child(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            env=engine_environment(os.environ),
            streams=ChildStreams(subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL),
            die_with_parent=True,
        )
        self._children.append(child)
        return child.pid


def _own_options(overrides: Mapping[str, KvOverrideValue]) -> dict[str, KvOverrideValue]:
    own = {name: value for name, value in overrides.items() if name.startswith(_OPTION_PREFIX)}
    for name in own:
        if name not in _OPTIONS:
            raise FindingError(error(FindingCode.OPTION_UNSUPPORTED, name=name, value=str(own[name])))
    return own


def _number_and_text(rest: str) -> tuple[int, str]:
    number, _, text = rest.partition(" ")
    return (int(number), text) if number.isascii() and number.isdigit() else (1, rest)


def _until_stop(chunks: Iterator[str], sampling: SamplingOptions) -> Iterator[str]:
    said = ""
    for chunk in chunks:
        cuts = [at for stop in sampling.stop if stop and (at := (said + chunk).find(stop)) >= 0]
        if cuts:
            if rest := (said + chunk)[len(said) : min(cuts)]:
                yield rest
            return
        said += chunk if sampling.stop else ""
        yield chunk


def _work(seconds: int) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pass


def _raise_signal(name: str) -> None:
    """Die as native code would; the signal's own action, no Python handler."""
    number = signal.Signals[name]
    if sys.platform != "win32":
        os.kill(os.getpid(), number)
        threading.Event().wait()  # until it arrives
    os._exit(128 + number)
