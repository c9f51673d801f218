"""The built-in engine on real models: loads, answers, stops."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.llama.backend import LlamaBackend
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
    Token,
)
from app.findings import FindingCode, FindingError
from app.gguf.reader import read_header
from app.options import EngineOptions, SamplingOptions

pytestmark = pytest.mark.engine

OPTIONS = EngineOptions(n_ctx=2048, n_threads=1, n_threads_batch=1, n_gpu_layers=0)
GREEDY = SamplingOptions(temperature=0.0, max_tokens=48)
QUESTION = (
    ChatMessage("system", "You are a helpful assistant."),
    ChatMessage("user", "What is the capital of France? Answer in one sentence."),
)
CANCEL_SECONDS = 2.0


def never() -> bool:
    return False


class Answer:
    """Runs one request and keeps its events."""

    def __init__(
        self,
        backend: LlamaBackend,
        messages: tuple[ChatMessage, ...] = QUESTION,
        sampling: SamplingOptions = GREEDY,
        stop_when: Callable[[list[Event]], bool] = lambda events: False,
    ) -> None:
        self.events: list[Event] = []
        self.cancelled_at: float | None = None
        self._stop_when = stop_when
        command = Generate(7, messages, sampling)
        self.finished: Finished = backend.generate(command, self.events.append, self._is_cancelled)
        self.ended_at = time.monotonic()

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Token))

    def _is_cancelled(self) -> bool:
        if self.cancelled_at is None and self._stop_when(self.events):
            self.cancelled_at = time.monotonic()
        return self.cancelled_at is not None


def load(backend: LlamaBackend, path: Path, options: EngineOptions = OPTIONS) -> Loaded:
    return backend.load(LoadModel(str(path), options), lambda event: None, never)


def test_hello_names_the_build_and_the_processor(backend: LlamaBackend) -> None:
    hello = backend.hello()
    assert hello.engine == "worker"
    assert hello.build.startswith("llama.cpp ")
    cpu = next(device for device in hello.devices if device.kind == "cpu")
    assert cpu.name == "CPU"
    assert cpu.total_bytes is not None and cpu.total_bytes > 1024**3


@pytest.mark.parametrize("cpu_moe", [False, True])
def test_the_default_model_knows_paris(backend: LlamaBackend, moe_model: Path, cpu_moe: bool) -> None:
    loaded = load(backend, moe_model, replace(OPTIONS, cpu_moe=cpu_moe, n_threads=2, n_threads_batch=2))
    answer = Answer(backend)
    assert "Paris" in answer.text
    assert answer.finished.finish_reason == "stop"
    assert loaded.applied["cpu_moe"] is cpu_moe


def test_applied_and_buffers_come_from_the_engine(backend: LlamaBackend, moe_model: Path) -> None:
    asked = replace(OPTIONS, n_ctx=1000, n_batch=256, n_ubatch=64, type_k="q8_0", n_cpu_moe=3, repack=False)
    loaded = load(backend, moe_model, asked)
    expected = {
        "n_ctx": 1024, "n_batch": 256, "n_ubatch": 64, "type_k": "q8_0", "type_v": "f16", "n_cpu_moe": 3,
        "n_threads": 1, "n_threads_batch": 1, "n_gpu_layers": 0, "load_mode": "mmap", "repack": False,
        "n_parallel": 1, "cache_ram_mib": 0, "flash_attn": "on",
    }  # fmt: skip
    assert {name: loaded.applied[name] for name in expected} == expected
    assert loaded.context_length == 1024
    weights = sum(use.size_bytes for use in loaded.buffers if use.part == "model")
    assert abs(weights - 424.86 * 1024**2) < 1024**2
    assert {use.part for use in loaded.buffers} == {"model", "kv_cache", "compute", "output"}


def test_loading_reports_its_way_to_the_end(backend: LlamaBackend, exact_twin: Path) -> None:
    events: list[Event] = []
    backend.load(LoadModel(str(exact_twin), replace(OPTIONS, load_mode="none")), events.append, never)
    steps = [event for event in events if isinstance(event, LoadProgress)]
    fractions = [step.fraction for step in steps if step.phase == "weights" and step.fraction is not None]
    assert [step.phase for step in steps if step.phase != "weights"] == ["starting", "context"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_a_load_can_be_cancelled_on_the_way(backend: LlamaBackend, exact_twin: Path) -> None:
    events: list[Event] = []
    command = LoadModel(str(exact_twin), replace(OPTIONS, load_mode="none"))
    with pytest.raises(FindingError) as caught:
        backend.load(command, events.append, lambda: len(events) > 1)
    assert caught.value.finding.code is FindingCode.LOAD_CANCELLED
    fractions = [event.fraction for event in events if isinstance(event, LoadProgress) and event.fraction]
    assert all(fraction < 1.0 for fraction in fractions)


def test_the_same_start_of_a_prompt_is_computed_once(backend: LlamaBackend, moe_model: Path) -> None:
    load(backend, moe_model)
    first = Answer(backend)
    turns = (*QUESTION, ChatMessage("assistant", first.text), ChatMessage("user", "And of Italy?"))
    second = Answer(backend, turns)
    assert "Rome" in second.text
    before = first.finished.timings
    after = second.finished.timings
    assert before.cached_tokens == 0
    assert before.prompt_tokens is not None and after.prompt_tokens is not None
    assert after.cached_tokens is not None and after.cached_tokens >= before.prompt_tokens
    assert second.events[0] == PromptProgress(7, *[after.cached_tokens + after.prompt_tokens] * 2)


def test_reused_memory_changes_no_word(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin, replace(OPTIONS, repack=False))
    fresh = Answer(backend).text
    Answer(backend, (ChatMessage("user", "Count to ten."),))
    assert Answer(backend).text == fresh


def test_timings_tell_prompt_and_answer_apart(backend: LlamaBackend, moe_model: Path) -> None:
    load(backend, moe_model)
    timings = Answer(backend).finished.timings
    assert timings.prompt_ms and timings.predicted_ms
    assert timings.predicted_tokens_per_second and timings.predicted_tokens_per_second > 0


def test_an_answer_stops_at_max_tokens(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin)
    answer = Answer(backend, sampling=replace(GREEDY, max_tokens=3))
    assert answer.finished.finish_reason == "length"
    assert answer.finished.timings.predicted_tokens == 3


def test_an_answer_stops_before_a_stop_text(backend: LlamaBackend, moe_model: Path) -> None:
    load(backend, moe_model)
    answer = Answer(backend, sampling=replace(GREEDY, stop=("Paris",)))
    assert answer.finished.finish_reason == "stop"
    assert answer.text == "The capital of France is "


def test_an_answer_stops_when_the_context_is_full(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin, replace(OPTIONS, n_ctx=256))
    story = (ChatMessage("user", "Tell a very long story about the sea. " * 24),)
    answer = Answer(backend, story, SamplingOptions(temperature=1.0, seed=1, stop=("<|never|>",)))
    timings = answer.finished.timings
    assert answer.finished.finish_reason in ("context", "stop")
    assert timings.prompt_tokens is not None and timings.predicted_tokens is not None
    assert timings.prompt_tokens + timings.predicted_tokens <= 257


def test_a_prompt_longer_than_the_context_is_refused_with_numbers(
    backend: LlamaBackend, exact_twin: Path
) -> None:
    load(backend, exact_twin, replace(OPTIONS, n_ctx=256))
    with pytest.raises(FindingError) as caught:
        Answer(backend, (ChatMessage("user", "word " * 600),))
    assert caught.value.finding.code is FindingCode.PROMPT_TOO_LONG
    assert caught.value.finding.values["n_ctx"] == 256
    tokens = caught.value.finding.values["prompt_tokens"]
    assert isinstance(tokens, int) and tokens > 600
    assert "Paris" in Answer(backend).text


def test_a_prompt_can_be_cancelled_in_the_middle(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin, replace(OPTIONS, n_ctx=8192, n_ubatch=512))
    long_prompt = (ChatMessage("user", "The sea is wide and the sky is blue. " * 700),)
    answer = Answer(backend, long_prompt, stop_when=lambda events: len(events) >= 1)
    assert answer.finished.finish_reason == "cancelled"
    assert answer.text == ""
    assert answer.cancelled_at is not None
    assert answer.ended_at - answer.cancelled_at < CANCEL_SECONDS
    assert answer.finished.timings.prompt_tokens == 512
    assert "Paris" in Answer(backend).text


def test_a_single_batch_can_be_cancelled_while_it_is_computed(
    backend: LlamaBackend, exact_twin: Path
) -> None:
    load(backend, exact_twin, replace(OPTIONS, n_ctx=8192, n_batch=4096, n_ubatch=4096))
    polls = 0

    def after_some_nodes() -> bool:
        nonlocal polls
        polls += 1
        return polls > 100

    command = Generate(1, (ChatMessage("user", "The sea is wide. " * 900),), GREEDY)
    events: list[Event] = []
    finished = backend.generate(command, events.append, after_some_nodes)
    assert finished.finish_reason == "cancelled"
    assert finished.timings.prompt_tokens == 0
    assert events == []
    assert "Paris" in Answer(backend).text


def test_an_answer_can_be_cancelled_in_the_middle(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin)
    story = (ChatMessage("user", "Tell me a long story about a lighthouse."),)
    answer = Answer(backend, story, replace(GREEDY, max_tokens=None), lambda events: len(events) > 5)
    assert answer.finished.finish_reason == "cancelled"
    assert answer.text
    assert answer.cancelled_at is not None
    assert answer.ended_at - answer.cancelled_at < CANCEL_SECONDS


def test_characters_of_several_tokens_come_whole(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin)
    echo = (ChatMessage("user", "Repeat exactly: 🦊🐻🐼🐨🐯🦁🐮🐷 你好，世界"),)
    answer = Answer(backend, echo, replace(GREEDY, max_tokens=60))
    tokens = [event for event in answer.events if isinstance(event, Token)]
    assert any(ord(character) > 0x2FFF for character in answer.text)
    assert "\ufffd" not in answer.text
    predicted = answer.finished.timings.predicted_tokens
    assert predicted is not None and len(tokens) < predicted


def test_the_seed_decides_what_is_drawn(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin)
    story = (ChatMessage("user", "Write one sentence about the sea."),)

    def draw(seed: int) -> str:
        return Answer(
            backend, story, SamplingOptions(temperature=1.5, top_k=0, seed=seed, max_tokens=16)
        ).text

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_a_penalty_of_0_is_refused_by_name(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin)
    with pytest.raises(FindingError) as caught:
        Answer(backend, sampling=replace(GREEDY, repeat_penalty=0.0))
    assert caught.value.finding.values["name"] == "repeat_penalty"


def test_one_gpu_for_all_is_no_obstacle_where_there_is_none(backend: LlamaBackend, exact_twin: Path) -> None:
    load(backend, exact_twin, replace(OPTIONS, split_mode="none"))
    assert "Paris" in Answer(backend).text


def test_quantized_values_need_flash_attention_and_the_reason_says_so(
    backend: LlamaBackend, exact_twin: Path
) -> None:
    with pytest.raises(FindingError) as caught:
        load(backend, exact_twin, replace(OPTIONS, flash_attn="off", type_v="q8_0"))
    assert caught.value.finding.code is FindingCode.ENGINE_REJECTS_MODEL
    assert "flash_attn" in str(caught.value.finding.values["reason"])


def test_a_file_that_is_no_model_is_refused_with_the_engines_reason(
    backend: LlamaBackend, tmp_path: Path
) -> None:
    page = tmp_path / "网页 1.gguf"
    page.write_text("<!DOCTYPE html>", encoding="utf-8")
    with pytest.raises(FindingError) as caught:
        load(backend, page)
    assert "magic" in str(caught.value.finding.values["detail"])


def test_metadata_overrides_repair_a_file_without_an_expert_count(
    backend: LlamaBackend, without_expert_count: Path
) -> None:
    repaired = replace(OPTIONS, kv_overrides=(("llama.expert_count", 4),))
    loaded = load(backend, without_expert_count, repaired)
    assert loaded.applied["kv_overrides"] == [["llama.expert_count", 4]]
    assert "Paris" in Answer(backend).text


def test_a_dry_run_takes_a_good_file_and_refuses_half_of_it(
    backend: LlamaBackend, exact_twin: Path, tmp_path: Path
) -> None:
    half = tmp_path / "half.gguf"
    with exact_twin.open("rb") as whole:
        half.write_bytes(whole.read(4 * 1024**2))
    assert backend.check(CheckModel(str(exact_twin), OPTIONS)).accepted
    checked = backend.check(CheckModel(str(half), OPTIONS))
    assert not checked.accepted
    assert [finding.code for finding in checked.findings] == [FindingCode.TENSOR_BEYOND_FILE]
    named = str(checked.findings[0].values["tensor"])
    assert named in {tensor.name for tensor in read_header(exact_twin).tensors}


def test_a_missing_package_is_a_missing_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(FindingError) as caught:
        LlamaBackend().hello()
    assert caught.value.finding.code is FindingCode.ENGINE_MISSING
