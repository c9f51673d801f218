"""A session whose llama-server dies under a worker that lives on: told like the end of the worker itself."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.engine.protocol import ChatMessage, Failed, Token
from app.engine.session import EngineSession, SessionEvent, SessionState, StateChanged
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.options import EngineOptions, SamplingOptions
from tests.fake_pack import ANSWER, FakePack, make_fake_pack
from tests.session_recorder import SessionRecorder, is_running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake engine is a POSIX script")

MODEL = Path("/models/模 型.gguf")
ON_CPU = EngineOptions(n_gpu_layers=0)
NOTICED_SECONDS = 2.0
HALF_AN_ANSWER = {"answers": [{"chunks": [*ANSWER[:3], "hang"]}]}


class Rig:
    """A session on a fake pack, its model loaded."""

    def __init__(self, pack: FakePack) -> None:
        self.pack = pack
        self.recorder = SessionRecorder()
        self.session = EngineSession(EngineSpec("包", BackendKind.LLAMA_SERVER, pack.folder), self.recorder)
        self.load(1)

    def load(self, count: int) -> None:
        """Load, for the `count`th time."""
        before = self.recorder.states.count(SessionState.READY)
        self.session.load(MODEL, ON_CPU)
        self.recorder.wait_for_state(SessionState.READY, before + 1)
        assert len(self.pack.starts()) == count

    def ask(self) -> int:
        return self.session.generate([ChatMessage("user", "hi")], SamplingOptions())

    def kill_server(self, name: str = "SIGKILL") -> float:
        """Kill the newest server; return when."""
        os.kill(self.pack.starts()[-1]["pid"], signal.Signals[name])
        return time.monotonic()


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[MakeRig]:
    rigs: list[Rig] = []

    def make(*starts: dict[str, Any]) -> Rig:
        rigs.append(Rig(make_fake_pack(tmp_path / "包 1", starts)))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.session.close()
        assert not any(is_running(start["pid"]) for start in rig.pack.starts())


def last_two(recorder: SessionRecorder) -> list[SessionEvent]:
    return recorder.events[-2:]


@pytest.mark.parametrize(
    ("name", "code"), [("SIGKILL", FindingCode.ENGINE_KILLED), ("SIGSEGV", FindingCode.ENGINE_DIED)]
)
def test_a_server_that_dies_in_mid_answer_ends_the_session_and_keeps_the_words(
    make_rig: MakeRig, name: str, code: FindingCode
) -> None:
    rig = make_rig(HALF_AN_ANSWER)
    request_id = rig.ask()
    rig.recorder.wait_for(Token, 2)
    rig.kill_server(name)
    finding = rig.recorder.wait_for_state(SessionState.FAILED).finding
    assert finding is not None
    assert (finding.code, finding.values["during"]) == (code, "generate")
    assert last_two(rig.recorder) == [
        Failed(finding, request_id),
        StateChanged(SessionState.FAILED, finding),
    ]
    assert rig.recorder.text == "hm魔匣"
    assert rig.session.loaded is None
    assert psutil.Process().children() == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGKILL", FindingCode.ENGINE_KILLED),
        ("SIGTERM", FindingCode.ENGINE_KILLED),
        ("SIGSEGV", FindingCode.ENGINE_DIED),
    ],
)
def test_a_server_that_dies_while_idle_is_noticed(make_rig: MakeRig, name: str, code: FindingCode) -> None:
    rig = make_rig()
    killed_at = rig.kill_server(name)
    finding = rig.recorder.wait_for_state(SessionState.FAILED).finding
    assert time.monotonic() - killed_at < NOTICED_SECONDS
    assert finding is not None
    assert (finding.code, finding.values["during"]) == (code, "idle")
    assert rig.recorder.of(Failed) == []
    assert psutil.Process().children() == []


def test_a_question_to_a_server_that_just_died_fails_and_ends_the_session(make_rig: MakeRig) -> None:
    rig = make_rig()
    rig.kill_server()
    request_id = rig.ask()
    finding = rig.recorder.wait_for_state(SessionState.FAILED).finding
    assert finding is not None
    assert finding.code is FindingCode.ENGINE_KILLED
    assert rig.recorder.of(Failed) == [Failed(finding, request_id)]


def test_after_the_death_of_its_server_a_session_loads_again(make_rig: MakeRig) -> None:
    rig = make_rig({}, {})
    rig.kill_server()
    rig.recorder.wait_for_state(SessionState.FAILED)
    rig.load(2)
    rig.ask()
    rig.recorder.wait_for_state(SessionState.READY, 3)
    assert rig.recorder.text == "hm魔匣"


def test_an_answer_the_server_refuses_leaves_the_session_ready(make_rig: MakeRig) -> None:
    refusal = {"status": 500, "body": {"error": {"message": "something else"}}}
    rig = make_rig({"answers": [refusal, {"chunks": ANSWER}]})
    request_id = rig.ask()
    assert rig.recorder.wait_for(Failed).request_id == request_id
    rig.recorder.wait_for_state(SessionState.READY, 2)
    rig.ask()
    rig.recorder.wait_for_state(SessionState.READY, 3)
    assert rig.recorder.text == "hm魔匣"
