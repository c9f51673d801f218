"""Sessions over the echo engine, in real worker processes."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.engine.protocol import (
    ChatMessage,
    Checked,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Token,
)
from app.engine.session import EngineSession, SessionLimits, SessionState, SessionStateError
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.options import EngineOptions, SamplingOptions
from tests.session_recorder import SessionRecorder, gone_within, is_running

ECHO = EngineSpec("echo", BackendKind.ECHO)
MODEL = Path("模型 one.gguf")
ON_CPU = EngineOptions(n_gpu_layers=0)
ONE_LOAD = [SessionState.STARTING, SessionState.LOADING, SessionState.READY]


@pytest.fixture
def recorder() -> SessionRecorder:
    return SessionRecorder()


@pytest.fixture
def session(recorder: SessionRecorder) -> Iterator[EngineSession]:
    session = EngineSession(ECHO, recorder)
    yield session
    session.close()


def load(session: EngineSession, recorder: SessionRecorder) -> None:
    session.load(MODEL, ON_CPU)
    recorder.wait_until(lambda: session.state is SessionState.READY)


def ask(session: EngineSession, text: str) -> int:
    return session.generate([ChatMessage("user", text)], SamplingOptions())


def slow_load(**overrides: float | str | bool) -> EngineOptions:
    pairs = tuple((f"echo.{name}", value) for name, value in overrides.items())
    return EngineOptions(n_gpu_layers=0, kv_overrides=pairs)


def worker_of_this_process() -> psutil.Process:
    (worker,) = psutil.Process().children()
    return worker


def test_a_session_goes_from_idle_to_an_answer(session: EngineSession, recorder: SessionRecorder) -> None:
    assert session.state is SessionState.IDLE
    load(session, recorder)
    assert session.hello is not None
    assert session.hello.engine == "echo"
    request_id = ask(session, "Hello 世界 again")
    finished = recorder.wait_for(Finished)
    recorder.wait_for_state(SessionState.READY, 2)
    assert recorder.text == "Hello 世界 again"
    assert (finished.request_id, finished.finish_reason) == (request_id, "stop")
    assert finished.timings.predicted_tokens == 3
    assert recorder.states == [*ONE_LOAD, SessionState.GENERATING, SessionState.READY]


def test_the_loaded_model_carries_what_was_applied(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    assert session.loaded == recorder.wait_for(Loaded)
    assert session.loaded.applied["n_gpu_layers"] == 0
    assert session.loaded.findings == ()


def test_a_plan_for_a_gpu_the_engine_does_not_see_is_told(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    session.load(MODEL, EngineOptions(n_gpu_layers=12))
    (finding,) = recorder.wait_for(Loaded).findings
    assert finding.code is FindingCode.ENGINE_GPU_UNSEEN
    assert finding.values["n_gpu_layers"] == 12


def test_a_check_answers_and_lets_the_worker_go(session: EngineSession, recorder: SessionRecorder) -> None:
    session.check(MODEL, ON_CPU)
    assert recorder.wait_for(Checked).accepted
    recorder.wait_for_state(SessionState.IDLE)
    assert psutil.Process().children() == []


def test_asking_before_a_model_is_ready_is_refused(session: EngineSession) -> None:
    with pytest.raises(SessionStateError):
        ask(session, "too early")


def test_a_cancelled_answer_keeps_its_beginning(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token, 3)
    cancelled_at = time.monotonic()
    session.cancel()
    assert recorder.wait_for(Finished).finish_reason == "cancelled"
    assert time.monotonic() - cancelled_at < 1.0
    assert recorder.text.startswith("word word")
    recorder.wait_for_state(SessionState.READY, 2)
    ask(session, "and on")
    assert recorder.wait_for(Finished, 2).finish_reason == "stop"


def test_a_prompt_can_be_cancelled_before_the_first_word(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    load(session, recorder)
    ask(session, "/prompt 500 never said")
    recorder.wait_for(PromptProgress, 2)
    session.cancel()
    assert recorder.wait_for(Finished).finish_reason == "cancelled"
    assert recorder.text == ""


def test_a_cancelled_load_leaves_an_idle_session_that_loads_again(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    session.load(MODEL, slow_load(load_seconds=60.0))
    recorder.wait_for(LoadProgress, 2)
    session.cancel()
    assert recorder.wait_for(Failed).finding.code is FindingCode.LOAD_CANCELLED
    recorder.wait_for_state(SessionState.IDLE)
    load(session, recorder)


def test_a_load_that_does_not_listen_loses_its_worker(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    session.load(MODEL, slow_load(load_seconds=60.0, ignore_cancel=True))
    recorder.wait_for(LoadProgress, 2)
    worker = worker_of_this_process()
    cancelled_at = time.monotonic()
    session.cancel()
    assert recorder.wait_for(Failed).finding.code is FindingCode.LOAD_CANCELLED
    assert time.monotonic() - cancelled_at < 2.5
    assert not is_running(worker.pid)


def test_a_session_cancelled_while_the_worker_starts_is_idle_again(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    session.load(MODEL, ON_CPU)
    session.cancel()
    assert recorder.wait_for(Failed).finding.code is FindingCode.LOAD_CANCELLED
    assert recorder.wait_for_state(SessionState.IDLE).finding is not None
    load(session, recorder)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX; Windows ends processes by exit codes")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGKILL", FindingCode.ENGINE_KILLED),
        ("SIGSEGV", FindingCode.ENGINE_DIED),
        ("SIGILL", FindingCode.CPU_INSTRUCTIONS_MISSING),
    ],
)
def test_an_engine_that_dies_in_mid_answer_leaves_the_words_and_a_cause(
    session: EngineSession, recorder: SessionRecorder, name: str, code: FindingCode
) -> None:
    load(session, recorder)
    request_id = ask(session, f"/die {name} half an answer")
    failed = recorder.wait_for(Failed)
    assert recorder.text == "half an answer"
    assert (failed.request_id, failed.finding.code) == (request_id, code)
    assert recorder.wait_for_state(SessionState.FAILED).finding == failed.finding
    assert psutil.Process().children() == []
    load_again = recorder.states.count(SessionState.READY) + 1
    session.load(MODEL, ON_CPU)
    recorder.wait_for_state(SessionState.READY, load_again)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_idle_engine_killed_from_outside_is_noticed(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    load(session, recorder)
    worker_of_this_process().kill()
    changed = recorder.wait_for_state(SessionState.FAILED)
    assert changed.finding is not None
    assert changed.finding.code is FindingCode.ENGINE_KILLED
    assert recorder.of(Failed) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_child_of_the_engine_killed_while_idle_is_noticed(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    load(session, recorder)
    ask(session, "/child")
    recorder.wait_for_state(SessionState.READY, 2)
    psutil.Process(int(recorder.text)).kill()
    changed = recorder.wait_for_state(SessionState.FAILED)
    assert changed.finding is not None
    assert changed.finding.code is FindingCode.ENGINE_KILLED
    assert changed.finding.values["during"] == "idle"
    assert recorder.of(Failed) == []
    assert psutil.Process().children() == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_engine_that_dies_while_loading_fails_the_load(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    session.load(MODEL, slow_load(load_signal="SIGBUS"))
    failed = recorder.wait_for(Failed)
    assert failed.request_id is None
    assert failed.finding.values["signal"] == "SIGBUS"
    assert failed.finding.values["during"] == "load"


def test_a_refused_option_is_named(session: EngineSession, recorder: SessionRecorder) -> None:
    session.load(MODEL, slow_load(no_such_thing=1))
    failed = recorder.wait_for(Failed)
    assert failed.finding.code is FindingCode.OPTION_UNSUPPORTED
    assert failed.finding.values["name"] == "echo.no_such_thing"
    recorder.wait_for_state(SessionState.FAILED)


def test_a_new_load_ends_the_old_worker(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    first = worker_of_this_process()
    ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token)
    session.load(MODEL, ON_CPU)
    assert recorder.wait_for(Finished).finish_reason == "cancelled"
    recorder.wait_for_state(SessionState.READY, 2)
    assert not is_running(first.pid)
    assert worker_of_this_process().pid != first.pid


def test_every_load_has_one_end_however_fast_the_next_one_comes(
    session: EngineSession, recorder: SessionRecorder
) -> None:
    loads = 12
    for number in range(loads):
        session.load(MODEL, ON_CPU)
        if number % 3 == 1:
            recorder.wait_until(lambda: session.state is not SessionState.STARTING)
        if number % 3 == 2:
            session.cancel()
    load(session, recorder)
    ends = [
        e for e in recorder.events if isinstance(e, Loaded) or (isinstance(e, Failed) and not e.request_id)
    ]
    assert len(ends) == loads + 1
    assert isinstance(ends[-1], Loaded)
    assert len(psutil.Process().children()) == 1


def test_a_program_that_is_no_worker_is_a_failed_start(recorder: SessionRecorder, tmp_path: Path) -> None:
    session = EngineSession(ECHO, recorder, argv=[str(tmp_path / "nothing here")])
    session.load(MODEL, ON_CPU)
    assert recorder.wait_for(Failed).finding.code is FindingCode.ENGINE_START_FAILED
    recorder.wait_for_state(SessionState.FAILED)
    session.close()


def test_a_worker_that_never_speaks_is_given_up(recorder: SessionRecorder) -> None:
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    session = EngineSession(ECHO, recorder, limits=SessionLimits(hello_seconds=0.3), argv=silent)
    session.load(MODEL, ON_CPU)
    failed = recorder.wait_for(Failed)
    assert failed.finding.code is FindingCode.ENGINE_TIMED_OUT
    assert failed.finding.values["seconds"] == 0.3
    session.close()


def test_lines_that_are_no_messages_go_to_the_log(recorder: SessionRecorder) -> None:
    noisy = [
        sys.executable,
        "-c",
        "import sys; print('{oops'); print('to stderr', file=sys.stderr); sys.exit(3)",
    ]
    session = EngineSession(ECHO, recorder, argv=noisy)
    session.load(MODEL, ON_CPU)
    failed = recorder.wait_for(Failed)
    assert failed.finding.code is FindingCode.ENGINE_DIED
    assert failed.finding.values["exit_code"] == 3
    assert any("oops" in line for line in session.log_tail)
    assert "to stderr" in session.log_tail
    session.close()


def test_closing_ends_the_worker_and_its_child(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    ask(session, "/child")
    recorder.wait_for(Finished)
    pids = [worker_of_this_process().pid, int(recorder.text)]
    assert all(is_running(pid) for pid in pids)
    closing_at = time.monotonic()
    session.close()
    assert time.monotonic() - closing_at < 5.0
    assert gone_within(pids, 1.0)
    assert psutil.Process().children() == []
    assert recorder.states[-1] is SessionState.CLOSED
    with pytest.raises(SessionStateError):
        session.load(MODEL, ON_CPU)


def test_closing_in_mid_answer_ends_the_answer(session: EngineSession, recorder: SessionRecorder) -> None:
    load(session, recorder)
    ask(session, "/slow " + "word " * 500)
    recorder.wait_for(Token)
    session.close()
    assert recorder.of(Finished)[0].finish_reason == "cancelled"
    assert recorder.states[-1] is SessionState.CLOSED


def test_a_listener_may_close_the_session(recorder: SessionRecorder) -> None:
    def close_when_ready(event: object) -> None:
        recorder(event)  # type: ignore[arg-type]  # a SessionEvent
        if isinstance(event, Loaded):
            closing.close()

    closing = EngineSession(ECHO, close_when_ready)
    closing.load(MODEL, ON_CPU)
    recorder.wait_for_state(SessionState.CLOSED)
    assert psutil.Process().children() == []
