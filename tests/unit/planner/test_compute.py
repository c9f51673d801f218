"""Compute buffers: the formula against what engines' logs say for real shapes."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.gguf.facts import AttentionFacts, AttentionKind, FileKind, ModelFacts, TensorInfo
from app.gguf.inspect_file import inspect_path
from app.planner.accuracy import is_within
from app.planner.caches import Extent
from app.planner.compute import (
    Duty,
    device_compute_bytes,
    graph_shape,
    host_compute_bytes,
    mask_bytes,
    pipeline_bytes,
)
from tests.models.giants import giant_named, write_giant

MIB = 1024**2
OFF, ALL, HALF = Duty(), Duty(runs_experts=False, is_split=True), Duty(is_split=True)

ON_DEVICE = [
    # llama-server b10434, RPC0, `-fit`: the device's compute buffer, ubatch 512
    ("Mixtral-8x7B", 2048, OFF, 194),
    ("Mixtral-8x7B", 8192, ALL, 48),
    ("Qwen3-30B-A3B", 8192, OFF, 92),
    ("Qwen3-30B-A3B", 2048, ALL, 50),
    ("Qwen3-235B-A22B", 8192, HALF, 176),
    ("Qwen3-Next-80B-A3B", 8192, ALL, 96),
    ("DeepSeek-V2-Lite", 2048, OFF, 78),
    ("DeepSeek-V3-R1", 8192, OFF, 386),
    ("DeepSeek-V3-R1", 8192, HALF, 434),
    ("DeepSeek-V3-R1", 2048, ALL, 428),
    ("DeepSeek-V4-Flash", 8192, OFF, 255),
    ("GLM-4.5-Air", 8192, ALL, 112),
    ("GLM-5.2", 2048, OFF, 521),
    ("GLM-5.2", 8192, OFF, 544),
    ("gpt-oss-20b", 2048, OFF, 89),
    ("Llama-4-Scout", 8192, OFF, 104),
    ("OLMoE-1B-7B", 2048, OFF, 62),
    ("Granite-3.0-3B-A800M", 2048, ALL, 35),
    ("Phi-3.5-MoE", 8192, OFF, 107),
    ("Kimi-K2", 2048, OFF, 254),
    ("Kimi-K2", 8192, ALL, 234),
    ("MiniMax-M2", 2048, ALL, 74),
]

IN_RAM = [
    # the same, RAM beside the device: with its experts there, without any
    ("Mixtral-8x7B", 2048, 186, 18),
    ("Qwen2-57B-A14B", 8192, 135, 22),
    ("Qwen3-235B-A22B", 8192, 152, 24),
    ("DeepSeek-V3-R1", 2048, 238, 30),
    ("DeepSeek-V4-Flash", 8192, 93, 21),
    ("GLM-5.2", 8192, 220, 40),
    ("gpt-oss-120b", 2048, 81, 14),
    ("Llama-4-Scout", 8192, 84, 36),
    ("Kimi-K2", 8192, 244, 36),
]


@pytest.fixture(scope="module")
def facts_of(tmp_path_factory: pytest.TempPathFactory) -> "Facts":
    return Facts(tmp_path_factory.mktemp("giants"))


class Facts:
    """Facts of giants, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, ModelFacts] = {}

    def __call__(self, name: str) -> ModelFacts:
        if name not in self._known:
            (path,) = write_giant(giant_named(name), self._folder)
            self._known[name] = inspect_path(path).facts
        return self._known[name]


@pytest.mark.parametrize(("name", "n_ctx", "where", "engine_mib"), ON_DEVICE)
def test_a_devices_buffer_is_what_the_engine_says(
    facts_of: Facts, name: str, n_ctx: int, where: Duty, engine_mib: int
) -> None:
    planned = device_compute_bytes(graph_shape(facts_of(name)), Extent(n_ctx, 512, "f16"), where)
    assert is_within(planned, engine_mib * MIB), f"{planned / MIB:.1f}"


@pytest.mark.parametrize(
    ("name", "n_ctx", "engine_mib"),
    [
        # the worker's dry run on a processor, `flash_attn` off
        ("Mixtral-8x7B", 8192, 572),
        ("Qwen3-30B-A3B", 8192, 558),
        ("GLM-4.5-Air", 8192, 1636),
        ("gpt-oss-20b", 2048, 298.4),
        ("DeepSeek-V3-R1", 2048, 924),
        ("Llama-4-Scout", 8192, 730.1),
    ],
)
def test_without_flash_attention_each_head_has_a_score_for_each_cell(
    facts_of: Facts, name: str, n_ctx: int, engine_mib: float
) -> None:
    extent = Extent(n_ctx, 512, "f16", flash_attn=False)
    planned = device_compute_bytes(graph_shape(facts_of(name)), extent, Duty(is_cpu=True))
    assert is_within(planned, round(engine_mib * MIB)), f"{planned / MIB:.1f}"


