"""Blocks of different precision on real engines: the experts that are in RAM are those the plan names."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.protocol import ChatMessage, Finished, Loaded
from app.engine.spec import BackendKind, EngineSpec
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.gguf.writer import write_gguf
from app.options import SamplingOptions
from app.planner.facts import MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_offload
from app.planner.report import RemoteDevice, with_remote_devices
from tests.models.architectures import ARCHITECTURES
from tests.models.blueprint import Role
from tests.models.dimensions import Dimensions
from tests.models.tiny import TinyTensor, entries_of
from tests.models.weights import F16, F32, Q8_0, content_of, type_of
from tests.planner_models import GIB, WEIGHT_PARTS
from tests.rpc_server import pack_rpc_server, worker_rpc_server

pytestmark = pytest.mark.engine

ROUNDING_BYTES = 32 * 1024
TYPES = (Q8_0, F32, F16, Q8_0, F16, F32)
"""Of the experts in each block: no other choice of blocks has as many bytes as the two of Q8_0."""
COARSEST = (0, 3)
SIZES = Dimensions(layers=len(TYPES), expert_width=256)
QUESTION = (ChatMessage("user", "a"),)


@dataclass(frozen=True)
class Setup:
    """An engine, and a device of its own build."""

    spec: EngineSpec
    server: str

    def plan(self, facts: ModelFacts, free_bytes: int, moe: str | int = "auto") -> OffloadPlan:
        """Plan on a machine whose only GPU is the device."""
        remote = [RemoteDevice("RPC0", free_bytes)]
        budget = with_remote_devices(MemoryBudget(16 * GIB), (), (self.server,), remote)
        return plan_offload(facts, budget, Wishes(moe=moe, n_ctx=1024, n_threads=1, repack=False))

    def load(self, model: Path, plan: OffloadPlan) -> Loaded:
        """Load as planned, and answer."""
        with BlockingEngine(self.spec) as engine:
            loaded = engine.load(model, plan.options)
            events = list(engine.generate(QUESTION, SamplingOptions(temperature=0.0, max_tokens=4)))
        assert isinstance(events[-1], Finished)
        return loaded


@pytest.fixture(scope="module", params=["worker", "llama-server"])
def setup(request: pytest.FixtureRequest, engine_pack: Path) -> Iterator[Setup]:
    """Each engine with a running RPC server."""
    if request.param == "worker":
        with worker_rpc_server() as server:
            yield Setup(EngineSpec("worker", BackendKind.LLAMA), server)
    else:
        with pack_rpc_server(engine_pack) as server:
            yield Setup(EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack), server)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny MoE whose blocks have experts of three types."""
    blueprint = ARCHITECTURES["qwen3moe"](SIZES)
    tensors = []
    for row in blueprint.rows:
        block = int(row.name.split(".")[1]) if row.role is Role.EXPERTS else 0
        type_id = type_of(row, TYPES[block])
        content = content_of(row, type_id, SIZES.experts)
        tensors.append(TinyTensor(row.name, row.shape, type_id, content).as_data())
    path = tmp_path_factory.mktemp("mixed") / "mixed.gguf"
    write_gguf(path, entries_of("qwen3moe", "mixed", blueprint), tensors)
    return path


def weights_on(loaded: Loaded, device: str) -> int:
    return sum(use.size_bytes for use in loaded.buffers if use.part == "model" and use.device == device)


def planned_on_gpu(plan: OffloadPlan) -> int:
    return sum(plan.devices[0].parts.get(part, 0) for part in WEIGHT_PARTS)


def test_exactly_the_coarsest_experts_are_in_ram(setup: Setup, model: Path) -> None:
    facts = inspect_path(model).facts
    routed = [layer.routed_expert_bytes for layer in facts.layers]
    ample = setup.plan(facts, 8 * GIB)
    tight = ample.devices[0].planned_bytes - 3 * routed[0] // 2 + GIB // 2
    plan = setup.plan(facts, tight)
    assert plan.options.cpu_moe_blocks == COARSEST
    everything = setup.load(model, ample)
    loaded = setup.load(model, plan)
    held = weights_on(loaded, "RPC0")
    assert abs(held - planned_on_gpu(plan)) < ROUNDING_BYTES
    in_ram = sum(routed[block] for block in COARSEST)
    assert abs(weights_on(everything, "RPC0") - held - in_ram) < ROUNDING_BYTES
    assert loaded.findings == ()
    if setup.spec.pack_folder is None:  # its log names every tensor that is kept in RAM
        assert tuple(loaded.applied["cpu_moe_blocks"]) == COARSEST


def test_two_chosen_by_hand_are_the_first_two(setup: Setup, model: Path) -> None:
    facts = inspect_path(model).facts
    plan = setup.plan(facts, 8 * GIB, moe=2)
    assert (plan.options.n_cpu_moe, plan.options.cpu_moe_blocks) == (2, ())
    held = weights_on(setup.load(model, plan), "RPC0")
    assert abs(held - planned_on_gpu(plan)) < ROUNDING_BYTES
    coarsest = sum(facts.layers[block].routed_expert_bytes for block in COARSEST)
    first_two = sum(layer.routed_expert_bytes for layer in facts.layers[:2])
    everything = planned_on_gpu(setup.plan(facts, 8 * GIB))
    assert abs(everything - held - first_two) < ROUNDING_BYTES < first_two - coarsest
