"""How soon an engine is gone when its window died, and how soon each phase can be cancelled.

`python -m tests.bench.bench_engine_end`: the window's process is killed while an answer is generated, with
the echo engine and with the real one: the engine may live 5 s. Then cancel in the real window: a load that
does not listen, a real load, a long prompt, an answer, a model let go: 2 s each. Exits 1 when one takes
longer.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil

from app.engine.protocol import PromptProgress, Token
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent
from app.engine.spec import EngineSpec
from app.options import EngineOptions, SamplingOptions
from app.ui.controllers.model_jobs import LIMITS
from app.ui.model_view import ModelPhase
from app.ui.program import Program
from tests.bench.window_bench import (
    DEFAULT_MODEL,
    load,
    wait_for_phase,
    wait_until,
    window_program,
)
from tests.bench.window_start import load_average
from tests.session_recorder import is_running
from tests.window_process import TINY_MODEL, WindowProcess

GONE_SECONDS_MAX: Final = 5.0
CANCEL_SECONDS_MAX: Final = 2.0
TRIES: Final = 3
LONG: Final = SamplingOptions(temperature=0.0, max_tokens=2000)
STORY: Final = "Write a long story about a lighthouse keeper and the sea, with many details."
LONG_PROMPT: Final = "The sea was calm and the keeper wrote down what he saw. " * 120
KINDS: Final = {"echo": (TINY_MODEL, "/slow " + "word " * 5_000), "worker": (DEFAULT_MODEL, STORY)}


def deaf_session(spec: EngineSpec, listener: Callable[[SessionEvent], None]) -> EngineSession:
    """Return a session whose load takes a minute and hears no cancel, as native code may."""

    class Session(EngineSession):
        def load(self, path: Path, options: EngineOptions) -> None:
            own = (("echo.load_seconds", 60), ("echo.ignore_cancel", True))
            super().load(path, replace(options, kv_overrides=own))

    return Session(spec, listener, limits=LIMITS)


def main() -> None:
    """Print the times; exit 1 when one is too long."""
    print(load_average(), flush=True)
    is_late = False
    if sys.platform != "win32":
        for engine in KINDS:
            is_late |= _report(f"{engine}: window killed", _times_to_go(engine), GONE_SECONDS_MAX)
    is_late |= _report("a load that does not listen", _cancelled_deaf_loads(), CANCEL_SECONDS_MAX)
    with window_program("worker", LONG) as program:
        is_late |= _report("a load of the real model", _cancelled_loads(program), CANCEL_SECONDS_MAX)
        load(program, DEFAULT_MODEL)
        is_late |= _report("its prompt", _stopped(program, LONG_PROMPT, PromptProgress), CANCEL_SECONDS_MAX)
        is_late |= _report("its answer", _stopped(program, STORY, Token), CANCEL_SECONDS_MAX)
        is_late |= _report("letting it go", _unloaded(program), CANCEL_SECONDS_MAX)
    print(f"limits {GONE_SECONDS_MAX} s and {CANCEL_SECONDS_MAX} s; {load_average()}")
    if is_late:
        raise SystemExit(1)


def _report(name: str, seconds: Sequence[float], seconds_max: float) -> bool:
    """Print the times; return whether the longest is too long."""
    print(f"{name:28} " + ", ".join(f"{took:.2f} s" for took in seconds), flush=True)
    return max(seconds) > seconds_max


def _times_to_go(engine: str) -> list[float]:
    model, question = KINDS[engine]
    return [_seconds_to_go(engine, model, question) for _ in range(TRIES)]


def _seconds_to_go(engine: str, model: Path, question: str) -> float:
    with (
        tempfile.TemporaryDirectory(prefix="moxie-", ignore_cleanup_errors=True) as home,
        WindowProcess(Path(home), [str(model)], question=question, engine=engine) as window,
    ):
        window.wait_for("text")
        engines = window.children()
        if not engines:
            raise RuntimeError("there was no engine to end")
        window.process.kill()
        began = time.perf_counter()
        while any(is_running(pid) for pid in engines) and time.perf_counter() - began < 4 * GONE_SECONDS_MAX:
            time.sleep(0.005)
        return time.perf_counter() - began


def _cancelled_deaf_loads() -> list[float]:
    with window_program("echo", make=deaf_session) as program:
        return [_cancelled_load(program, TINY_MODEL) for _ in range(TRIES)]


def _cancelled_loads(program: Program) -> list[float]:
    return [_cancelled_load(program, DEFAULT_MODEL) for _ in range(TRIES)]


def _cancelled_load(program: Program, model: Path) -> float:
    """Cancel a load in the middle of it; return the time until another can be begun."""
    program.model.pick(model)
    wait_for_phase(program, ModelPhase.PLANNED)
    program.model.load()
    wait_until(lambda: program.model.view.hello is not None)
    return _seconds_until(program, program.model.cancel_load, ModelPhase.PLANNED)


def _stopped(program: Program, question: str, kind: type[PromptProgress] | type[Token]) -> list[float]:
    return [_stop(program, f"{number} {question}", kind) for number in range(TRIES)]


def _stop(program: Program, question: str, kind: type[PromptProgress] | type[Token]) -> float:
    """Stop an answer at its first event of a kind; return the time until the next can be asked for."""
    seen: list[object] = []
    program.chat.new_chat()
    program.model.answer_event.connect(seen.append)
    program.chat.send(question)
    wait_until(lambda: any(isinstance(event, kind) for event in seen))
    program.model.answer_event.disconnect(seen.append)
    return _seconds_until(program, program.chat.stop, ModelPhase.READY)


def _unloaded(program: Program) -> list[float]:
    seconds = []
    for _ in range(TRIES):
        if not program.model.view.is_loaded:
            load(program, DEFAULT_MODEL)
        seconds.append(_seconds_until(program, program.model.unload, ModelPhase.PLANNED))
    return seconds


def _seconds_until(program: Program, act: Callable[[], object], phase: ModelPhase) -> float:
    """Return the time until the phase is reached; an engine that was let go is gone by then too."""
    engines = [child.pid for child in psutil.Process().children(recursive=True)]
    stays = phase is ModelPhase.READY
    began = time.perf_counter()
    act()
    wait_for_phase(program, phase)
    wait_until(lambda: stays or not any(is_running(pid) for pid in engines))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
