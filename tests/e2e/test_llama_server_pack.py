"""A real llama-server: answers, cancels, dies, and puts experts where it was told."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import pytest

from app.engine.llama_server import LlamaServerBackend
from app.engine.protocol import (
    ChatMessage,
    Event,
    Finished,
    Generate,
    Loaded,
    LoadModel,
    PromptProgress,
    Token,
)
from app.findings import FindingCode, FindingError
from app.options import ALL_LAYERS, EngineOptions, SamplingOptions
from app.paths import resource_path
from app.processes.children import ChildStreams, end_child, start_child
from app.processes.environment import engine_environment

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform == "win32", reason="the pack of the tests is a Linux build"),
]

QUESTION = "What is the capital of France? Answer in one sentence."
CANCEL_SECONDS = 2.0
LOG_ROUNDING_BYTES = 0.005 * 1024**2
BLOCKS = 30


@dataclass
class Chat:
    """The real pack and what it sent."""

    backend: LlamaServerBackend
    lines: list[str]
    events: list[Event] = field(default_factory=list)

    def load(self, model: Path, options: EngineOptions) -> Loaded:
        return self.backend.load(LoadModel(str(model), options), self.events.append, lambda: False)

    def ask(
        self, text: str, sampling: SamplingOptions, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Finished:
        self.events.clear()
        command = Generate(1, (ChatMessage("user", text),), sampling)
        return self.backend.generate(command, self.events.append, is_cancelled)

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Token))


@pytest.fixture
def chat(engine_pack: Path) -> Iterator[Chat]:
    lines: list[str] = []
    backend = LlamaServerBackend(engine_pack, on_line=lines.append)
    yield Chat(backend, lines)
    backend.close()


@pytest.fixture
def rpc_address(engine_pack: Path) -> Iterator[str]:
    """The CPU as a second device."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = start_child(
        [str(engine_pack / "ggml-rpc-server"), "-H", "127.0.0.1", "-p", str(port)],
        env=engine_environment(os.environ),
        streams=ChildStreams(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
        die_with_parent=True,
    )
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < deadline and server.poll() is None
    yield f"127.0.0.1:{port}"
    end_child(server)


def _options(**more: object) -> EngineOptions:
    values = {"n_ctx": 1024, "n_batch": 256, "n_ubatch": 256, "n_gpu_layers": 0, "repack": False, **more}
    return EngineOptions.from_json(values)


def _model_bytes(loaded: Loaded) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for buffer in loaded.buffers:
        if buffer.part == "model":
            sizes[buffer.device] = sizes.get(buffer.device, 0) + buffer.size_bytes
    return sizes


def _expert_bytes(model: Path) -> tuple[int, int]:
    """Routed expert bytes, and all others; the tied embedding counts once, as the output on the GPU."""
    tensors = gguf.GGUFReader(str(model)).tensors
    experts = sum(int(tensor.n_bytes) for tensor in tensors if "_exps" in tensor.name)
    return experts, sum(int(tensor.n_bytes) for tensor in tensors) - experts


def test_the_default_model_names_paris(chat: Chat, moe_model: Path) -> None:
    loaded = chat.load(moe_model, _options(type_k="q8_0", type_v="q8_0", n_threads_batch=2))
    assert loaded.context_length == 1024
    expected = {"n_ctx": 1024, "n_batch": 256, "type_k": "q8_0", "type_v": "q8_0", "flash_attn": "on"}
    assert expected.items() <= loaded.applied.items()
    assert {"n_threads": 1, "n_threads_batch": 2, "n_parallel": 1, "repack": False}.items() <= (
        loaded.applied.items()
    )
    assert {buffer.part for buffer in loaded.buffers} >= {"model", "kv_cache", "compute"}
    finished = chat.ask(QUESTION, SamplingOptions(temperature=0.0, max_tokens=40))
    assert "Paris" in chat.text
    assert finished.finish_reason == "stop"
    assert finished.timings.prompt_tokens and finished.timings.predicted_ms
    tokens = sum(event.token_count for event in chat.events if isinstance(event, Token))
    assert tokens <= (finished.timings.predicted_tokens or 0) <= tokens + 1


def test_a_prompt_and_an_answer_can_be_cancelled(chat: Chat, moe_model: Path) -> None:
    chat.load(moe_model, _options(n_ctx=4096, n_batch=64, n_ubatch=64))
    cancelled_at: list[float] = []

    def after(kind: type[Event], count: int) -> Callable[[], bool]:
        cancelled_at.clear()

        def is_cancelled() -> bool:
            if sum(isinstance(event, kind) for event in chat.events) >= count and not cancelled_at:
                cancelled_at.append(time.monotonic())
            return bool(cancelled_at)

        return is_cancelled

    finished = chat.ask("word " * 3000, SamplingOptions(), after(PromptProgress, 2))
    assert finished.finish_reason == "cancelled"
    assert time.monotonic() - cancelled_at[0] < CANCEL_SECONDS
    assert not chat.text

    finished = chat.ask("Tell me a long story.", SamplingOptions(seed=1), after(Token, 3))
    assert finished.finish_reason == "cancelled"
    assert time.monotonic() - cancelled_at[0] < CANCEL_SECONDS
    assert chat.text

    chat.ask(QUESTION, SamplingOptions(temperature=0.0, max_tokens=12))
    assert "Paris" in chat.text


