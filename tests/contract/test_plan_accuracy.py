"""Plans against engines: a sample of the table that `build_scripts/plan_accuracy.py` makes whole."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER, dry_run_buffers
from app.engine.fit_breakdown import ask_breakdown
from app.engine.plan_measures import measured_breakdown, measured_dry_run, measured_load
from app.gguf.inspect_file import inspect_path
from app.options import EngineOptions
from app.planner.accuracy import corrections_for
from app.planner.corrections import PartGroup
from app.planner.facts import Part
from tests.models.giants import giant_named, write_giant
from tests.models.shared_twin import write_shared_twin
from tests.models.tiny import write_tiny
from tests.plan_figures import (
    ENDLESS,
    Figure,
    PlanCase,
    figures_of_breakdown,
    figures_of_load,
    options_for,
    plan_for,
)
from tests.rpc_server import pack_rpc_server, worker_rpc_server

pytestmark = pytest.mark.engine

MIB = 1024**2


@pytest.fixture(scope="module")
def worker_server() -> Iterator[str]:
    with worker_rpc_server() as server:
        yield server


@pytest.fixture(scope="module")
def pack_server(engine_pack: Path) -> Iterator[str]:
    with pack_rpc_server(engine_pack) as server:
        yield server


def beyond(figures: tuple[Figure, ...]) -> list[str]:
    """Return the rows that are further off than they may be, in words."""
    return [
        f"{row.case} {row.device} {row.part}: {row.planned_bytes} planned, {row.engine_bytes}"
        for row in figures
        if not row.is_within
    ]


TINY = ["qwen3moe", "gpt-oss", "qwen3next", "deepseek2", "glm-dsa", "deepseek4"]


@pytest.mark.parametrize("architecture", TINY)
def test_a_tiny_model_takes_what_was_planned(architecture: str, tmp_path: Path, worker_server: str) -> None:
    path = write_tiny(architecture, tmp_path / "m.gguf")
    facts = replace(inspect_path(path).facts, context_length=8192)
    with BlockingEngine(WORKER) as engine:
        for case in (PlanCase("all", "f16", 8192, True), PlanCase(1, "f16", 2048, True)):
            plan = plan_for(facts, case)
            loaded = engine.load(path, options_for(plan, worker_server))
            figures = figures_of_load(architecture, case, plan, loaded.buffers)
            assert beyond(figures) == []
            context = [row for row in figures if row.part is PartGroup.CONTEXT]
            # 8 MiB would forgive everything here
            assert all(abs(row.off_bytes) <= max(0.02 * row.engine_bytes, 32_768) for row in context)


@pytest.mark.parametrize("has_gpu", [False, True])
def test_the_default_model_takes_what_was_planned(has_gpu: bool, moe_model: Path, worker_server: str) -> None:
    facts = inspect_path(moe_model).facts
    case = PlanCase(15, "q8_0", 8192, has_gpu)
    plan = plan_for(facts, case)
    options = options_for(plan, worker_server if has_gpu else None)
    with BlockingEngine(WORKER) as engine:
        loaded = engine.load(moe_model, options)
    assert beyond(figures_of_load("default", case, plan, loaded.buffers)) == []
    learnt = measured_load(facts, options, "worker", loaded.buffers)
    assert {figure.device for figure in learnt} == ({"RPC", "CPU"} if has_gpu else {"CPU"})
    assert all(0.7 < (figure.ratio or 1) < 1.3 for figure in learnt)


def test_the_twin_with_shared_experts_takes_what_was_planned(tmp_path: Path, worker_server: str) -> None:
    path = write_shared_twin(tmp_path / "twin.gguf")
    facts, case = inspect_path(path).facts, PlanCase("all", "f16", 2048, True)
    plan = plan_for(facts, case)
    with BlockingEngine(WORKER) as engine:
        loaded = engine.load(path, options_for(plan, worker_server))
    assert beyond(figures_of_load("twin", case, plan, loaded.buffers)) == []
    assert plan.devices[0].parts[Part.SHARED_EXPERTS] > 0
    assert Part.SHARED_EXPERTS not in plan.devices[1].parts


@pytest.mark.parametrize(
    ("name", "moe"),
    [("Qwen3-30B-A3B", "all"), ("DeepSeek-V4-Flash", 21), ("GLM-5.2", "off"), ("Llama-4-Scout", "all")],
)
def test_a_giant_would_take_what_was_planned(
    name: str, moe: str | int, tmp_path: Path, engine_pack: Path, pack_server: str
) -> None:
    (path,) = write_giant(giant_named(name), tmp_path)
    facts, case = inspect_path(path).facts, PlanCase(moe, "f16", 8192, True)
    plan = plan_for(facts, case)
    options = replace(options_for(plan, pack_server), repack=False)
    rows = ask_breakdown(engine_pack, path, options)
    assert beyond(figures_of_breakdown(name, case, plan, rows)) == []
    assert plan.devices[0].free_bytes == ENDLESS
    parts = {figure.part for figure in measured_breakdown(facts, options, "b10434", rows)}
    assert parts == set(PartGroup)


def test_a_dry_run_corrects_the_working_memory_of_a_giant(tmp_path: Path) -> None:
    (path,) = write_giant(giant_named("MiniMax-M2"), tmp_path)
    facts = inspect_path(path).facts
    options = EngineOptions(n_ctx=8192, n_gpu_layers=0, repack=False)
    buffers = dry_run_buffers(path, options)
    (figure,) = measured_dry_run(facts, options, "worker", buffers)
    corrections = corrections_for([figure], "worker", "minimax-m2")
    assert figure.planned_bytes * corrections.cpu_compute_factor == pytest.approx(buffers[0].size_bytes)
