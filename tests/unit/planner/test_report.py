"""From a path to facts, findings and a plan, without an engine; cases H03, H08 and H09 on real headers."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.findings import FindingCode
from app.gguf.facts import FileKind
from app.hardware.facts import CpuInfo, GpuInfo, HardwareFacts, HostInfo
from app.options import ALL_LAYERS
from app.planner.facts import OffloadPlan, Part, Wishes
from app.planner.report import ModelReport, budget_from, report_on
from tests.builders import (
    Tensor,
    attention_tensors,
    dense_model,
    dense_tensors,
    expert_tensors,
    io_tensors,
    model_keys,
    moe_model,
    u32,
    write_gguf,
)
from tests.planner_models import GIB, MIB, one_gpu

EXPERT_COUNTS = {"expert_count": u32(16), "expert_used_count": u32(4)}


def report(
    path: Path, *, moe: str | int = "auto", n_ctx: int | None = None, vram: int = 8 * GIB
) -> ModelReport:
    return report_on(path, one_gpu(vram), Wishes(moe=moe, n_ctx=n_ctx))


def plan_of(path: Path, *, moe: str | int = "auto", n_ctx: int | None = None) -> OffloadPlan:
    plan = report(path, moe=moe, n_ctx=n_ctx).plan
    assert plan is not None
    return plan


def moved(plan: OffloadPlan) -> int:
    return plan.devices[-1].parts.get(Part.ROUTED_EXPERTS, 0)


def fused_with_shared(path: Path) -> Path:
    tensors = io_tensors()
    for block in range(4):
        tensors += attention_tensors(block) + expert_tensors(block, 16, shared=True, fused=True)
    return write_gguf(
        path, model_keys("qwen35moe", {**EXPERT_COUNTS, "expert_shared_count": u32(1)}), tensors
    )


def with_chunk_experts(path: Path) -> Path:
    tensors = io_tensors()
    for block in range(4):
        tensors += attention_tensors(block) + expert_tensors(block, 16, chunks=True)
    return write_gguf(path, model_keys("grovemoe", {**EXPERT_COUNTS, "experts_per_group": u32(4)}), tensors)


def with_leading_dense(path: Path) -> Path:
    tensors = io_tensors() + attention_tensors(0) + dense_tensors(0)
    for block in range(1, 4):
        tensors += attention_tensors(block) + expert_tensors(block, 16, shared=True)
    more = {**EXPERT_COUNTS, "expert_shared_count": u32(1), "leading_dense_block_count": u32(1)}
    return write_gguf(path, model_keys("ernie4_5-moe", more), tensors)


def test_fused_and_chunk_experts_move_and_shared_experts_do_not(tmp_path: Path) -> None:
    fused = plan_of(fused_with_shared(tmp_path / "fused.gguf"), moe="all")
    assert moved(fused) == 786_432
    assert fused.devices[0].parts[Part.SHARED_EXPERTS] == 4 * 3 * 64 * 32 * 2
    assert moved(plan_of(with_chunk_experts(tmp_path / "chunks.gguf"), moe="all")) == 983_040


def test_blocks_are_counted_by_index_so_a_leading_dense_one_frees_nothing(tmp_path: Path) -> None:
    path = with_leading_dense(tmp_path / "leading.gguf")
    assert moved(plan_of(path, moe="all")) == 589_824
    assert moved(plan_of(path, moe=1)) == 0
    assert moved(plan_of(path, moe=2)) == 196_608
    frees_nothing = [f for f in plan_of(path, moe=1).findings if f.code is FindingCode.MOE_N_FREES_NOTHING]
    assert frees_nothing[0].values == {"n_cpu_moe": 1, "first_expert_block": 1}


def test_all_layers_is_out_of_reach_and_all_experts_include_the_mtp_block(tmp_path: Path) -> None:
    tensors = io_tensors() + attention_tensors(0) + dense_tensors(0)
    for block in range(1, 5):
        tensors += attention_tensors(block) + expert_tensors(block, 16)
    tensors.append(Tensor("blk.4.nextn.eh_proj.weight", (128, 64), "F16"))
    more = {**EXPERT_COUNTS, "nextn_predict_layers": u32(1), "leading_dense_block_count": u32(1)}
    path = write_gguf(tmp_path / "mtp.gguf", model_keys("glm4moe", more, layers=5), tensors)
    plan = plan_of(path, moe=5)
    assert plan.options.n_gpu_layers == ALL_LAYERS
    # engines pass over the MTP block, so its experts are nowhere
    assert moved(plan) == 3 * 196_608
    assert plan_of(path, moe=0).options.n_cpu_moe == 0
    assert moved(plan_of(path, moe=0)) == 0
    assert moved(plan_of(path, moe=3)) == 2 * 196_608


@pytest.mark.parametrize(
    ("architecture", "layers", "n_ctx", "more", "expected_mib"),
    [
        ("qwen3", 4, 4096, {"attention__key_length": u32(64), "attention__value_length": u32(64)}, 8),
        (
            "deepseek2",
            4,
            4096,
            {
                "attention__kv_lora_rank": u32(512),
                "rope__dimension_count": u32(64),
                "attention__key_length": u32(576),
                "attention__value_length": u32(512),
                "attention__key_length_mla": u32(192),
                "attention__value_length_mla": u32(128),
                "attention__head_count_kv": u32(1),
            },
            18,
        ),
        (
            "gemma3",
            6,
            32_768,
            {
                "context_length": u32(131_072),
                "attention__head_count": u32(4),
                "attention__head_count_kv": u32(1),
                "attention__key_length": u32(256),
                "attention__value_length": u32(256),
                "attention__sliding_window": u32(512),
            },
            37,
        ),
        (
            "qwen35",
            8,
            65_536,
            {
                "context_length": u32(262_144),
                "attention__key_length": u32(256),
                "attention__value_length": u32(256),
                "full_attention_interval": u32(4),
                "ssm__state_size": u32(128),
                "ssm__inner_size": u32(256),
                "ssm__conv_kernel": u32(4),
                "ssm__group_count": u32(2),
                "ssm__time_step_rank": u32(2),
            },
            256,
        ),
    ],
    ids=["gqa", "mla", "sliding-window", "hybrid"],
)
def test_the_kv_cache_is_sized_by_the_kind_of_attention(
    tmp_path: Path, architecture: str, layers: int, n_ctx: int, more: dict[str, object], expected_mib: float
) -> None:
    path = write_gguf(tmp_path / "m.gguf", *dense_model(architecture, layers=layers, **more))  # type: ignore[arg-type]  # values of u32
    plan = plan_of(path, n_ctx=n_ctx)
    assert plan.options.n_ctx == n_ctx
    assert expected_mib <= plan.kv_cache_bytes / MIB <= expected_mib * 1.01


def test_a_missing_path_and_a_broken_file_have_findings_and_no_plan(tmp_path: Path) -> None:
    missing = report(tmp_path / "无.gguf")
    assert missing.plan is None
    assert [finding.code for finding in missing.findings] == [FindingCode.PATH_MISSING]
    whole = write_gguf(tmp_path / "m.gguf", *moe_model())
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole.read_bytes()[:-1])
    assert report(cut).plan is None
    assert [finding.code for finding in report(cut).findings] == [FindingCode.FILE_INCOMPLETE]


def test_a_file_that_is_no_model_has_no_plan(tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<!DOCTYPE html><html></html>", encoding="utf-8")
    assert report(page).plan is None
    assert report(page).facts.kind is FileKind.NOT_GGUF


def test_the_default_model_is_planned_to_the_byte(moe_model: Path) -> None:
    plan = plan_of(moe_model)
    gpu, cpu = plan.devices
    weights = sum(size for part, size in gpu.parts.items() if part not in (Part.KV_CACHE, Part.COMPUTE))
    assert round(weights / MIB, 2) == 424.86  # "RPC0 model buffer size", all layers
    assert round(cpu.parts[Part.TOKEN_EMBEDDING] / MIB, 2) == 28.69  # "CPU_Mapped model buffer size"
    assert plan.kv_cache_bytes == 180 * MIB
    experts_in_ram = plan_of(moe_model, moe="all").devices[0]
    weights = experts_in_ram.planned_bytes - 180 * MIB - experts_in_ram.parts[Part.COMPUTE]
    assert round(weights / MIB, 2) == 45.17  # the same with --cpu-moe


def machine(*gpus: GpuInfo, available: int | None = 56 * GIB, cpu: CpuInfo | None = None) -> HardwareFacts:
    host = HostInfo("Windows", "11", cpu or CpuInfo(), 64 * GIB, available)
    return HardwareFacts(host, None, gpus)


LAPTOP_GPU = GpuInfo(
    0, "NVIDIA RTX", vram_total_bytes=12 * GIB, vram_free_bytes=11 * GIB, drives_display=True
)


def test_two_gib_or_an_eighth_of_ram_are_left_to_the_system() -> None:
    assert budget_from(machine()).ram_free_bytes == 54 * GIB
    assert budget_from(machine(available=4 * GIB)).ram_free_bytes == 3.5 * GIB
    assert budget_from(machine(available=None)).ram_free_bytes == 0
    assert budget_from(HardwareFacts(None)).ram_free_bytes == 0


def test_vram_is_what_is_free_on_cards_with_memory_of_their_own() -> None:
    integrated = replace(LAPTOP_GPU, index=1, is_integrated=True)
    unreadable = replace(LAPTOP_GPU, index=2, vram_free_bytes=None)
    second = replace(LAPTOP_GPU, index=3, vram_free_bytes=8 * GIB, drives_display=False)
    unknown = replace(second, index=4, drives_display=None)
    budget = budget_from(machine(LAPTOP_GPU, second, unknown, unreadable, integrated))
    assert budget.vram_free_bytes == (11 * GIB, 8 * GIB, 8 * GIB)
    assert budget.drives_display == (True, False, True)


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        (CpuInfo(), 1),
        (CpuInfo(physical_cores=8), 8),
        (CpuInfo(physical_cores=24, performance_cores=8), 8),
        (CpuInfo(physical_cores=24, performance_cores=8, usable_cores=2), 2),
        (CpuInfo(performance_cores=8, usable_cores=8, usable_performance_cores=3), 3),
    ],
)
def test_threads_are_fast_cores_this_process_may_use(cpu: CpuInfo, expected: int) -> None:
    assert budget_from(machine(cpu=cpu)).performance_cores == expected
