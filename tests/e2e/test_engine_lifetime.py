"""No engine outlives the program, however that ends (real worker processes, echo engine)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
import pytest

from app.paths import logs_folder, source_root
from tests.session_recorder import gone_within, is_running

GONE_SECONDS = 5.0
PARENT = """
import sys, time
from pathlib import Path
import psutil
from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage, Token
from app.engine.spec import BackendKind, EngineSpec
from app.options import EngineOptions, SamplingOptions

def ask(engine, text):
    return engine.generate([ChatMessage("user", text)], SamplingOptions())

engine = BlockingEngine(EngineSpec("echo", BackendKind.ECHO))
seconds = float(sys.argv[1])
if seconds:
    options = EngineOptions(n_gpu_layers=0, kv_overrides=(("echo.load_seconds", seconds),))
    engine.load(Path("m"), options, lambda event: print(psutil.Process().children()[0].pid, flush=True))
engine.load(Path("m"), EngineOptions(n_gpu_layers=0))
child = "".join(event.text for event in ask(engine, "/child") if isinstance(event, Token))
print(psutil.Process().children()[0].pid, child, flush=True)
for event in ask(engine, "/slow " + "word " * 10_000):
    if isinstance(event, Token):
        print("said", flush=True)
"""


@dataclass
class Parent:
    """A program with an engine, as another process."""

    process: subprocess.Popen[bytes]
    out: IO[bytes]

    def pids(self) -> list[int]:
        return [int(word) for word in self.out.readline().split()]


def start_parent(load_seconds: float) -> Parent:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(load_seconds)], stdout=subprocess.PIPE, cwd=source_root()
    )
    assert process.stdout is not None
    return Parent(process, process.stdout)


def end(parent: Parent) -> None:
    parent.process.kill()
    parent.process.wait()
    parent.out.close()


@pytest.fixture
def answering() -> Iterator[Parent]:
    parent = start_parent(0)
    yield parent
    end(parent)


@pytest.fixture
def loading() -> Iterator[Parent]:
    parent = start_parent(60)
    yield parent
    end(parent)


def test_killing_the_program_in_mid_answer_ends_the_engine_and_its_child(answering: Parent) -> None:
    pids = answering.pids()
    assert answering.out.readline() == b"said\n"
    assert [is_running(pid) for pid in pids] == [True, True]
    answering.process.kill()
    assert gone_within(pids, GONE_SECONDS)


def test_killing_the_program_during_a_load_ends_the_engine(loading: Parent) -> None:
    pids = loading.pids()
    assert is_running(pids[0])
    loading.process.kill()
    assert gone_within(pids, GONE_SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGABRT])
def test_no_signal_to_the_program_leaves_an_engine(answering: Parent, number: signal.Signals) -> None:
    pids = answering.pids()
    answering.out.readline()
    answering.process.send_signal(number)
    assert gone_within(pids, GONE_SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_killing_the_worker_takes_its_child_with_it(answering: Parent) -> None:
    worker, child = answering.pids()
    answering.out.readline()
    psutil.Process(worker).kill()
    assert gone_within([worker, child], GONE_SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="sleep is a POSIX program")
def test_a_stale_pid_file_costs_no_stranger_its_life(data_home: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        data_home.mkdir(parents=True, exist_ok=True)
        for folder in (data_home, logs_folder()):
            (folder / "engine.pid").write_text(str(stranger.pid))
        parent = start_parent(0)
        pids = parent.pids()
        end(parent)
        assert gone_within(pids, GONE_SECONDS)
        assert is_running(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="Debian's shell")
def test_what_native_code_prints_cannot_reach_the_protocol(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "import os, sys\n"
        "from app.engine.worker import worker_main\n"
        "from app.engine.echo import EchoBackend\n"
        "hello = EchoBackend.hello\n"
        "def loud(self):\n"
        "    os.write(1, b'printf of native code\\n'); print('print of Python', flush=True)\n"
        "    return hello(self)\n"
        "EchoBackend.hello = loud\n"
        "sys.exit(worker_main(['--backend', 'echo']))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(source_root())}
    done = subprocess.Popen(
        [sys.executable, str(noisy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    )
    assert done.stdout is not None
    first_line = done.stdout.readline()
    _, err = done.communicate()
    assert first_line.startswith(b'{"type":"Hello"')
    assert b"printf of native code" in err
    assert b"print of Python" in err
