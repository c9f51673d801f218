"""The engine as the command line uses it."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage, Event, Failed, Finished, Hello, LoadProgress, Token
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode, FindingError
from app.options import EngineOptions, SamplingOptions

MODEL = Path("any.gguf")
ON_CPU = EngineOptions(n_gpu_layers=0)


@pytest.fixture
def engine() -> Iterator[BlockingEngine]:
    with BlockingEngine(EngineSpec("echo", BackendKind.ECHO)) as engine:
        yield engine


def ask(engine: BlockingEngine, text: str) -> list[object]:
    return list(engine.generate([ChatMessage("user", text)], SamplingOptions()))


def test_a_load_reports_progress_and_returns_what_was_applied(engine: BlockingEngine) -> None:
    seen: list[Event] = []
    loaded = engine.load(MODEL, ON_CPU, seen.append)
    assert loaded.applied["n_gpu_layers"] == 0
    assert [type(event) for event in seen] == [Hello, LoadProgress]
    assert engine.hello == seen[0]


def test_an_answer_is_yielded_word_by_word_and_ends_with_finished(engine: BlockingEngine) -> None:
    engine.load(MODEL, ON_CPU)
    for text in ("one two", "three"):
        *words, last = ask(engine, text)
        assert "".join(word.text for word in words if isinstance(word, Token)) == text
        assert isinstance(last, Finished)


def test_max_tokens_ends_an_answer_by_length(engine: BlockingEngine) -> None:
    engine.load(MODEL, ON_CPU)
    *_, last = engine.generate([ChatMessage("user", "/repeat 9 word")], SamplingOptions(max_tokens=4))
    assert isinstance(last, Finished)
    assert (last.finish_reason, last.timings.predicted_tokens) == ("length", 4)


def test_a_stop_text_is_not_said(engine: BlockingEngine) -> None:
    engine.load(MODEL, ON_CPU)
    events = engine.generate([ChatMessage("user", "a b STOP c")], SamplingOptions(stop=("STOP",)))
    assert "".join(event.text for event in events if isinstance(event, Token)).strip() == "a b"


def test_a_crash_is_the_last_event_and_the_words_before_it_came(engine: BlockingEngine) -> None:
    engine.load(MODEL, ON_CPU)
    *words, last = ask(engine, "/die SIGSEGV half said")
    assert "".join(word.text for word in words if isinstance(word, Token)) == "half said"
    assert isinstance(last, Failed)
    engine.load(MODEL, ON_CPU)


def test_an_engine_that_died_between_two_answers_says_so(engine: BlockingEngine) -> None:
    engine.load(MODEL, ON_CPU)
    assert isinstance(ask(engine, "one")[-1], Finished)
    (worker,) = psutil.Process().children()
    worker.kill()
    psutil.wait_procs([worker], timeout=5)
    deadline = time.monotonic() + 10
    while not isinstance(last := ask(engine, "two")[-1], Failed):  # until the session has heard
        assert time.monotonic() < deadline
    assert last.finding.code in (FindingCode.ENGINE_KILLED, FindingCode.ENGINE_DIED)


def test_a_reader_that_stops_early_leaves_a_ready_engine(engine: BlockingEngine) -> None:
    engine.load(MODEL, ON_CPU)
    answer = engine.generate([ChatMessage("user", "/slow " + "word " * 500)], SamplingOptions())
    assert any(isinstance(event, Token) for event in answer)
    answer.close()  # type: ignore[attr-defined]  # as a generator left by Ctrl-C is
    assert isinstance(ask(engine, "next")[-1], Finished)


def test_a_failed_load_raises_its_finding(engine: BlockingEngine) -> None:
    with pytest.raises(FindingError) as raised:
        engine.load(MODEL, EngineOptions(n_gpu_layers=0, kv_overrides=(("echo.what", 1),)))
    assert raised.value.finding.code is FindingCode.OPTION_UNSUPPORTED


def test_a_check_needs_no_load(engine: BlockingEngine) -> None:
    assert engine.check(MODEL, ON_CPU).accepted
