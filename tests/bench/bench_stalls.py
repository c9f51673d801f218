"""What the person feels while an answer streams into the real window at 200 tokens a second and they type.

`python -m tests.bench.bench_stalls`: 8,000 tokens of headings, lists, code and tables from the echo engine's
process, the next message typed key by key meanwhile. A timer beats every millisecond; what lies between two
beats is a stall. Exits 1 when the stalls are too long or the end of the answer is dearer than its beginning.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest

from app.engine.protocol import ChatMessage, Token
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent
from app.engine.spec import EngineSpec
from app.options import SamplingOptions
from app.paths import resource_path
from app.ui.controllers.model_jobs import LIMITS
from app.ui.model_view import ModelPhase
from app.ui.program import Program
from tests.bench.bench_chat_view import STALL_MAX_MS_MAX, STALL_P95_MS_MAX, Heart
from tests.bench.window_bench import load, wait_for_phase, wait_until, window_program
from tests.bench.window_start import load_average
from tests.gui.chat_texts import long_answer

TOKENS: Final = 8_000
TOKENS_PER_SECOND: Final = 200
PART: Final = 1_000
KEY_MS: Final = 120
GROWTH_MAX: Final = 1.5
"""How much dearer the last thousand tokens may be than the first, in processor time of the GUI thread."""

MODEL: Final = resource_path("selftest", "tiny-moe.gguf")


class PacedSession(EngineSession):
    """Gives the long answer whatever is asked, at the pace of a fast model."""

    def __init__(self, spec: EngineSpec, listener: Callable[[SessionEvent], None]) -> None:
        self._due: float | None = None
        super().__init__(spec, lambda event: self._pace(event, listener), limits=LIMITS)

    def generate(self, messages: Sequence[ChatMessage], sampling: SamplingOptions) -> int:
        return super().generate((ChatMessage("user", "".join(long_answer(2 * TOKENS))),), sampling)

    def _pace(self, event: SessionEvent, listener: Callable[[SessionEvent], None]) -> None:
        if isinstance(event, Token):
            now = time.perf_counter()
            self._due = now if self._due is None else self._due + 1 / TOKENS_PER_SECOND
            time.sleep(max(0.0, self._due - now))
        listener(event)


@dataclass
class Recording:
    """What the GUI thread had to do by every thousandth token.

    Attributes:
        cpu_seconds: Processor time of the GUI thread.
        seconds: Wall clock.
        beats: How many beats there had been.
    """

    heart: Heart = field(default_factory=Heart)
    tokens: int = 0
    cpu_seconds: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    beats: list[int] = field(default_factory=list)

    def on_event(self, event: object) -> None:
        if not isinstance(event, Token):
            return
        if self.tokens >= PART * len(self.beats):
            self.mark()
        self.tokens += event.token_count

    def mark(self) -> None:
        self.cpu_seconds.append(time.thread_time())
        self.seconds.append(time.perf_counter())
        self.beats.append(len(self.heart.stalls_ms))

    def share(self, first: int, last: int) -> float:
        """Return the GUI thread's share of one core between two marks."""
        return (self.cpu_seconds[last] - self.cpu_seconds[first]) / (self.seconds[last] - self.seconds[first])

    def stalls(self, first: int, last: int) -> list[float]:
        return sorted(self.heart.stalls_ms[self.beats[first] : self.beats[last]])


def main() -> None:
    """Print stalls and costs; exit 1 when they are too high."""
    print(load_average(), flush=True)
    with window_program("echo", SamplingOptions(max_tokens=TOKENS), PacedSession) as program:
        load(program, MODEL)
        idle = _idle_stalls()
        recording = _stream(program)
    whole = recording.stalls(0, -1)
    p95, worst = whole[int(0.95 * len(whole))], whole[-1]
    parts = len(recording.beats) - 2  # the last mark is after the answer was rendered
    first, last = recording.share(0, 1), recording.share(parts - 1, parts)
    rate = recording.tokens / (recording.seconds[-1] - recording.seconds[0])
    print(f"{recording.tokens} tokens, {rate:.0f} a second")
    print(f"stalls: p95 {p95:.1f} ms, max {worst:.1f} ms; over 16 ms: {sum(s > 16 for s in whole)}")
    print(f"  without an answer: p95 {idle[int(0.95 * len(idle))]:.1f} ms, max {idle[-1]:.1f} ms")
    for number in range(parts):
        stalls = recording.stalls(number, number + 1)
        print(
            f"  tokens {number * PART:5} ..: {recording.share(number, number + 1):4.0%} of one core,"
            f" p95 {stalls[int(0.95 * len(stalls))]:4.1f} ms, max {stalls[-1]:4.1f} ms"
        )
    end = recording.stalls(parts, parts + 1)
    print(f"  the end, rendered: max {end[-1]:.1f} ms")
    print(f"GUI thread: {recording.share(0, -1):.0%} of one core; last thousand / first {last / first:.2f}")
    print(
        f"limits p95 {STALL_P95_MS_MAX} ms, max {STALL_MAX_MS_MAX} ms, growth {GROWTH_MAX}; {load_average()}"
    )
    if p95 > STALL_P95_MS_MAX or worst > STALL_MAX_MS_MAX or last / first > GROWTH_MAX:
        raise SystemExit(1)


def _stream(program: Program) -> Recording:
    """Have the answer streamed while keys come in; return what was recorded."""
    recording = Recording()
    box = program.window.chat_place.composer.box
    keys = QTimer(interval=KEY_MS)
    keys.timeout.connect(lambda: QTest.keyClick(box, Qt.Key.Key_W))
    program.model.answer_event.connect(recording.on_event)
    recording.heart.start()
    keys.start()
    program.chat.send("Write a lot.")
    wait_for_phase(program, ModelPhase.READY)
    recording.mark()
    _let_live(1.0)
    recording.mark()
    keys.stop()
    recording.heart.stop()
    return recording


def _idle_stalls() -> list[float]:
    heart = Heart()
    heart.start()
    _let_live(3.0)
    heart.stop()
    return sorted(heart.stalls_ms)


def _let_live(seconds: float) -> None:
    until = time.perf_counter() + seconds
    wait_until(lambda: time.perf_counter() > until)


if __name__ == "__main__":
    main()
