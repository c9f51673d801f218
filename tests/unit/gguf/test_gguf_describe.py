"""Facts of models: experts, layers, sizes, whatever the architecture."""

import math
from pathlib import Path

import pytest

from app.gguf.describe import describe
from app.gguf.facts import ModelFacts, TensorClass
from app.gguf.inspect_file import inspect_path
from app.gguf.reader import read_header
from tests.builders import (
    Keys,
    Tensor,
    array,
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

EXPERT_BYTES = 3 * 64 * 32 * 2
"""Gate, up and down of one expert of the builder, F16."""


def facts_of(tmp_path: Path, keys: Keys, tensors: list[Tensor]) -> ModelFacts:
    """Write a model, read it back and describe it."""
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    return describe([read_header(file)], [file])


@pytest.mark.parametrize("architecture", ["qwen3moe", "deepseek2", "an-architecture-of-next-year"])
def test_any_architecture_is_described_by_its_prefix(tmp_path: Path, architecture: str) -> None:
    facts = facts_of(tmp_path, *moe_model(architecture, layers=4, experts=16, used=4))
    assert (facts.architecture, facts.expert_count, facts.expert_used_count) == (architecture, 16, 4)
    assert [layer.index for layer in facts.expert_layers] == [0, 1, 2, 3]
    assert facts.routed_expert_bytes == 4 * 16 * EXPERT_BYTES
    assert facts.context_length == 4096
    assert facts.quantization == "F16"
    assert facts.vocabulary_size == 64
    assert facts.has_chat_template


def test_every_byte_of_the_table_is_in_exactly_one_class(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, *moe_model(leading_dense=1, shared=True))
    in_layers = sum(size for layer in facts.layers for size in layer.bytes_by_class.values())
    outside = sum(facts.bytes_outside_layers.values())
    assert in_layers + outside == sum(tensor.size_bytes or 0 for tensor in facts.tensors)
    assert facts.parameter_count == sum(math.prod(tensor.shape) for tensor in facts.tensors)


def test_biases_and_scales_of_experts_move_with_them(tmp_path: Path) -> None:
    keys, tensors = moe_model("gpt-oss", layers=1, experts=8)
    tensors += [
        Tensor("blk.0.ffn_up_exps.bias", (32, 8), "F32"),
        Tensor("blk.0.ffn_up_exps.scale", (8,), "F32"),
        Tensor("blk.0.ffn_gate_inp.bias", (8,), "F32"),
    ]
    facts = facts_of(tmp_path, keys, tensors)
    assert facts.routed_expert_bytes == 8 * EXPERT_BYTES + 32 * 8 * 4 + 8 * 4
    assert facts.layers[0].bytes_by_class[TensorClass.ROUTER] == 64 * 8 * 4 + 8 * 4
    assert facts.expert_count == 8


def test_interleaved_expert_layers_are_found_by_their_tensors(tmp_path: Path) -> None:
    tensors = io_tensors()
    for block in range(6):
        tensors += attention_tensors(block)
        tensors += expert_tensors(block, 8, shared=True) if block % 2 else dense_tensors(block)
    keys = model_keys("llama4", {"expert_count": u32(8), "expert_used_count": u32(1)}, layers=6)
    facts = facts_of(tmp_path, keys, tensors)
    assert [layer.index for layer in facts.expert_layers] == [1, 3, 5]
    assert facts.shared_expert_bytes == 3 * EXPERT_BYTES


def test_the_extra_prediction_block_is_counted_apart_but_has_experts(tmp_path: Path) -> None:
    keys, tensors = moe_model("glm4moe", layers=5, leading_dense=1, nextn_predict_layers=u32(1))
    tensors.append(Tensor("blk.4.nextn.eh_proj.weight", (128, 64)))
    facts = facts_of(tmp_path, keys, tensors)
    assert (facts.block_count, facts.trunk_layers, facts.mtp_layers) == (5, 4, 1)
    assert [(layer.index, layer.is_mtp) for layer in facts.expert_layers] == [
        (1, False),
        (2, False),
        (3, False),
        (4, True),
    ]


def test_per_layer_arrays_stand_where_one_number_may_stand(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=3, experts=8)
    keys["qwen3moe.expert_used_count"] = array("u32", [2, 2, 3])
    keys["qwen3moe.feed_forward_length"] = array("u32", [128, 128, 128])
    keys["qwen3moe.attention.head_count_kv"] = array("u32", [2, 0, 1])
    facts = facts_of(tmp_path, keys, tensors)
    assert facts.expert_used_count == 3
    assert facts.attention.head_count_kv == (2, 0, 1)


def test_the_quantization_is_that_of_the_experts_and_of_all_weights_if_dense(tmp_path: Path) -> None:
    keys, tensors = moe_model(type_name="Q8_0")
    tensors.append(Tensor("blk.0.attn_big.weight", (4096, 4096), "F32"))
    assert facts_of(tmp_path, keys, tensors).quantization == "Q8_0"
    keys, tensors = dense_model()
    assert facts_of(tmp_path, keys, [*tensors, Tensor("big", (256, 900), "Q4_K")]).quantization == "F16"


def test_a_type_of_the_future_keeps_count_and_layers(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=2, experts=8)
    unknown = [Tensor(t.name, t.shape, type_id=77) if "_exps" in t.name else t for t in tensors]
    facts = facts_of(tmp_path, keys, unknown)
    assert facts.expert_count == 8
    assert len(facts.expert_layers) == 2
    assert facts.routed_expert_bytes == 0
    assert facts.quantization == "type-77"


def test_one_expert_with_its_last_dimension_left_out_counts_as_one(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=1, experts=1, used=1)
    squeezed = [Tensor(t.name, t.shape[:2], t.type_name) if "_exps" in t.name else t for t in tensors]
    assert facts_of(tmp_path, keys, squeezed).expert_count == 1


def test_the_default_model_is_described_as_it_was_made(moe_model: Path) -> None:
    inspected = inspect_path(moe_model)
    facts = inspected.facts
    assert inspected.loadable
    assert inspected.findings == ()
    assert (facts.architecture, facts.block_count, facts.expert_count, facts.expert_used_count) == (
        "llama",
        30,
        8,
        2,
    )
    assert facts.routed_expert_bytes == 30 * 8 * 3 * 576 * 1536 // 32 * 20  # Q4_1: 20 bytes for 32 weights
    assert facts.quantization == "Q4_1"
    assert facts.vocabulary_size == 49152
    assert facts.context_length == 8192
