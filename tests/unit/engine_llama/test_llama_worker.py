"""The built-in engine in its real process: stops in time, whatever it is doing."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER
from app.engine.protocol import ChatMessage, Event, Finished, LoadProgress, PromptProgress, Token
from app.findings import FindingCode, FindingError
from app.options import EngineOptions, SamplingOptions

pytestmark = pytest.mark.engine

OPTIONS = EngineOptions(n_ctx=8192, n_ubatch=256, n_threads=1, n_threads_batch=1, n_gpu_layers=0)
GREEDY = SamplingOptions(temperature=0.0)
CANCEL_SECONDS = 2.0


def test_a_load_is_cancelled_in_time(exact_twin: Path) -> None:
    cancelled_at: list[float] = []

    with BlockingEngine(WORKER) as engine:

        def cancel(event: Event) -> None:
            if isinstance(event, LoadProgress) and event.fraction and not cancelled_at:
                cancelled_at.append(time.monotonic())
                engine.cancel()

        with pytest.raises(FindingError) as caught:
            engine.load(exact_twin, replace(OPTIONS, load_mode="none", check_tensors=True), cancel)
        taken = time.monotonic() - cancelled_at[0]
    assert caught.value.finding.code is FindingCode.LOAD_CANCELLED
    assert taken < CANCEL_SECONDS


@pytest.mark.parametrize(
    ("kind", "words"), [(PromptProgress, "The sea is wide. " * 800), (Token, "Tell me a long story.")]
)
def test_prompt_and_answer_are_cancelled_in_time(exact_twin: Path, kind: type[Event], words: str) -> None:
    cancelled_at = 0.0
    with BlockingEngine(WORKER) as engine:
        engine.load(exact_twin, OPTIONS)
        for event in engine.generate((ChatMessage("user", words),), GREEDY):
            if isinstance(event, kind) and not cancelled_at:
                cancelled_at = time.monotonic()
                engine.cancel()
        taken = time.monotonic() - cancelled_at
    assert isinstance(event, Finished)
    assert event.finish_reason == "cancelled"
    assert taken < CANCEL_SECONDS
