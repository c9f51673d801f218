"""What every engine must do behind the same session: echo, the built-in worker, a llama-server pack."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage, Failed, Finished, Loaded, PromptProgress, Token, decode
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.options import EngineOptions, SamplingOptions
from app.paths import source_root

OPTIONS = EngineOptions(n_ctx=512, n_batch=128, n_ubatch=128, n_gpu_layers=0, n_threads=1, n_threads_batch=1)
GREEDY = SamplingOptions(temperature=0.0, seed=1, max_tokens=8)
LONG = SamplingOptions(temperature=0.0, seed=1, max_tokens=400)
QUESTION = [ChatMessage("user", "Count from one to one hundred in words, please.")]
FINISH_REASONS = ("stop", "length", "context", "cancelled")


@dataclass
class Subject:
    """One engine, loaded."""

    spec: EngineSpec
    engine: BlockingEngine
    loaded: Loaded
    slow_question: list[ChatMessage]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("echo"),
        pytest.param("llama", marks=pytest.mark.engine),
        pytest.param("llama-server", marks=pytest.mark.engine),
    ],
)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    kind = BackendKind(request.param)
    pack = request.getfixturevalue("engine_pack") if kind is BackendKind.LLAMA_SERVER else None
    is_echo = kind is BackendKind.ECHO
    model = Path("echo.gguf") if is_echo else request.getfixturevalue("exact_twin")
    slow = [ChatMessage("user", "/slow " + "word " * 500)] if is_echo else QUESTION
    spec = EngineSpec(kind.value, kind, pack)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOXIE_HOME", str(tmp_path_factory.mktemp("home")))
        with BlockingEngine(spec) as engine:
            yield Subject(spec, engine, engine.load(model, OPTIONS), slow)


def test_applied_speaks_of_engine_options_only(subject: Subject) -> None:
    names = {f.name for f in fields(EngineOptions)}
    assert set(subject.loaded.applied) <= names
    assert subject.loaded.applied["n_ctx"] >= 512
    assert [finding.to_json() for finding in subject.loaded.findings] == []


def test_the_engine_says_who_it_is_and_that_it_has_a_processor(subject: Subject) -> None:
    assert subject.engine.hello is not None
    assert subject.engine.hello.build
    if subject.spec.backend is not BackendKind.LLAMA_SERVER:  # it lists what it offloads to, no processor
        assert any(device.kind == "cpu" for device in subject.engine.hello.devices)


def test_an_answer_streams_and_ends_with_timings(subject: Subject) -> None:
    *events, last = subject.engine.generate(QUESTION, GREEDY)
    tokens = [event for event in events if isinstance(event, Token)]
    assert len(tokens) > 1
    assert "".join(token.text for token in tokens).strip()
    assert all(isinstance(event, Token | PromptProgress) for event in events)
    assert isinstance(last, Finished), last
    assert last.finish_reason in FINISH_REASONS
    assert last.timings.prompt_tokens
    assert last.timings.predicted_tokens
    assert last.timings.predicted_tokens <= 8
    assert last.timings.prompt_ms is not None
    assert last.timings.predicted_ms is not None


def test_the_same_greedy_question_gets_the_same_answer(subject: Subject) -> None:
    answers = [
        "".join(event.text for event in subject.engine.generate(QUESTION, GREEDY) if isinstance(event, Token))
        for _ in range(2)
    ]
    assert answers[0] == answers[1]


def test_a_cancelled_answer_ends_as_cancelled_and_the_next_works(subject: Subject) -> None:
    said, last = 0, None
    for event in subject.engine.generate(subject.slow_question, LONG):
        said += isinstance(event, Token)
        if said == 2:
            subject.engine.cancel()
        last = event
    assert isinstance(last, Finished), last
    assert last.finish_reason == "cancelled"
    assert isinstance(list(subject.engine.generate(QUESTION, GREEDY))[-1], Finished)


def test_max_tokens_is_kept(subject: Subject) -> None:
    sampling = SamplingOptions(temperature=0.0, max_tokens=3)
    *_, last = subject.engine.generate(QUESTION, sampling)
    assert isinstance(last, Finished), last
    assert (last.finish_reason, last.timings.predicted_tokens) == ("length", 3)


def test_an_unknown_option_is_refused_by_name(subject: Subject) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "app", "--engine-worker", *subject.spec.worker_arguments()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=source_root(),
    )
    command = {"type": "LoadModel", "path": "any.gguf", "options": {"n_gpu_moe": 3}}
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(command).encode() + b"\n")
    worker.stdin.flush()
    answers = (decode(line) for line in worker.stdout)
    refusal = next(answer for answer in answers if isinstance(answer, Failed))
    worker.communicate()
    assert refusal.finding.code is FindingCode.OPTION_UNSUPPORTED
    assert refusal.finding.values["name"] == "n_gpu_moe"
