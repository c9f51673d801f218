"""However the program or its worker dies, no llama-server stays behind (case H19)."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.fake_pack import FakePack, make_fake_pack

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and a POSIX script")

GONE_SECONDS = 5.0
START_SECONDS = 20.0
PROGRAM = """
import sys
from pathlib import Path
from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage
from app.engine.spec import BackendKind, EngineSpec
from app.options import EngineOptions, SamplingOptions

engine = BlockingEngine(EngineSpec("fake", BackendKind.LLAMA_SERVER, Path(sys.argv[1])))
engine.load(Path("/models/m.gguf"), EngineOptions())
print("loaded", flush=True)
for event in engine.generate((ChatMessage("user", "hi"),), SamplingOptions()):
    pass
"""


WRAPPER = """#!/bin/sh
# as packagers write them: a child of the shell, not in its place
"$(dirname "$0")/real/llama-server" "$@"
"""


class Program:
    """A program with an engine, in a process of its own."""

    def __init__(self, pack: FakePack, folder: Path | None = None) -> None:
        self.pack = pack
        root = Path(__file__).resolve().parents[2]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder or pack.folder)],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_until_loaded(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"loaded\n"

    @property
    def server_pid(self) -> int:
        pid: int = self.pack.starts()[0]["pid"]
        return pid

    @property
    def worker_pid(self) -> int:
        """The program's child; a wrapper script may stand between it and the server."""
        pid = self.server_pid
        while (parent := _stat_field(pid, 1)) != str(self.process.pid):
            assert parent is not None
            pid = int(parent)
        return pid


def _stat_field(pid: int, index: int) -> str | None:
    """State (0) or parent (1) from /proc; None when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[index]
    except OSError:
        return None


def _is_gone(pid: int) -> bool:
    return _stat_field(pid, 0) in (None, "Z")


def _wait_for(condition: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        threading.Event().wait(0.01)


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Program]:
    """A program in mid answer: its engine says nothing for ever."""
    with Program(make_fake_pack(tmp_path / "pack", [{"answers": [{"chunks": ["hang"]}]}])) as program:
        program.wait_until_loaded()
        _wait_for((program.pack.folder / "request.json").exists, START_SECONDS)
        yield program


@pytest.fixture
def loading(tmp_path: Path) -> Iterator[Program]:
    """A program whose engine never stops loading."""
    with Program(make_fake_pack(tmp_path / "pack", [{"loading_polls": 1_000_000}])) as program:
        _wait_for(program.pack.starts, START_SECONDS)
        yield program


def test_killing_the_program_in_mid_answer_leaves_no_engine(answering: Program) -> None:
    server, worker = answering.server_pid, answering.worker_pid
    answering.process.kill()
    _wait_for(lambda: _is_gone(server) and _is_gone(worker), GONE_SECONDS)


def test_killing_the_program_while_loading_leaves_no_engine(loading: Program) -> None:
    server, worker = loading.server_pid, loading.worker_pid
    loading.process.kill()
    _wait_for(lambda: _is_gone(server) and _is_gone(worker), GONE_SECONDS)


def test_killing_the_worker_leaves_no_engine(answering: Program) -> None:
    server = answering.server_pid
    os.kill(answering.worker_pid, signal.Signals["SIGKILL"])
    _wait_for(lambda: _is_gone(server), GONE_SECONDS)
    assert answering.process.wait(10) == 0  # the answer ended with a finding, not with a traceback


@pytest.fixture
def wrapped(tmp_path: Path) -> Iterator[Program]:
    """As `answering`, through a wrapper script that does not replace itself."""
    real = make_fake_pack(tmp_path / "pack" / "real", [{"answers": [{"chunks": ["hang"]}]}])
    script = tmp_path / "pack" / "llama-server"
    script.write_text(WRAPPER)
    script.chmod(0o755)
    with Program(real, script.parent) as program:
        program.wait_until_loaded()
        _wait_for((real.folder / "request.json").exists, START_SECONDS)
        yield program


def test_killing_the_worker_leaves_no_engine_behind_a_wrapper_script(wrapped: Program) -> None:
    server, worker = wrapped.server_pid, wrapped.worker_pid
    assert _stat_field(server, 1) != str(worker)
    os.kill(worker, signal.Signals["SIGKILL"])
    _wait_for(lambda: _is_gone(server), GONE_SECONDS)
    assert wrapped.process.wait(10) == 0


def test_killing_the_program_leaves_no_engine_behind_a_wrapper_script(wrapped: Program) -> None:
    server, worker = wrapped.server_pid, wrapped.worker_pid
    wrapped.process.kill()
    _wait_for(lambda: _is_gone(server) and _is_gone(worker), GONE_SECONDS)
