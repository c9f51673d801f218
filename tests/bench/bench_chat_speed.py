"""What the window costs the model: its speed through the window against the engine alone, 95 % at least.

`python -m tests.bench.bench_chat_speed`: the default model, the same options and threads, five pairs of the
same answer, window and engine taking turns; tokens a second between the first and the last token as they
arrive. First with one thread: what the window takes from a processor that is not full; then with all the
plan asks for. Exits 1 when the median of the pairs is lower.
"""

import time
from dataclasses import replace
from statistics import median
from typing import Final

from app.engine.blocking import BlockingEngine
from app.engine.packs import choose_engine
from app.engine.protocol import ChatMessage, Token
from app.options import SamplingOptions
from app.ui.model_view import ModelPhase
from app.ui.program import Program
from app.ui.views.dock import MONITOR
from tests.bench.window_bench import DEFAULT_MODEL, load, wait_for_phase, wait_until, window_program
from tests.bench.window_start import load_average

PAIRS: Final = 5
SHARE_MIN: Final = 0.95
STORY: Final = "Write a long story about a lighthouse keeper and the sea, with many details."
SAMPLING: Final = SamplingOptions(temperature=0.0, max_tokens=120)
"""Greedy: the same answer every time."""


class Clock:
    """Notes when tokens arrive."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_answer_event(self, event: object) -> None:
        if isinstance(event, Token):
            self.times.append(time.perf_counter())

    @property
    def tokens_per_second(self) -> float:
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])


def main() -> None:
    """Print the speeds; exit 1 when the window costs too much."""
    print(load_average(), flush=True)
    with window_program("worker", SAMPLING) as program:
        shares = [_median_share(program, n_threads) for n_threads in (1, None)]
    print(f"limit {SHARE_MIN:.0%}; {load_average()}")
    if min(shares) < SHARE_MIN:
        raise SystemExit(1)


def _median_share(program: Program, n_threads: int | None) -> float:
    """Load the model into window and engine; return the window's speed as a share of the engine's alone."""
    program.model.set_wishes(replace(program.model.view.wishes, n_threads=n_threads))
    program.model.unload()
    wait_until(lambda: not program.model.view.is_loaded)
    load(program, DEFAULT_MODEL)
    options = program.model.view.asked
    assert options is not None
    program.window.dock.show_tab(MONITOR)
    with BlockingEngine(choose_engine("worker", None)) as alone:
        alone.load(DEFAULT_MODEL, options)
        _ask_window(program)  # both read the weights once
        _ask_engine(alone)
        pairs = [_pair(program, alone, window_first=number % 2 == 1) for number in range(PAIRS)]
        began, cpu = time.perf_counter(), time.thread_time()
        _ask_window(program)
        own = (time.thread_time() - cpu) / (time.perf_counter() - began)
    shares = [with_window / without for with_window, without in pairs]
    for (with_window, without), share in zip(pairs, shares, strict=True):
        print(f"  window {with_window:5.1f} tokens/s, engine alone {without:5.1f}: {share:.1%}")
    print(
        f"{options.n_threads} threads: median {median(shares):.1%}, the window itself {own:.0%} of one core"
    )
    return median(shares)


def _pair(program: Program, alone: BlockingEngine, *, window_first: bool) -> tuple[float, float]:
    if window_first:
        return _ask_window(program), _ask_engine(alone)
    without = _ask_engine(alone)
    return _ask_window(program), without


def _ask_window(program: Program) -> float:
    clock = Clock()
    program.chat.new_chat()
    program.model.answer_event.connect(clock.on_answer_event)
    program.chat.send(STORY)
    wait_for_phase(program, ModelPhase.READY)
    program.model.answer_event.disconnect(clock.on_answer_event)
    return clock.tokens_per_second


def _ask_engine(engine: BlockingEngine) -> float:
    clock = Clock()
    for event in engine.generate((ChatMessage("user", STORY),), SAMPLING):
        clock.on_answer_event(event)
    return clock.tokens_per_second


if __name__ == "__main__":
    main()
