"""What engines say of their memory, as figures that correct plans."""

from app.engine.fit_breakdown import BreakdownRow
from app.engine.plan_measures import (
    build_name,
    measured_breakdown,
    measured_dry_run,
    measured_load,
    taught_budget,
)
from app.engine.protocol import BufferUse, Hello
from app.options import EngineOptions
from app.planner.accuracy import Measured, Source
from app.planner.corrections import Corrections, PartGroup
from app.planner.facts import MemoryBudget
from tests.planner_models import GIB, MIB, moe_facts

BUILD = build_name(Hello("worker", "llama.cpp 0.5.0"))
OPTIONS = EngineOptions(n_ctx=8192)
BUFFERS = (
    BufferUse("CUDA0", "model", 17_000 * MIB),
    BufferUse("CUDA0", "kv_cache", 768 * MIB),
    BufferUse("CUDA0", "compute", 90 * MIB),
    BufferUse("CPU", "compute", 16 * MIB),
    BufferUse("CPU", "output", MIB),
)


def places(figures: tuple[Measured, ...]) -> set[tuple[str, PartGroup]]:
    return {(figure.device, figure.part) for figure in figures}


def test_a_load_teaches_every_part_and_an_output_buffer_is_working_memory() -> None:
    figures = measured_load(moe_facts(), OPTIONS, BUILD, BUFFERS)
    assert places(figures) == {*(("CUDA", part) for part in PartGroup), ("CPU", PartGroup.COMPUTE)}
    (on_cpu,) = [figure for figure in figures if figure.device == "CPU"]
    assert on_cpu.engine_bytes == 17 * MIB
    assert {(figure.build, figure.source) for figure in figures} == {("worker llama.cpp 0.5.0", Source.LOAD)}


def test_weights_of_a_mapped_file_teach_nothing() -> None:
    mapped = (*BUFFERS, BufferUse("CPU_Mapped", "model", 18_000 * MIB))
    figures = measured_load(moe_facts(), OPTIONS, BUILD, mapped)
    assert PartGroup.WEIGHTS not in {figure.part for figure in figures}
    assert ("CUDA", PartGroup.CONTEXT) in places(figures)


def test_a_dry_run_teaches_working_memory_alone() -> None:
    figures = measured_dry_run(moe_facts(), OPTIONS, BUILD, BUFFERS)
    assert {figure.part for figure in figures} == {PartGroup.COMPUTE}


def test_a_breakdown_teaches_all_and_repacked_weights_are_weights() -> None:
    rows = [
        BreakdownRow("CUDA0", 17_000 * MIB, 768 * MIB, 90 * MIB),
        BreakdownRow("Host", 100 * MIB, 0, 16 * MIB),
        BreakdownRow("CPU_REPACK", 66 * MIB, 0, 0),
    ]
    figures = measured_breakdown(moe_facts(), OPTIONS, BUILD, rows)
    sizes = {(figure.device, figure.part): figure.engine_bytes for figure in figures}
    assert sizes["CPU", PartGroup.WEIGHTS] == 166 * MIB


def test_a_budget_is_taught_by_what_its_kind_of_gpu_took() -> None:
    figures = measured_load(moe_facts(), OPTIONS, BUILD, BUFFERS)
    budget = MemoryBudget(64 * GIB, (24 * GIB,), (True,))
    for devices, count in [(("CUDA0",), 1), ((), 1), (("Vulkan0",), 0), (("CUDA0", "RPC0"), 0)]:
        named = MemoryBudget(64 * GIB, (24 * GIB,), (True,), devices=devices)
        taught = taught_budget(named, moe_facts(), BUILD, figures)
        assert taught.corrections is not None
        assert taught.corrections.of(PartGroup.COMPUTE, on_gpu=True).sample_count == count
        assert taught.corrections.of(PartGroup.COMPUTE, on_gpu=False).sample_count == 1
    other_build = taught_budget(budget, moe_facts(), "worker 2", figures)
    assert other_build.corrections == Corrections()
