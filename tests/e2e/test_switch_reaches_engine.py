"""Case H12 on real engines: what the switch plans is what the engine itself says it holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.llama.overrides import expert_patterns
from app.engine.llama_server_args import option_arguments
from app.engine.llama_server_capabilities import read_capabilities, server_executable
from app.engine.protocol import Loaded
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.planner.facts import MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.plan import plan_offload
from app.planner.report import RemoteDevice, with_remote_devices
from tests.builders import dense_model, write_gguf
from tests.planner_models import GIB, MIB, WEIGHT_PARTS
from tests.rpc_server import pack_rpc_server, worker_rpc_server

pytestmark = pytest.mark.engine

ROUNDING_BYTES = 32 * 1024
"""Logs state MiB with two decimals, a line per buffer; tensors are padded to 32 bytes."""

WISHES: tuple[str | int, ...] = ("off", "all", 2, "auto")


@dataclass(frozen=True)
class Setup:
    """An engine, and a device of its own build."""

    spec: EngineSpec
    server: str

    def budget(self, free_bytes: int) -> MemoryBudget:
        """Return a machine whose only GPU is the device."""
        remote = [RemoteDevice("RPC0", free_bytes)]
        return with_remote_devices(MemoryBudget(16 * GIB), (), (self.server,), remote)

    def arguments(self, plan: OffloadPlan) -> tuple[str, ...]:
        """Return how the engine is told where experts go, in its own terms."""
        if self.spec.pack_folder is None:
            return (*expert_patterns(plan.options), str(plan.options.n_gpu_layers))
        capabilities = read_capabilities(server_executable(self.spec.pack_folder))
        return tuple(option_arguments(plan.options, capabilities))

    def load(self, model: Path, plan: OffloadPlan) -> Loaded:
        """Load as planned and return what the engine said."""
        with BlockingEngine(self.spec) as engine:
            return engine.load(model, plan.options)


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
def facts(exact_twin: Path) -> ModelFacts:
    """What the file says of itself."""
    return inspect_path(exact_twin).facts


def weights_on(loaded: Loaded, device: str) -> int:
    return sum(use.size_bytes for use in loaded.buffers if use.part == "model" and use.device == device)


def planned_on_gpu(plan: OffloadPlan) -> int:
    return sum(plan.devices[0].parts.get(part, 0) for part in WEIGHT_PARTS)


def plan_for(setup: Setup, facts: ModelFacts, wish: str | int) -> OffloadPlan:
    """Plan on a device that holds everything, or for Auto about half of the experts."""
    wishes = Wishes(moe=wish, n_ctx=1024, n_threads=1, repack=False)
    ample = plan_offload(facts, setup.budget(8 * GIB), wishes)
    if wish != "auto":
        return ample
    half = ample.devices[0].planned_bytes - facts.routed_expert_bytes // 2 + 16 * MIB
    return plan_offload(facts, setup.budget(half + GIB // 2), wishes)


def test_four_wishes_are_four_sets_of_arguments_and_the_engine_holds_what_each_says(
    setup: Setup, exact_twin: Path, facts: ModelFacts
) -> None:
    plans = {wish: plan_for(setup, facts, wish) for wish in WISHES}
    told = {wish: setup.arguments(plan) for wish, plan in plans.items()}
    assert len(set(told.values())) == len(WISHES)
    held = {}
    for wish, plan in plans.items():
        loaded = setup.load(exact_twin, plan)
        held[wish] = weights_on(loaded, "RPC0")
        assert abs(held[wish] - planned_on_gpu(plan)) < ROUNDING_BYTES, wish
        assert loaded.applied.get("n_gpu_layers") == len(facts.layers) + 1
        assert loaded.findings == (), wish
        if setup.spec.pack_folder is None:  # its log names every tensor that is kept in RAM
            applied = (loaded.applied["cpu_moe"], loaded.applied["n_cpu_moe"])
            assert applied == (plan.options.cpu_moe, plan.options.n_cpu_moe)
    assert held["off"] > held[2] > held["auto"] > held["all"]
    assert 2 < plans["auto"].options.n_cpu_moe < len(facts.layers)
    assert abs(held["off"] - held["all"] - facts.routed_expert_bytes) < 2 * ROUNDING_BYTES


def test_off_overrides_nothing_and_auto_never_meets_the_engines_own_fitting(
    setup: Setup, facts: ModelFacts
) -> None:
    off, auto = (setup.arguments(plan_for(setup, facts, wish)) for wish in ("off", "auto"))
    if setup.spec.pack_folder is None:
        assert off == ("999",)
        return
    assert not {"--cpu-moe", "--n-cpu-moe", "--override-tensor"} & set(off)
    for told in (off, auto):
        assert told[told.index("--fit") + 1] == "off"
        assert told[told.index("--n-gpu-layers") + 1] == "999"


def test_more_blocks_than_there_are_is_all_of_them_and_said(
    setup: Setup, exact_twin: Path, facts: ModelFacts
) -> None:
    plan = plan_for(setup, facts, 500)
    clamped = next(f for f in plan.findings if f.code is FindingCode.MOE_N_CLAMPED)
    assert clamped.values == {"asked": 500, "n_cpu_moe": len(facts.layers)}
    everything = plan_for(setup, facts, "all")
    loaded = setup.load(exact_twin, plan)
    assert abs(weights_on(loaded, "RPC0") - planned_on_gpu(everything)) < ROUNDING_BYTES


def test_a_dense_file_gets_no_override_and_the_reason_is_said(setup: Setup, tmp_path: Path) -> None:
    dense = inspect_path(write_gguf(tmp_path / "dense.gguf", *dense_model())).facts
    plan = plan_offload(dense, setup.budget(8 * GIB), Wishes(moe="all"))
    assert FindingCode.MOE_NOT_APPLICABLE in {finding.code for finding in plan.findings}
    assert (plan.options.cpu_moe, plan.options.n_cpu_moe) == (False, 0)
    assert plan.devices[-1].parts.get(Part.ROUTED_EXPERTS, 0) == 0
    told = setup.arguments(plan)
    assert not any("exps" in word or "cpu-moe" in word for word in told)
