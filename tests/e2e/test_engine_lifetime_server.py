"""A real llama-server dies with its worker and with the program."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.paths import source_root
from tests.session_recorder import gone_within, is_running

pytestmark = pytest.mark.engine

GONE_SECONDS = 5.0
PARENT = """
import sys
from pathlib import Path
import psutil
from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage, Failed, Token
from app.engine.spec import BackendKind, EngineSpec
from app.options import EngineOptions, SamplingOptions

engine = BlockingEngine(EngineSpec("pack", BackendKind.LLAMA_SERVER, Path(sys.argv[1])))
engine.load(Path(sys.argv[2]), EngineOptions(n_ctx=2048, n_gpu_layers=0, n_batch=128, n_ubatch=128))
print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)
question = [ChatMessage("user", "Count from one to one thousand in words.")]
for event in engine.generate(question, SamplingOptions(temperature=0.0, max_tokens=1500)):
    if isinstance(event, Token):
        print("said", flush=True)
    if isinstance(event, Failed):
        print(event.finding.code.value, flush=True)
engine.close()
"""


@pytest.fixture
def program(engine_pack: Path, exact_twin: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(engine_pack), str(exact_twin)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=source_root(),
    )
    assert process.stdout is not None
    with process.stdout:
        yield process
        process.kill()
        process.wait()


def lines_of(program: subprocess.Popen[str]) -> Iterator[str]:
    assert program.stdout is not None
    return (line.strip() for line in program.stdout)


def test_killing_the_program_in_mid_answer_ends_worker_and_server(program: subprocess.Popen[str]) -> None:
    lines = lines_of(program)
    pids = [int(word) for word in next(lines).split()]
    assert len(pids) == 2
    assert next(lines) == "said"
    assert all(is_running(pid) for pid in pids)
    program.kill()
    assert gone_within(pids, GONE_SECONDS)


def test_killing_the_worker_ends_the_server_and_is_told(program: subprocess.Popen[str]) -> None:
    lines = lines_of(program)
    worker, server = (int(word) for word in next(lines).split())
    assert next(lines) == "said"
    psutil.Process(worker).kill()
    assert gone_within([worker, server], GONE_SECONDS)
    assert next(line for line in lines if line != "said") == "engine-killed"


def test_killing_the_server_in_mid_answer_is_told_by_the_worker(program: subprocess.Popen[str]) -> None:
    lines = lines_of(program)
    worker, server = (int(word) for word in next(lines).split())
    assert next(lines) == "said"
    psutil.Process(server).kill()
    assert next(line for line in lines if line != "said") == "engine-killed"
    assert gone_within([worker, server], GONE_SECONDS)
