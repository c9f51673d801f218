"""Where the experts really go: the processor as a second device through RPC, one server per engine build."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage, Finished, Loaded, Token
from app.engine.spec import BackendKind, EngineSpec
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.options import ALL_LAYERS, EngineOptions, SamplingOptions
from tests.rpc_server import pack_rpc_server, worker_rpc_server

pytestmark = pytest.mark.engine

ROUNDING_BYTES = 32 * 1024
"""Logs state MiB with two decimals, a line per buffer; tensors are padded to 32 bytes."""

QUESTION = (ChatMessage("user", "What is the capital of France? Answer in one sentence."),)
STORY = (ChatMessage("user", "Write three sentences about a lighthouse."),)
GREEDY = SamplingOptions(temperature=0.0, max_tokens=40)


@dataclass(frozen=True)
class Setup:
    """An engine and a device of its own build."""

    spec: EngineSpec
    server: str


@dataclass(frozen=True)
class Run:
    """One load and one answer."""

    loaded: Loaded
    text: str
    finished: Finished

    def weights_on(self, device: str) -> int:
        """Return the bytes of weights on `device`."""
        return sum(
            use.size_bytes for use in self.loaded.buffers if use.part == "model" and use.device == device
        )


@pytest.fixture(scope="module", params=["worker", "llama-server"])
def setup(request: pytest.FixtureRequest, engine_pack: Path) -> Iterator[Setup]:
    """Each engine with a running RPC server."""
    if request.param == "worker":
        with worker_rpc_server() as server:
            yield Setup(EngineSpec("worker", BackendKind.LLAMA), server)
    else:
        with pack_rpc_server(engine_pack) as server:
            yield Setup(EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack), server)


def run(setup: Setup, model: Path, messages: tuple[ChatMessage, ...] = QUESTION, **options: object) -> Run:
    values: dict[str, object] = {"rpc_servers": (setup.server,), **options}
    base = EngineOptions(n_ctx=1024, n_threads=1, n_threads_batch=1, repack=False)
    with BlockingEngine(setup.spec) as engine:
        loaded = engine.load(model, replace(base, **values))  # type: ignore[arg-type]  # checked by EngineOptions
        events = list(engine.generate(messages, GREEDY))
    last = events[-1]
    assert isinstance(last, Finished)
    return Run(loaded, "".join(event.text for event in events if isinstance(event, Token)), last)


def facts_of(model: Path) -> ModelFacts:
    facts = inspect_path(model).facts
    assert facts is not None
    return facts


def weight_bytes(facts: ModelFacts) -> int:
    return sum(tensor.size_bytes or 0 for tensor in facts.tensors)


def test_experts_on_the_device_are_all_weights_there(setup: Setup, moe_model: Path) -> None:
    facts = facts_of(moe_model)
    off = run(setup, moe_model)
    assert abs(off.weights_on("RPC0") - weight_bytes(facts)) < ROUNDING_BYTES
    assert off.loaded.applied.get("n_gpu_layers", 31) == 31  # 30 blocks and the output
    assert off.loaded.findings == ()  # as asked, in every field the engine speaks of
    assert "Paris" in off.text


def test_a_device_is_chosen_by_its_name(setup: Setup, exact_twin: Path) -> None:
    facts = facts_of(exact_twin)
    chosen = run(setup, exact_twin, devices=("RPC0",))
    assert abs(chosen.weights_on("RPC0") - weight_bytes(facts)) < ROUNDING_BYTES
    assert chosen.loaded.findings == ()


def test_moe_all_leaves_only_what_is_no_expert_on_the_device(setup: Setup, moe_model: Path) -> None:
    facts = facts_of(moe_model)
    moved = run(setup, moe_model, cpu_moe=True)
    not_experts = weight_bytes(facts) - facts.routed_expert_bytes
    assert abs(moved.weights_on("RPC0") - not_experts) < ROUNDING_BYTES
    assert moved.loaded.applied.get("cpu_moe", True) is True
    assert "Paris" in moved.text


def test_moe_n_moves_the_experts_of_the_first_n_blocks(setup: Setup, moe_model: Path) -> None:
    facts = facts_of(moe_model)
    moved = run(setup, moe_model, n_cpu_moe=10)
    expected = weight_bytes(facts) - sum(layer.routed_expert_bytes for layer in facts.layers[:10])
    assert abs(moved.weights_on("RPC0") - expected) < ROUNDING_BYTES
    assert moved.loaded.applied.get("n_cpu_moe", 10) == 10


def test_single_blocks_leave_their_experts_in_ram(setup: Setup, moe_model: Path) -> None:
    facts = facts_of(moe_model)
    blocks = (2, 5, 29)
    moved = run(setup, moe_model, cpu_moe_blocks=blocks)
    expected = weight_bytes(facts) - sum(facts.layers[block].routed_expert_bytes for block in blocks)
    assert abs(moved.weights_on("RPC0") - expected) < ROUNDING_BYTES
    assert tuple(moved.loaded.applied.get("cpu_moe_blocks", blocks)) == blocks
    assert moved.loaded.findings == ()
    assert "Paris" in moved.text


def test_greedy_text_is_equal_wherever_the_experts_are(setup: Setup, exact_twin: Path) -> None:
    placements: list[dict[str, object]] = [
        {"rpc_servers": (), "n_gpu_layers": 0},
        {"n_gpu_layers": ALL_LAYERS},
        {"n_gpu_layers": ALL_LAYERS, "cpu_moe": True},
        {"n_gpu_layers": ALL_LAYERS, "n_cpu_moe": 7},
        {"n_gpu_layers": ALL_LAYERS, "cpu_moe_blocks": (1, 8, 20)},
        {"n_gpu_layers": 12, "cpu_moe": True},
    ]
    texts = [run(setup, exact_twin, STORY, **placement).text for placement in placements]
    assert len(texts[0]) > 40
    assert set(texts) == {texts[0]}
