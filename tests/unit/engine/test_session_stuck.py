"""Sessions whose worker, disk or start is stuck: every wait has an end, and a cause."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.engine.protocol import ChatMessage, Failed, Finished, Hello, LoadProgress, PromptProgress, Token
from app.engine.session import EngineSession, SessionLimits, SessionState
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.options import EngineOptions, SamplingOptions
from tests.session_recorder import SessionRecorder, is_running

ECHO = EngineSpec("echo", BackendKind.ECHO)
MODEL = Path("m.gguf")
ON_CPU = EngineOptions(n_gpu_layers=0)
SLOW_LOAD = EngineOptions(n_gpu_layers=0, kv_overrides=(("echo.load_seconds", 60.0),))
PATIENT = SessionLimits()
IMPATIENT = SessionLimits(silent_seconds=1.0, cancel_answer_seconds=1.0, close_seconds=1.0)
LONGER_THAN_A_PIPE = "word " * 100_000

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process")


@pytest.fixture
def recorder() -> SessionRecorder:
    return SessionRecorder()


@pytest.fixture
def session(recorder: SessionRecorder) -> Iterator[EngineSession]:
    session = EngineSession(ECHO, recorder, limits=IMPATIENT)
    yield session
    session.close()
    assert psutil.Process().children() == []


def load(session: EngineSession, recorder: SessionRecorder, options: EngineOptions = ON_CPU) -> None:
    count = recorder.states.count(SessionState.READY) + 1
    session.load(MODEL, options)
    recorder.wait_for_state(SessionState.READY, count)


def ask(session: EngineSession, text: str) -> int:
    return session.generate([ChatMessage("user", text)], SamplingOptions())


def worker() -> psutil.Process:
    (process,) = psutil.Process().children()
    return process


def test_a_log_that_cannot_be_written_costs_no_engine(
    session: EngineSession, recorder: SessionRecorder, data_home: Path
) -> None:
    data_home.mkdir()
    (data_home / "logs").touch()
    load(session, recorder)
    ask(session, "still here")
    assert recorder.wait_for(Finished).finish_reason == "stop"
    assert recorder.text == "still here"


def test_whatever_breaks_a_start_is_a_failed_start(recorder: SessionRecorder) -> None:
    session = EngineSession(ECHO, recorder, argv=["no\0program"])
    session.load(MODEL, ON_CPU)
    failed = recorder.wait_for(Failed)
    assert failed.finding.code is FindingCode.ENGINE_START_FAILED
    assert failed.finding.values["detail"] == "embedded null byte"
    recorder.wait_for_state(SessionState.FAILED)
    session.close()


@posix
def test_a_worker_stopped_in_mid_answer_is_given_up_and_its_words_are_kept(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    load(session, recorder)
    request_id = ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token, 3)
    stopped = worker()
    stopped.suspend()
    failed = recorder.wait_for(Failed)
    assert (failed.request_id, failed.finding.code) == (request_id, FindingCode.ENGINE_TIMED_OUT)
    assert failed.finding.values == {"seconds": 1.0, "during": "generate"}
    assert recorder.text.startswith("word word")
    recorder.wait_for_state(SessionState.FAILED)
    assert not is_running(stopped.pid)
    load(session, recorder)


@posix
def test_a_worker_stopped_in_mid_load_is_given_up(session: EngineSession, recorder: SessionRecorder) -> None:
    session.load(MODEL, SLOW_LOAD)
    recorder.wait_for(LoadProgress, 2)
    worker().suspend()
    assert recorder.wait_for(Failed).finding.values == {"seconds": 1.0, "during": "load"}
    recorder.wait_for_state(SessionState.FAILED)


@posix
def test_who_waits_for_an_rpc_server_names_it(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder, EngineOptions(rpc_servers=("10.0.0.9:50052",)))
    ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token)
    worker().suspend()
    finding = recorder.wait_for(Failed).finding
    assert (finding.code, finding.values["server"]) == (FindingCode.RPC_UNREACHABLE, "10.0.0.9:50052")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell who is busy")
def test_a_silent_engine_that_works_is_left_to_it(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    began = time.monotonic()
    ask(session, "/busy 3 done")
    assert recorder.wait_for(Finished).finish_reason == "stop"
    assert time.monotonic() - began > 2 * IMPATIENT.silent_seconds
    assert recorder.text == "done"


@posix
def test_stopping_an_answer_of_a_stuck_worker_works_all_the_same(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    load(session, recorder)
    request_id = ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token, 3)
    stuck = worker()
    stuck.suspend()
    cancelled_at = time.monotonic()
    session.cancel()
    session.cancel()  # a second Ctrl+C gives it no more time
    finished = recorder.wait_for(Finished)
    assert time.monotonic() - cancelled_at < IMPATIENT.cancel_answer_seconds + 1.0
    assert (finished.request_id, finished.finish_reason) == (request_id, "cancelled")
    assert recorder.of(Failed) == []
    finding = recorder.wait_for_state(SessionState.FAILED).finding
    assert finding is not None
    assert (finding.code, finding.values["seconds"]) == (FindingCode.ENGINE_DID_NOT_STOP, 1.0)
    assert not is_running(stuck.pid)
    load(session, recorder)


def test_an_engine_that_is_deaf_to_cancelling_loses_its_worker(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    load(session, recorder)
    ask(session, "/busy 600 never said")
    recorder.wait_for(PromptProgress)
    session.cancel()
    assert recorder.wait_for(Finished).finish_reason == "cancelled"
    finding = recorder.wait_for_state(SessionState.FAILED).finding
    assert finding is not None and finding.code is FindingCode.ENGINE_DID_NOT_STOP
    assert recorder.text == ""


@posix
def test_a_worker_that_reads_nothing_blocks_nobody(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    stuck = worker()
    stuck.suspend()
    asked_at = time.monotonic()
    ask(session, LONGER_THAN_A_PIPE)
    session.cancel()
    assert time.monotonic() - asked_at < 0.5
    assert recorder.wait_for(Finished).finish_reason == "cancelled"


@posix
def test_a_session_with_a_stuck_worker_closes(recorder: SessionRecorder) -> None:
    session = EngineSession(ECHO, recorder, limits=IMPATIENT)
    load(session, recorder)
    ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token)
    stuck = worker()
    stuck.suspend()
    closing_at = time.monotonic()
    session.close()
    assert time.monotonic() - closing_at < IMPATIENT.close_seconds + 1.0
    assert not is_running(stuck.pid)


def test_a_listener_may_cancel_what_it_has_just_heard_of(recorder: SessionRecorder) -> None:
    def cancel_at_once(event: object) -> None:
        recorder(event)  # type: ignore[arg-type]  # a SessionEvent
        if getattr(event, "state", None) is SessionState.GENERATING:
            heard.cancel()

    heard = EngineSession(ECHO, cancel_at_once, limits=PATIENT)
    load(heard, recorder)
    ask(heard, "/slow " + "word " * 500)
    assert recorder.wait_for(Finished).finish_reason == "cancelled"
    recorder.wait_for_state(SessionState.READY, 2)
    heard.close()


def test_a_listener_that_breaks_is_not_called_a_kill_from_outside(recorder: SessionRecorder) -> None:
    def broken(event: object) -> None:
        recorder(event)  # type: ignore[arg-type]  # a SessionEvent
        if isinstance(event, LoadProgress):
            raise LookupError("a bug")

    session = EngineSession(ECHO, broken)
    session.load(MODEL, ON_CPU)
    finding = recorder.wait_for(Failed).finding
    assert finding.code is FindingCode.ENGINE_START_FAILED
    assert finding.values["detail"] == "LookupError: a bug"
    assert any("LookupError" in line for line in session.log_tail)
    session.close()


def test_what_a_worker_says_of_itself_cannot_steer_a_terminal(recorder: SessionRecorder) -> None:
    device = {"name": "GPU\u20280", "description": "a\x07 card", "kind": "gpu"}
    hello = {"type": "Hello", "engine": "fake", "build": "1\x1b[2J\x1b]0;title\x07.2\n3", "devices": [device]}
    code = f"import sys; print({json.dumps(hello)!r}); print('\\x1b[31mred', file=sys.stderr); sys.exit(3)"
    session = EngineSession(ECHO, recorder, argv=[sys.executable, "-c", code])
    session.load(MODEL, ON_CPU)
    said = recorder.wait_for(Hello)
    assert said.build == "1.2 3"
    assert (said.devices[0].name, said.devices[0].description) == ("GPU 0", "a card")
    assert recorder.wait_for(Failed).finding.values["last_line"] == "red"
    assert session.log_tail == ("red",)
    session.close()
