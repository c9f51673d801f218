"""Several devices of different size on real engines: each holds what the plan says, block for block."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.protocol import Loaded
from app.engine.spec import BackendKind, EngineSpec
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.options import ALL_LAYERS
from app.planner.facts import MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_of_step, plan_offload
from app.planner.report import RemoteDevice, with_remote_devices
from tests.planner_models import GIB, MIB, WEIGHT_PARTS
from tests.rpc_server import pack_rpc_server, worker_rpc_server

pytestmark = pytest.mark.engine

ROUNDING_BYTES = 32 * 1024
RESERVE = GIB // 2
"""What a plan leaves free on a device without a screen."""


@dataclass(frozen=True)
class Setup:
    """An engine, and two devices of its own build."""

    spec: EngineSpec
    servers: tuple[str, ...]

    def plan(self, facts: ModelFacts, *free_mib: int, moe: str | int = "auto") -> OffloadPlan:
        """Plan for devices that may take so much."""
        return plan_offload(facts, self.budget(*free_mib), Wishes(moe=moe, n_ctx=1024, repack=False))

    def budget(self, *free_mib: int) -> MemoryBudget:
        """Return a machine with these devices and no other."""
        remote = [RemoteDevice(f"RPC{i}", free * MIB + RESERVE) for i, free in enumerate(free_mib)]
        return with_remote_devices(MemoryBudget(16 * GIB), (), self.servers, remote)

    def load(self, model: Path, plan: OffloadPlan) -> Loaded:
        """Load as planned and return what the engine said."""
        with BlockingEngine(self.spec) as engine:
            return engine.load(model, plan.options)


@pytest.fixture(scope="module", params=["worker", "llama-server"])
def setup(request: pytest.FixtureRequest, engine_pack: Path) -> Iterator[Setup]:
    """Each engine with two RPC servers."""
    with ExitStack() as stack:
        if request.param == "worker":
            servers = tuple(stack.enter_context(worker_rpc_server()) for _ in range(2))
            yield Setup(EngineSpec("worker", BackendKind.LLAMA), servers)
        else:
            servers = tuple(stack.enter_context(pack_rpc_server(engine_pack)) for _ in range(2))
            yield Setup(EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack), servers)


@pytest.fixture(scope="module")
def facts(exact_twin: Path) -> ModelFacts:
    """What the file says of itself."""
    return inspect_path(exact_twin).facts


def held(loaded: Loaded, part: str) -> list[int]:
    """Return what each device holds."""
    return [
        sum(use.size_bytes for use in loaded.buffers if use.part == part and use.device == f"RPC{gpu}")
        for gpu in range(2)
    ]


def planned(plan: OffloadPlan) -> list[int]:
    return [sum(device.parts.get(part, 0) for part in WEIGHT_PARTS) for device in plan.devices[:-1]]


def assert_as_planned(loaded: Loaded, plan: OffloadPlan) -> None:
    for said, expected in zip(held(loaded, "model"), planned(plan), strict=True):
        assert abs(said - expected) < ROUNDING_BYTES
    assert loaded.findings == ()


def test_two_devices_share_the_blocks_as_planned(setup: Setup, exact_twin: Path, facts: ModelFacts) -> None:
    size = sum(tensor.size_bytes or 0 for tensor in facts.tensors) // MIB
    plan = setup.plan(facts, size // 2, size * 2 // 3)
    assert len(plan.options.tensor_split) == 2
    assert sum(plan.options.tensor_split) == len(facts.layers) + 1
    assert_as_planned(setup.load(exact_twin, plan), plan)


def test_experts_of_the_first_blocks_stay_in_ram_and_the_first_device_gets_the_light_blocks(
    setup: Setup, exact_twin: Path, facts: ModelFacts
) -> None:
    plan = setup.plan(facts, 130, 130)
    assert 0 < plan.options.n_cpu_moe < len(facts.layers)
    first, last = plan.options.tensor_split
    assert first > last
    assert_as_planned(setup.load(exact_twin, plan), plan)
    safe = next(step for step in plan.ladder if step.name == "safe")
    below = plan_of_step(facts, setup.budget(130, 130), plan, safe)
    assert all(lower < higher for lower, higher in zip(planned(below), planned(plan), strict=True))
    assert_as_planned(setup.load(exact_twin, below), below)


def test_one_device_that_holds_everything_is_used_alone(
    setup: Setup, exact_twin: Path, facts: ModelFacts
) -> None:
    plan = setup.plan(facts, 200, 2000)
    assert plan.options.devices == ("RPC1",)
    assert plan.options.n_gpu_layers == ALL_LAYERS
    loaded = setup.load(exact_twin, plan)
    assert held(loaded, "model")[0] == 0
    assert_as_planned(loaded, plan)


def test_whole_layers_in_ram_leave_the_last_ones_on_the_devices(
    setup: Setup, exact_twin: Path, facts: ModelFacts
) -> None:
    plan = setup.plan(facts, 60, 90, moe="off")
    assert 0 < plan.options.n_gpu_layers < len(facts.layers)
    assert_as_planned(setup.load(exact_twin, plan), plan)
