"""Real engines that hang, are told to go, or lose their RPC server: every answer ends, and says why."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER
from app.engine.pack_smoke import EXPECTED_ANSWER
from app.engine.protocol import ChatMessage, Failed, Finished, Hello, Token
from app.engine.session import SessionLimits
from app.engine.spec import BackendKind, EngineSpec
from app.findings import Finding, FindingCode, FindingError
from app.options import ALL_LAYERS, EngineOptions, SamplingOptions
from app.paths import resource_path, source_root
from tests.rpc_peer import silent_peer
from tests.rpc_server import pack_rpc_server, worker_rpc_server

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals, and a Linux pack"),
]

TINY = resource_path("selftest", "tiny-moe.gguf")
OPTIONS = EngineOptions(n_ctx=1024, n_ubatch=256, n_batch=256, n_threads=1, n_threads_batch=1, n_gpu_layers=0)
LONG = SamplingOptions(temperature=0.0, max_tokens=900)
STORY = (ChatMessage("user", "Tell me a very long story."),)
IMPATIENT = SessionLimits(silent_seconds=4.0, cancel_answer_seconds=2.0)
LOOP = (
    b"".join(b"{% for " + name + b" in range(99999) %}" for name in (b"a", b"b", b"c")) + b"{% endfor %}" * 3
)
END_SECONDS = 10.0


@pytest.fixture
def pack(engine_pack: Path) -> EngineSpec:
    return EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack)


@pytest.fixture(params=["worker", "pack"])
def spec(request: pytest.FixtureRequest, pack: EngineSpec) -> EngineSpec:
    return WORKER if request.param == "worker" else pack


@pytest.fixture
def rpc_server(spec: EngineSpec, engine_pack: Path) -> Iterator[str]:
    with worker_rpc_server() if spec is WORKER else pack_rpc_server(engine_pack) as server:
        yield server


def on_rpc(server: str) -> EngineOptions:
    return EngineOptions.from_json(
        {**OPTIONS.to_json(), "n_gpu_layers": ALL_LAYERS, "rpc_servers": [server], "devices": ["RPC0"]}
    )


def listener_at(server: str) -> psutil.Process:
    port = int(server.rpartition(":")[2])
    for child in psutil.Process().children(recursive=True):
        if any(c.status == "LISTEN" and c.laddr.port == port for c in child.net_connections("tcp")):
            return child
    raise AssertionError("nobody listens there")


def answer_while(engine: BlockingEngine, happens: Callable[[], object]) -> tuple[str, Finished | Failed]:
    """Ask for a long answer, do something after its tenth word, and return text and end."""
    words: list[str] = []
    for event in engine.generate(STORY, LONG):
        if isinstance(event, Token):
            words.append(event.text)
            if len(words) == 10:
                happens()
        last = event
    assert isinstance(last, Finished | Failed)
    return "".join(words), last


def failure(end: Finished | Failed) -> Finding:
    assert isinstance(end, Failed), end
    return end.finding


def test_an_rpc_server_killed_in_mid_answer_is_named(
    spec: EngineSpec, rpc_server: str, exact_twin: Path
) -> None:
    with BlockingEngine(spec) as engine:
        engine.load(exact_twin, on_rpc(rpc_server))
        text, end = answer_while(engine, listener_at(rpc_server).kill)
    finding = failure(end)
    assert (finding.code, finding.values["server"]) == (FindingCode.RPC_UNREACHABLE, rpc_server)
    assert text


def test_an_rpc_server_stopped_in_mid_answer_is_given_up(
    spec: EngineSpec, rpc_server: str, exact_twin: Path
) -> None:
    server = listener_at(rpc_server)
    with BlockingEngine(spec, IMPATIENT) as engine:
        engine.load(exact_twin, on_rpc(rpc_server))
        text, end = answer_while(engine, server.suspend)
        server.resume()
    finding = failure(end)
    assert (finding.code, finding.values["server"]) == (FindingCode.RPC_UNREACHABLE, rpc_server)
    assert text


def test_a_stuck_rpc_server_does_not_keep_an_answer_from_being_stopped(
    spec: EngineSpec, rpc_server: str, exact_twin: Path
) -> None:
    server = listener_at(rpc_server)
    cancelled_at: list[float] = []

    with BlockingEngine(spec, SessionLimits(cancel_answer_seconds=2.0)) as engine:

        def stop() -> None:
            server.suspend()
            cancelled_at.append(time.monotonic())
            engine.cancel()

        engine.load(exact_twin, on_rpc(rpc_server))
        text, end = answer_while(engine, stop)
        assert time.monotonic() - cancelled_at[0] < 4.0
        server.resume()
    assert isinstance(end, Finished)
    assert end.finish_reason == "cancelled"
    assert text


def test_a_silent_rpc_peer_ends_a_load_in_seconds(spec: EngineSpec) -> None:
    began = time.monotonic()
    with silent_peer() as server, BlockingEngine(spec) as engine, pytest.raises(FindingError) as caught:
        engine.load(TINY, on_rpc(server))
    assert caught.value.finding.code is FindingCode.RPC_UNREACHABLE
    assert caught.value.finding.values["server"] == server
    assert time.monotonic() - began < END_SECONDS


def test_an_rpc_server_of_another_version_is_named(
    spec: EngineSpec, engine_pack: Path, exact_twin: Path
) -> None:
    other = pack_rpc_server(engine_pack) if spec is WORKER else worker_rpc_server()
    with other as server, BlockingEngine(spec) as engine, pytest.raises(FindingError) as caught:
        engine.load(exact_twin, on_rpc(server))
    assert caught.value.finding.code is FindingCode.RPC_UNREACHABLE
    assert caught.value.finding.values["server"] == server


def test_a_server_told_to_end_in_mid_answer_is_told_at_once(pack: EngineSpec, exact_twin: Path) -> None:
    told_at: list[float] = []
    with BlockingEngine(pack) as engine:
        engine.load(exact_twin, OPTIONS)
        (server,) = [
            child for child in psutil.Process().children(recursive=True) if child.name() == "llama-server"
        ]

        def tell() -> None:
            told_at.append(time.monotonic())
            server.terminate()

        text, end = answer_while(engine, tell)
    assert failure(end).code is FindingCode.ENGINE_KILLED
    assert time.monotonic() - told_at[0] < END_SECONDS
    assert text


@pytest.fixture
def looping(tmp_path: Path) -> Path:
    """Return a model whose template goes on for ten thousand years."""
    data = TINY.read_bytes()
    at = data.index(b"{% for message in messages %}")
    end = data.index(b"{% endif %}", at) + len(b"{% endif %}")
    model = tmp_path / "loop.gguf"
    model.write_bytes(data[:at] + LOOP.ljust(end - at) + data[end:])
    return model


def test_a_template_without_end_is_stopped_by_the_person_and_the_model_stays(looping: Path) -> None:
    with BlockingEngine(WORKER, SessionLimits(cancel_answer_seconds=3.0)) as engine:
        engine.load(looping, OPTIONS)
        cancel = threading.Timer(0.5, engine.cancel)
        cancel.start()
        began = time.monotonic()
        (last,) = engine.generate(STORY, LONG)
        assert time.monotonic() - began < 3.0
        cancel.join()
        assert isinstance(last, Finished)
        assert last.finish_reason == "cancelled"
        (why,) = engine.generate(STORY, LONG)
        assert isinstance(why, Failed)
        assert failure(why).code is FindingCode.CHAT_TEMPLATE_FAILED


def test_a_template_without_end_fails_by_itself_and_chatml_answers_instead(looping: Path) -> None:
    with BlockingEngine(WORKER) as engine:
        engine.load(looping, OPTIONS)
        began = time.monotonic()
        (last,) = engine.generate(STORY, LONG)
        assert time.monotonic() - began < END_SECONDS
        assert isinstance(last, Failed)
        finding = failure(last)
        assert finding.code is FindingCode.CHAT_TEMPLATE_FAILED
        assert "cpu_seconds" in str(finding.values["detail"])
        loaded = engine.load(looping, replace(OPTIONS, chat_template="chatml"))
        assert loaded.applied["chat_template"] == "chatml"
        *_, end = engine.generate(STORY, SamplingOptions(temperature=0.0, max_tokens=3))
        assert isinstance(end, Finished)


def test_a_file_name_that_is_no_utf_8_reaches_the_engine(spec: EngineSpec, tmp_path: Path) -> None:
    model = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff \xe9.gguf"))
    shutil.copyfile(TINY, model)
    with BlockingEngine(spec) as engine:
        engine.load(model, OPTIONS)
        sampling = SamplingOptions(temperature=0.0, max_tokens=16)
        events = list(engine.generate((ChatMessage("user", "?"),), sampling))
    text = "".join(event.text for event in events if isinstance(event, Token))
    assert text.startswith(EXPECTED_ANSWER)


def test_the_dry_run_takes_a_file_name_that_is_no_utf_8(tmp_path: Path) -> None:
    model = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.gguf"))
    shutil.copyfile(TINY, model)
    with BlockingEngine(WORKER) as engine:
        assert engine.check(model, OPTIONS).accepted


def test_one_ctrl_c_ends_an_answer_of_a_worker_that_is_stuck() -> None:
    command = [sys.executable, "-m", "app", "chat", str(TINY), "--no-save", "--prompt", "hi"]
    program = subprocess.Popen(command, cwd=source_root(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert program.stdout is not None
    with closing(program.stdout):
        try:
            assert program.stdout.read(20)
            (worker,) = psutil.Process(program.pid).children()
            worker.suspend()
            program.send_signal(signal.SIGINT)
            assert program.wait(END_SECONDS) == 130
            assert not worker.is_running()
        finally:
            program.kill()
            program.wait()


@pytest.mark.parametrize("blocked", ["run", "logs"])
def test_a_data_folder_that_takes_nothing_costs_no_answer(
    spec: EngineSpec, blocked: str, data_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    data_home.mkdir()
    (data_home / blocked).touch()
    with BlockingEngine(spec) as engine:
        assert isinstance(engine.load(TINY, OPTIONS).context_length, int)
        assert isinstance(engine.hello, Hello)
    assert list(temporary.iterdir()) == []
