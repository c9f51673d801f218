"""Compute buffers: the formula against what the engine's log says for real shapes."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.gguf.facts import AttentionFacts, AttentionKind, FileKind, ModelFacts, TensorInfo
from app.planner.caches import Extent
from app.planner.compute import device_compute_bytes, graph_shape, host_compute_bytes, pipeline_bytes

MIB = 1024**2


def model_of(
    *,
    vocabulary: int,
    embedding: int,
    used: int = 0,
    expert_width: int = 0,
    attention: AttentionFacts | None = None,
    expert_tensor_bytes: int = 0,
) -> ModelFacts:
    down = TensorInfo(
        "blk.1.ffn_down_exps.weight", (expert_width, embedding, 8), "Q4_K", 0, expert_tensor_bytes
    )
    return ModelFacts(
        Path("m.gguf"),
        FileKind.MODEL,
        vocabulary_size=vocabulary,
        embedding_length=embedding,
        expert_used_count=used,
        attention=attention or AttentionFacts(AttentionKind.GQA, 32, key_length=128),
        tensors=(down,) if expert_width else (),
    )


def mla(kind: AttentionKind, heads: int) -> AttentionFacts:
    return AttentionFacts(kind, heads, key_length=576, kv_lora_rank=512, rope_dimension_count=64)


DEFAULT_MOE = model_of(
    vocabulary=49_152,
    embedding=576,
    used=2,
    expert_width=1536,
    attention=AttentionFacts(AttentionKind.GQA, 9, key_length=64),
)
QWEN3_30B = model_of(vocabulary=151_936, embedding=2048, used=8, expert_width=768)
GPT_OSS = model_of(vocabulary=201_088, embedding=2880, used=4, expert_width=2880)
MIXTRAL = model_of(vocabulary=32_000, embedding=4096, used=2, expert_width=14_336)
DEEPSEEK_V3 = model_of(
    vocabulary=129_280, embedding=7168, used=8, expert_width=2048, attention=mla(AttentionKind.MLA, 128)
)
GLM_5 = model_of(
    vocabulary=154_880,
    embedding=6144,
    used=8,
    expert_width=2048,
    attention=mla(AttentionKind.INDEXED_MLA, 64),
)


@pytest.mark.parametrize(
    ("model", "n_ctx", "n_ubatch", "measured_mib"),
    [
        (DEFAULT_MOE, 2048, 128, 24.56),
        (DEFAULT_MOE, 8192, 512, 98.25),
        (QWEN3_30B, 8192, 128, 76.19),
        (QWEN3_30B, 32_768, 512, 304.75),
        (GPT_OSS, 8192, 512, 435.27),
        (MIXTRAL, 2048, 512, 202.01),
        (MIXTRAL, 32_768, 512, 232.01),
        (DEEPSEEK_V3, 8192, 512, 416.01),
        (GLM_5, 2048, 512, 533.58),
        (GLM_5, 32_768, 512, 656.08),
    ],
)
def test_the_estimate_is_close_to_the_engines_own_figure(
    model: ModelFacts, n_ctx: int, n_ubatch: int, measured_mib: float
) -> None:
    planned = device_compute_bytes(
        graph_shape(model), Extent(n_ctx, n_ubatch, "f16"), makes_logits=True, copied_tensor_bytes=0
    )
    assert 0.95 * measured_mib <= planned / MIB <= 1.25 * measured_mib


def test_ram_beside_a_gpu_holds_the_inputs_or_the_experts_working_set() -> None:
    shape, extent = graph_shape(DEFAULT_MOE), Extent(8192, 512, "f16")
    assert host_compute_bytes(shape, extent, runs_experts=False) / MIB == 10.25  # measured 10.26
    assert 21.1 <= host_compute_bytes(shape, extent, runs_experts=True) / MIB <= 28  # measured 21.14


def test_an_expert_tensor_copied_to_the_gpu_can_be_bigger_than_the_logits() -> None:
    shape = graph_shape(replace(MIXTRAL, tensors=()))
    extent = Extent(8192, 512, "f16")
    without = device_compute_bytes(shape, extent, makes_logits=True, copied_tensor_bytes=0)
    with_copy = device_compute_bytes(shape, extent, makes_logits=True, copied_tensor_bytes=900 * MIB)
    assert with_copy > 900 * MIB > without


def test_a_gpu_that_makes_no_logits_needs_less() -> None:
    shape, extent = graph_shape(QWEN3_30B), Extent(8192, 512, "f16")
    inner = device_compute_bytes(shape, extent, makes_logits=False, copied_tensor_bytes=0)
    assert inner < device_compute_bytes(shape, extent, makes_logits=True, copied_tensor_bytes=0)
    assert pipeline_bytes(shape, extent) > 0


def test_the_largest_tensors_come_from_the_table() -> None:
    model = model_of(vocabulary=1000, embedding=64, used=2, expert_width=32, expert_tensor_bytes=5000)
    other = TensorInfo("blk.0.attn_q.weight", (64, 64), "F16", 0, 8192)
    unknown = TensorInfo("blk.0.attn_k.weight", (64, 64), "type-200", 0, None)
    outside = TensorInfo("output.weight", (64, 1000), "F16", 0, 128_000)
    shape = graph_shape(replace(model, tensors=(*model.tensors, other, unknown, outside)))
    assert (shape.largest_expert_tensor, shape.largest_block_tensor) == (5000, 8192)