def test_too_long_a_prompt_comes_with_numbers(chat: Chat, moe_model: Path) -> None:
    chat.load(moe_model, _options(n_ctx=256))
    with pytest.raises(FindingError) as caught:
        chat.ask("word " * 600, SamplingOptions())
    assert caught.value.finding.code is FindingCode.PROMPT_TOO_LONG
    assert caught.value.finding.values["n_ctx"] == 256
    prompt_tokens = caught.value.finding.values["prompt_tokens"]
    assert isinstance(prompt_tokens, int) and prompt_tokens > 600
    assert chat.ask("hi", SamplingOptions(max_tokens=2, temperature=0.0)).finish_reason == "length"


def test_a_full_context_ends_the_answer_and_says_so(chat: Chat) -> None:
    chat.load(resource_path("selftest", "tiny-moe.gguf"), _options(n_ctx=256))
    finished = chat.ask("Go on for ever.", SamplingOptions(temperature=0.0))
    assert finished.finish_reason == "context"
    timings = finished.timings
    assert (timings.prompt_tokens or 0) + (timings.predicted_tokens or 0) == 256
    assert chat.text.startswith("Moxie (魔匣) runs its experts well. Moxie")


@pytest.mark.parametrize(
    ("how", "code"),
    [("SIGKILL", FindingCode.ENGINE_KILLED), ("SIGSEGV", FindingCode.ENGINE_DIED)],
)
def test_an_engine_that_dies_in_mid_answer_is_a_finding(
    chat: Chat, moe_model: Path, how: str, code: FindingCode
) -> None:
    chat.load(moe_model, _options())
    pid = _server_pid(chat)
    killed: list[int] = []

    def kill_in_mid_answer() -> bool:
        if not killed and len([event for event in chat.events if isinstance(event, Token)]) >= 3:
            killed.append(pid)
            os.kill(pid, signal.Signals[how])
        return False

    with pytest.raises(FindingError) as caught:
        chat.ask("Tell me a very long story.", SamplingOptions(seed=1), kill_in_mid_answer)
    assert caught.value.finding.code is code
    assert chat.text


def _server_pid(chat: Chat) -> int:
    child = chat.backend._child
    assert child is not None
    return child.pid


def test_a_load_can_be_cancelled(chat: Chat, moe_model: Path) -> None:
    calls: list[float] = []

    def is_cancelled() -> bool:
        calls.append(time.monotonic())
        return len(calls) >= 2

    with pytest.raises(FindingError) as caught:
        chat.backend.load(LoadModel(str(moe_model), _options()), chat.events.append, is_cancelled)
    assert caught.value.finding.code is FindingCode.LOAD_CANCELLED
    assert time.monotonic() - calls[-1] < CANCEL_SECONDS


def test_a_file_that_is_no_model_is_refused_with_the_engines_words(chat: Chat, tmp_path: Path) -> None:
    file = tmp_path / "不是 model.gguf"
    file.write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(FindingError) as caught:
        chat.load(file, _options())
    assert caught.value.finding.code is FindingCode.HEADER_BROKEN


def test_experts_go_where_they_are_told_and_the_text_stays_equal(
    chat: Chat, exact_twin: Path, rpc_address: str
) -> None:
    texts: list[str] = []
    on_gpu: list[int] = []
    for more in ({}, {"n_cpu_moe": BLOCKS // 3}, {"cpu_moe": True}):
        options = _options(n_gpu_layers=ALL_LAYERS, rpc_servers=[rpc_address], **more)
        loaded = chat.load(exact_twin, options)
        on_gpu.append(_model_bytes(loaded)["RPC0"])
        assert loaded.applied["devices"] == ["RPC0"]
        assert loaded.applied["n_gpu_layers"] > 0
        chat.ask(QUESTION, SamplingOptions(temperature=0.0, max_tokens=16))
        texts.append(chat.text)
    experts, others = _expert_bytes(exact_twin)
    assert on_gpu == [
        pytest.approx(others + experts, abs=LOG_ROUNDING_BYTES),
        pytest.approx(others + experts * 2 / 3, abs=LOG_ROUNDING_BYTES),
        pytest.approx(others, abs=LOG_ROUNDING_BYTES),
    ]
    assert len(set(texts)) == 1 and texts[0]
