"""The backend against an engine that plays what the field reports: loading, dying, refusing, hanging."""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.engine.llama_server import Limits, LlamaServerBackend
from app.engine.protocol import (
    ChatMessage,
    CheckModel,
    Event,
    Finished,
    Generate,
    Loaded,
    LoadModel,
    LoadProgress,
    PromptProgress,
    Timings,
    Token,
)
from app.findings import Finding, FindingCode, FindingError
from app.options import EngineOptions, SamplingOptions
from tests.fake_pack import ANSWER, FakePack, make_fake_pack
from tests.rpc_peer import rpc_peer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake engine is a POSIX script")

CANCEL_SECONDS = 2.0
MESSAGES = (ChatMessage("system", "Be 简短."), ChatMessage("user", "hi"))


@dataclass
class Rig:
    """A fake pack, the backend on it, and everything it sent."""

    pack: FakePack
    backend: LlamaServerBackend
    events: list[Event] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def load(
        self, options: EngineOptions | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Loaded:
        command = LoadModel("/models/模 型.gguf", options or EngineOptions())
        return self.backend.load(command, self.events.append, is_cancelled)

    def failing_load(self, options: EngineOptions | None = None) -> Finding:
        with pytest.raises(FindingError) as caught:
            self.load(options)
        return caught.value.finding

    def generate(
        self, sampling: SamplingOptions | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Finished:
        command = Generate(5, MESSAGES, sampling or SamplingOptions())
        return self.backend.generate(command, self.events.append, is_cancelled)

    def failing_answer(self) -> Finding:
        with pytest.raises(FindingError) as caught:
            self.generate()
        return caught.value.finding


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[MakeRig]:
    rigs: list[Rig] = []

    def make(*starts: dict[str, Any], silence: float = 30.0) -> Rig:
        pack = make_fake_pack(tmp_path / f"包 {len(rigs)}", starts)
        lines: list[str] = []
        backend = LlamaServerBackend(pack.folder, Limits(silence=silence, poll=0.01), lines.append)
        rigs.append(Rig(pack, backend, lines=lines))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.backend.close()
        assert not any(_is_alive(start["pid"]) for start in rig.pack.starts())


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_for(condition: Callable[[], object], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        threading.Event().wait(0.01)


def test_hello_names_build_and_devices(make_rig: MakeRig) -> None:
    hello = make_rig().backend.hello()
    assert (hello.engine, hello.build) == ("llama-server", "9.9 (build 1, commit abc)")
    assert [device.name for device in hello.devices] == ["CPU"]


def test_a_503_is_loading_and_not_a_failure(make_rig: MakeRig) -> None:
    silence = 2.0
    rig = make_rig({"loading_polls": 250}, silence=silence)
    began = time.monotonic()
    assert rig.load().context_length == 512
    assert time.monotonic() - began > silence
    assert rig.events[0] == LoadProgress("starting")


def test_phases_follow_the_log(make_rig: MakeRig) -> None:
    lines = ["load_tensors: loading model tensors, this can take a while..."]
    rig = make_rig({"lines": lines, "loading_polls": 5})
    rig.load()
    assert LoadProgress("weights") in rig.events
    assert rig.lines == lines


def test_an_engine_that_never_answers_times_out(make_rig: MakeRig) -> None:
    finding = make_rig({"stays_mute": True}, silence=0.3).failing_load()
    assert finding.code is FindingCode.ENGINE_TIMED_OUT
    assert finding.values == {"seconds": 0.3, "during": "load"}


@pytest.mark.parametrize("start", [{"stays_mute": True}, {"loading_polls": 10_000}])
def test_a_load_is_cancelled_at_any_time_and_another_one_works(
    make_rig: MakeRig, start: dict[str, Any]
) -> None:
    rig = make_rig(start, {})
    cancelled = threading.Event()

    def cancel_once_started() -> None:
        _wait_for(rig.pack.starts)
        cancelled.set()

    watcher = threading.Thread(target=cancel_once_started)
    watcher.start()
    asked_at: list[float] = []

    def is_cancelled() -> bool:
        if cancelled.is_set():
            asked_at.append(time.monotonic())
        return cancelled.is_set()

    with pytest.raises(FindingError) as caught:
        rig.load(is_cancelled=is_cancelled)
    assert time.monotonic() - asked_at[0] < CANCEL_SECONDS
    watcher.join()
    assert caught.value.finding.code is FindingCode.LOAD_CANCELLED
    assert not _is_alive(rig.pack.starts()[0]["pid"])
    assert rig.load().context_length == 512


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (
            {"lines": ["llama-model.cpp:1362: GGML_ASSERT(n_rows > 0) failed"], "exit": "SIGABRT"},
            FindingCode.ENGINE_ASSERT,
        ),
        ({"exit": "SIGILL"}, FindingCode.CPU_INSTRUCTIONS_MISSING),
        ({"exit": "SIGSEGV"}, FindingCode.ENGINE_DIED),
        ({"exit": "SIGKILL"}, FindingCode.ENGINE_KILLED),
        ({"exit": 137}, FindingCode.ENGINE_KILLED),
        (
            {"lines": ["ggml_cuda: cudaMalloc failed: out of memory"], "exit": 1},
            FindingCode.ENGINE_OUT_OF_VRAM,
        ),
        (
            {"lines": ["error loading model: unknown model architecture: 'novel'"], "exit": 1},
            FindingCode.ARCHITECTURE_UNKNOWN,
        ),
    ],
)
def test_an_engine_that_dies_while_loading_says_why(
    make_rig: MakeRig, start: dict[str, Any], code: FindingCode
) -> None:
    rig = make_rig(start)
    assert rig.failing_load().code is code
    assert len(rig.pack.starts()) == 1


def test_the_child_gets_our_environment_a_private_key_and_byte_equal_paths(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, data_home: Path
) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    rig = make_rig()
    rig.load()
    (start,) = rig.pack.starts()
    assert not any(name.startswith("LLAMA_") or "proxy" in name.lower() for name in start["env"])
    assert len(start["key"]) == 64 and start["key_mode"] == 0o600
    assert start["key"] not in " ".join(start["argv"])
    assert start["argv"][1] == "/models/模 型.gguf"
    assert list((data_home / "run").iterdir()) == []


def test_the_system_proxy_is_not_asked(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    rig = make_rig()
    rig.load()
    assert rig.generate().finish_reason == "stop"


def test_a_taken_port_is_tried_again_on_another(make_rig: MakeRig) -> None:
    taken = {"lines": ["srv start: couldn't bind HTTP server socket, port: 1"], "exit": 1}
    rig = make_rig(taken, {})
    rig.load()
    ports = [start["argv"][start["argv"].index("--port") + 1] for start in rig.pack.starts()]
    assert len(set(ports)) == 2


def test_a_port_that_is_always_taken_is_a_failed_start(make_rig: MakeRig) -> None:
    taken = {"lines": ["srv start: couldn't bind HTTP server socket, port: 1"], "exit": 1}
    rig = make_rig(taken)
    assert rig.failing_load().code is FindingCode.ENGINE_START_FAILED
    assert len(rig.pack.starts()) == 3


def test_a_server_with_another_model_is_not_ours(make_rig: MakeRig) -> None:
    rig = make_rig({"model_path": "/someone/else.gguf"}, {})
    rig.load()
    assert len(rig.pack.starts()) == 2


def test_an_rpc_server_nobody_reaches_is_no_silent_load_without_it(make_rig: MakeRig) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{probe.getsockname()[1]}"
    rig = make_rig()
    finding = rig.failing_load(EngineOptions(rpc_servers=(server,)))
    assert (finding.code, finding.values["server"]) == (FindingCode.RPC_UNREACHABLE, server)
    assert rig.pack.starts() == []


def test_a_public_rpc_server_is_refused(make_rig: MakeRig) -> None:
    finding = make_rig().failing_load(EngineOptions(rpc_servers=("8.8.8.8:50052",)))
    assert finding.code is FindingCode.RPC_ADDRESS_REFUSED


def test_a_listener_that_speaks_no_rpc_is_named(make_rig: MakeRig) -> None:
    line = (
        "/build/ggml/src/ggml-rpc/ggml-rpc.cpp:345: Remote RPC server crashed or returned malformed response"
    )
    rig = make_rig({"lines": [line], "exit": "SIGABRT"})
    with rpc_peer(lambda connection: connection.close()) as server:
        finding = rig.failing_load(EngineOptions(rpc_servers=(server,)))
    assert finding.code is FindingCode.RPC_UNREACHABLE
    assert finding.values == {"server": server, "detail": line.rpartition("/")[2]}


def _kv_types(start: dict[str, Any]) -> tuple[str, str]:
    argv = start["argv"]
    return argv[argv.index("--cache-type-k") + 1], argv[argv.index("--cache-type-v") + 1]


def test_quantised_v_never_meets_flash_attention_off(make_rig: MakeRig) -> None:
    rig = make_rig()
    loaded = rig.load(EngineOptions(flash_attn="off", type_k="q8_0", type_v="q8_0"))
    assert [finding.code for finding in loaded.findings] == [FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION]
    assert [_kv_types(start) for start in rig.pack.starts()] == [("f16", "f16")]


def test_a_model_that_forces_flash_attention_off_is_tried_once_more_with_equal_types(
    make_rig: MakeRig,
) -> None:
    refusal = {"lines": ["llama_init: V cache quantization requires flash_attn"], "exit": 1}
    rig = make_rig(refusal, {})
    loaded = rig.load(EngineOptions(type_k="q8_0", type_v="q8_0"))
    assert [finding.code for finding in loaded.findings] == [FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION]
    assert [_kv_types(start) for start in rig.pack.starts()] == [("q8_0", "q8_0"), ("f16", "f16")]


def test_there_is_no_endless_retry(make_rig: MakeRig) -> None:
    rig = make_rig({"lines": ["V cache quantization requires flash_attn"], "exit": 1})
    assert (
        rig.failing_load(EngineOptions(type_k="q8_0", type_v="q8_0")).code is FindingCode.ENGINE_REJECTS_MODEL
    )
    assert len(rig.pack.starts()) == 2


def test_an_answer_comes_as_events(make_rig: MakeRig) -> None:
    rig = make_rig()
    rig.load()
    rig.events.clear()
    finished = rig.generate(SamplingOptions(temperature=0.0, seed=3, max_tokens=9, stop=("END",)))
    assert rig.events == [PromptProgress(5, 9, 9), Token(5, "hm", is_reasoning=True), Token(5, "魔匣")]
    assert finished == Finished(5, "stop", Timings(8, 2.5, 2, 4.0, 1))


def test_the_request_carries_every_sampling_option(make_rig: MakeRig) -> None:
    rig = make_rig()
    rig.load()
    sampling = SamplingOptions(
        temperature=0.5,
        top_k=7,
        top_p=0.8,
        min_p=0.1,
        repeat_penalty=1.1,
        seed=3,
        max_tokens=9,
        stop=("END",),
    )
    rig.generate(sampling)
    assert rig.pack.request() == {
        "messages": [{"role": "system", "content": "Be 简短."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "return_progress": True,
        "timings_per_token": True,
        "cache_prompt": True,
        "temperature": 0.5,
        "top_k": 7,
        "top_p": 0.8,
        "min_p": 0.1,
        "repeat_penalty": 1.1,
        "seed": 3,
        "max_tokens": 9,
        "stop": ["END"],
    }


def _end(reason: str, predicted: int) -> list[str]:
    data = {"choices": [{"finish_reason": reason, "delta": {}}], "timings": {"predicted_n": predicted}}
    return [f"data: {json.dumps(data)}\n\n", "data: [DONE]\n\n"]


@pytest.mark.parametrize(
    ("said", "predicted", "max_tokens", "meant"),
    [
        ("stop", 3, 9, "stop"),
        ("length", 9, 9, "length"),
        ("length", 3, 9, "context"),
        ("length", 3, None, "context"),
        ("tool_calls", 3, None, "stop"),
    ],
)
def test_the_end_of_an_answer_has_a_reason(
    make_rig: MakeRig, said: str, predicted: int, max_tokens: int | None, meant: str
) -> None:
    rig = make_rig({"answers": [{"chunks": _end(said, predicted)}]})
    rig.load()
    assert rig.generate(SamplingOptions(max_tokens=max_tokens)).finish_reason == meant


def test_events_may_be_cut_anywhere(make_rig: MakeRig) -> None:
    text = "".join(ANSWER)
    rig = make_rig({"answers": [{"chunks": list(text)}]})
    rig.load()
    rig.generate()
    assert Token(5, "魔匣") in rig.events


def test_a_prompt_beyond_the_context_comes_with_numbers(make_rig: MakeRig) -> None:
    details = {"type": "exceed_context_size_error", "message": "x", "n_prompt_tokens": 5031, "n_ctx": 2048}
    rig = make_rig({"answers": [{"status": 400, "body": {"error": details}}]})
    rig.load()
    finding = rig.failing_answer()
    assert finding.code is FindingCode.PROMPT_TOO_LONG
    assert finding.values == {"prompt_tokens": 5031, "n_ctx": 2048}


def test_a_template_that_fails_is_told_from_other_refusals(make_rig: MakeRig) -> None:
    rig = make_rig(
        {
            "answers": [
                {"status": 500, "body": {"error": {"message": "Jinja Exception: roles must alternate"}}},
                {"status": 500, "body": {"error": {"message": "something else"}}},
                {"chunks": ['data: {"error": {"message": "in the stream"}}\n\n']},
                {"chunks": ["data: {broken\n\n"]},
                {"chunks": ["data: {}\n\n"]},
            ]
        }
    )
    rig.load()
    assert rig.failing_answer().code is FindingCode.CHAT_TEMPLATE_FAILED
    assert rig.failing_answer().values == {"detail": "something else", "status": 500}
    assert rig.failing_answer().values == {"detail": "in the stream", "status": 200}
    assert rig.failing_answer().code is FindingCode.ENGINE_REQUEST_FAILED
    assert rig.failing_answer().code is FindingCode.ENGINE_REQUEST_FAILED


def test_an_engine_killed_in_mid_answer_is_named_and_its_text_was_sent(make_rig: MakeRig) -> None:
    rig = make_rig({"answers": [{"chunks": [*ANSWER[:3], "die"]}]})
    rig.load()
    assert rig.failing_answer().code is FindingCode.ENGINE_KILLED
    assert Token(5, "魔匣") in rig.events
    assert rig.failing_answer().code is FindingCode.ENGINE_KILLED


@pytest.mark.parametrize("before", [0, 1, 3], ids=["before any byte", "in the prompt", "in the answer"])
def test_a_silent_engine_can_be_cancelled(make_rig: MakeRig, before: int) -> None:
    rig = make_rig({"answers": [{"chunks": [*ANSWER[:before], "hang"]}, {"chunks": ANSWER}]})
    rig.load()
    rig.events.clear()
    cancelled_at: list[float] = []

    def is_cancelled() -> bool:
        if len(rig.events) >= before and not cancelled_at:
            cancelled_at.append(time.monotonic())
        return bool(cancelled_at)

    assert rig.generate(is_cancelled=is_cancelled).finish_reason == "cancelled"
    assert time.monotonic() - cancelled_at[0] < CANCEL_SECONDS
    assert rig.generate().finish_reason == "stop"


def test_a_server_has_no_dry_run(make_rig: MakeRig) -> None:
    with pytest.raises(FindingError) as caught:
        make_rig().backend.check(CheckModel("m", EngineOptions()))
    assert caught.value.finding.code is FindingCode.ENGINE_CHECK_UNAVAILABLE


def test_nothing_is_answered_before_a_load(make_rig: MakeRig) -> None:
    assert make_rig().failing_answer().code is FindingCode.ENGINE_START_FAILED


def test_a_second_load_ends_the_first_engine(make_rig: MakeRig) -> None:
    rig = make_rig()
    rig.load()
    rig.load()
    first, second = rig.pack.starts()
    assert not _is_alive(first["pid"]) and _is_alive(second["pid"])
