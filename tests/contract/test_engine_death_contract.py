"""What every engine that dies must look like: echo, the built-in worker, a llama-server pack."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.engine.protocol import ChatMessage, Failed, Token
from app.engine.session import EngineSession, SessionState, StateChanged
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.options import EngineOptions, SamplingOptions
from tests.engine_processes import engine_processes
from tests.session_recorder import SessionRecorder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a kill is told by its signal")

OPTIONS = EngineOptions(n_ctx=512, n_batch=128, n_ubatch=128, n_gpu_layers=0, n_threads=1, n_threads_batch=1)
LONG = SamplingOptions(temperature=0.0, seed=1, max_tokens=400)
NOTICED_SECONDS = 2.0


@dataclass
class Subject:
    """One engine, loaded."""

    session: EngineSession
    recorder: SessionRecorder
    question: ChatMessage

    def kill_engine(self) -> None:
        """Kill the process that holds the model: the worker, or the server under it."""
        engine_processes()[-1].kill()


@pytest.fixture(
    params=[
        pytest.param("echo"),
        pytest.param("llama", marks=pytest.mark.engine),
        pytest.param("llama-server", marks=pytest.mark.engine),
    ],
)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    kind = BackendKind(request.param)
    pack = request.getfixturevalue("engine_pack") if kind is BackendKind.LLAMA_SERVER else None
    is_echo = kind is BackendKind.ECHO
    model = Path("echo.gguf") if is_echo else request.getfixturevalue("exact_twin")
    question = "/slow " + "word " * 500 if is_echo else "Tell a long story about a lighthouse."
    recorder = SessionRecorder()
    session = EngineSession(EngineSpec(kind.value, kind, pack), recorder)
    session.load(model, OPTIONS)
    recorder.wait_for_state(SessionState.READY)
    yield Subject(session, recorder, ChatMessage("user", question))
    session.close()
    assert engine_processes(with_parsers=True) == []


def test_an_engine_killed_in_mid_answer_leaves_its_words_and_a_failed_session(subject: Subject) -> None:
    request_id = subject.session.generate([subject.question], LONG)
    subject.recorder.wait_for(Token, 3)
    subject.kill_engine()
    finding = subject.recorder.wait_for_state(SessionState.FAILED).finding
    assert finding is not None
    assert finding.code is FindingCode.ENGINE_KILLED
    assert finding.values["during"] == "generate"
    assert subject.recorder.events[-2:] == [
        Failed(finding, request_id),
        StateChanged(SessionState.FAILED, finding),
    ]
    assert subject.recorder.text


def test_an_engine_killed_while_idle_fails_the_session_at_once(subject: Subject) -> None:
    killed_at = time.monotonic()
    subject.kill_engine()
    finding = subject.recorder.wait_for_state(SessionState.FAILED).finding
    assert time.monotonic() - killed_at < NOTICED_SECONDS
    assert finding is not None
    assert finding.code is FindingCode.ENGINE_KILLED
    assert finding.values["during"] == "idle"
    assert subject.recorder.of(Failed) == []