@pytest.mark.parametrize(("name", "n_ctx", "with_experts_mib", "without_mib"), IN_RAM)
def test_ram_beside_a_device_holds_the_inputs_or_the_experts_working_set(
    facts_of: Facts, name: str, n_ctx: int, with_experts_mib: int, without_mib: int
) -> None:
    shape, extent = graph_shape(facts_of(name)), Extent(n_ctx, 512, "f16")
    with_experts = host_compute_bytes(shape, extent, runs_experts=True)
    assert is_within(with_experts, with_experts_mib * MIB), f"{with_experts / MIB:.1f}"
    without = host_compute_bytes(shape, extent, runs_experts=False) / MIB
    assert without == pytest.approx(without_mib, abs=1)


MOE = ModelFacts(
    Path("m.gguf"),
    FileKind.MODEL,
    vocabulary_size=32_000,
    embedding_length=4096,
    expert_used_count=2,
    attention=AttentionFacts(AttentionKind.GQA, 32, (8,) * 32, key_length=128, value_length=128),
    tensors=(TensorInfo("blk.1.ffn_down_exps.weight", (14_336, 4096, 8), "Q4_K", 0, 300 * MIB),),
)


def buffer_of(model: ModelFacts, n_ctx: int = 8192, n_ubatch: int = 512, copied: int = 0) -> int:
    return device_compute_bytes(
        graph_shape(model), Extent(n_ctx, n_ubatch, "f16"), Duty(copied_tensor_bytes=copied)
    )


def test_an_expert_tensor_copied_to_the_gpu_comes_on_top() -> None:
    assert buffer_of(MOE, copied=300 * MIB) == buffer_of(MOE) + 300 * MIB


def test_a_device_that_gets_experts_copied_works_on_them() -> None:
    shape, extent = graph_shape(MOE), Extent(8192, 512, "f16")
    duty = Duty(makes_logits=False, copied_tensor_bytes=300 * MIB, runs_experts=False, is_split=True)
    copied = device_compute_bytes(shape, extent, duty)
    assert copied == buffer_of(MOE, copied=300 * MIB)


def test_the_buffer_grows_with_the_batch_and_masks_with_the_context_too() -> None:
    assert buffer_of(MOE, n_ubatch=128) == buffer_of(MOE) // 4
    assert buffer_of(MOE, n_ctx=32_768) - buffer_of(MOE) == 24_576 * 512 * 2
    assert buffer_of(MOE, n_ctx=256) == buffer_of(MOE, n_ctx=256, n_ubatch=256)


def test_each_kind_of_cache_has_a_mask() -> None:
    extent = Extent(8192, 512, "f16")
    windowed = replace(MOE.attention, sliding_window=128, windowed_layers=(True, False))
    masks = [
        mask_bytes(graph_shape(replace(MOE, attention=attention)), extent) / MIB
        for attention in (MOE.attention, windowed, AttentionFacts(AttentionKind.RECURRENT))
    ]
    assert masks == [8, 8.75, 0]


def test_a_pipeline_of_gpus_keeps_copies_of_its_inputs() -> None:
    # 16 MiB of embeddings and a mask of 8, three times more than without
    assert pipeline_bytes(graph_shape(MOE), Extent(8192, 512, "f16")) == 3 * 24 * MIB


def test_what_engines_taught_scales_the_working_memory_and_not_the_copies() -> None:
    shape, extent = replace(graph_shape(MOE), gpu_factor=1.5, cpu_factor=2.0), Extent(8192, 512, "f16")
    on_gpu = device_compute_bytes(shape, extent, Duty(copied_tensor_bytes=300 * MIB))
    on_cpu = device_compute_bytes(shape, extent, Duty(is_cpu=True))
    assert on_gpu == buffer_of(MOE) * 3 // 2 + 300 * MIB
    assert on_cpu == 2 * device_compute_bytes(graph_shape(MOE), extent, Duty(is_cpu=True))


def test_the_largest_tensors_come_from_the_table() -> None:
    other = TensorInfo("blk.0.attn_q.weight", (64, 64), "F16", 0, 8192)
    unknown = TensorInfo("blk.0.attn_k.weight", (64, 64), "type-200", 0, None)
    outside = TensorInfo("output.weight", (64, 1000), "F16", 0, 128_000)
    shape = graph_shape(replace(MOE, tensors=(*MOE.tensors, other, unknown, outside)))
    assert (shape.largest_expert_tensor, shape.largest_block_tensor) == (300 * MIB, 8192)
