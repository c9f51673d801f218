"""`moxie chat` with real engines on the default model."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.chat.conversation import MessageState
from app.chat.store import ConversationStore
from app.gguf.inspect_file import inspect_path
from app.paths import source_root
from tests.engine_processes import engine_processes
from tests.rpc_server import pack_rpc_server, worker_rpc_server

QUESTION = "What is the capital of France? Answer in one sentence."
TIMEOUT_SECONDS = 240

pytestmark = pytest.mark.engine


@pytest.fixture(params=["worker", "pack"])
def engine(request: pytest.FixtureRequest, data_home: Path, engine_pack: Path) -> Iterator[str]:
    (data_home / "engines").mkdir(parents=True)
    (data_home / "engines" / "pack").symlink_to(engine_pack)
    yield request.param


def command(model: Path, engine: str, *args: str) -> list[str]:
    options = ("--engine", engine, "--context", "512", "--threads", "2", "--temperature", "0")
    return [sys.executable, "-m", "app", "chat", str(model), *options, *args]


def document(model: Path, engine: str, *args: str) -> dict[str, Any]:
    done = subprocess.run(
        command(model, engine, "--json", *args),
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def test_the_default_model_names_paris_with_its_experts_on_either_side(moe_model: Path, engine: str) -> None:
    for moe, cpu_moe in (("off", False), ("all", True)):
        answer = document(moe_model, engine, "--prompt", QUESTION, "--max-tokens", "16", "--moe", moe)
        assert "Paris" in answer["text"]
        assert answer["finish_reason"] == "stop"
        assert answer["asked"]["cpu_moe"] is cpu_moe
        timings = answer["timings"]
        assert 0 < timings["predicted_tokens"] <= 16
        assert timings["prompt_tokens"] > 20
        assert timings["prompt_ms"] > 0
        assert timings["predicted_ms"] > 0
        assert sum(answer["buffers"].values()) > moe_model.stat().st_size * 0.9


def test_a_real_engine_killed_in_mid_answer_leaves_the_partial_answer(
    moe_model: Path, engine: str, data_home: Path
) -> None:
    process = subprocess.Popen(
        command(moe_model, engine, "--prompt", "Count from 1 to 100 in words.", "--max-tokens", "400"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=source_root(),
    )
    assert process.stdout is not None
    seen = process.stdout.read(8)
    engine_processes(process.pid)[-1].kill()
    rest, complaints = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 1
    assert "Error:" in complaints
    assert "Traceback" not in complaints
    store = ConversationStore(data_home / "chats.sqlite3")
    conversation = store.read(store.list()[0].id)
    store.close()
    assert conversation is not None
    answer = conversation.messages[-1]
    assert answer.state is MessageState.FAILED
    assert f"{answer.content}\n" == seen + rest


@pytest.fixture
def rpc_server(engine: str, engine_pack: Path) -> Iterator[str]:
    """The processor once more, as a device of its own, served by the same engine build."""
    with worker_rpc_server() if engine == "worker" else pack_rpc_server(engine_pack) as server:
        yield server


def test_experts_leave_a_device_when_they_are_wished_in_ram(
    moe_model: Path, engine: str, rpc_server: str
) -> None:
    routed = inspect_path(moe_model).facts.routed_expert_bytes
    ask = ("--prompt", QUESTION, "--max-tokens", "8", "--no-repack", "--rpc", rpc_server, "--moe")
    off, everything = (document(moe_model, engine, *ask, moe) for moe in ("off", "all"))
    on_device = [answer["buffer_parts"]["RPC0"]["model"] for answer in (off, everything)]
    assert on_device[0] - on_device[1] == pytest.approx(routed, rel=0.01)
    assert off["text"] == everything["text"]
