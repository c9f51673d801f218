"""What one expert, one token and one class of tensors take."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.gguf.anatomy import anatomy_of
from app.gguf.facts import ModelFacts, TensorClass
from app.gguf.inspect_file import inspect_path
from tests.builders import (
    Tensor,
    attention_tensors,
    dense_model,
    expert_tensors,
    io_tensors,
    model_keys,
    moe_model,
    old_expert_tensors,
    u32,
    write_gguf,
)

EXPERT = 3 * 64 * 32
"""Elements of one expert of `expert_tensors`; two bytes each in F16."""

ATTENTION = 4 * 64 * 64
ROUTER = 64 * 16
OUTPUT = 64 * 64
COUNTS = {"expert_count": u32(16), "expert_used_count": u32(4)}


def facts_of(path: Path, keys: object, tensors: list[Tensor]) -> ModelFacts:
    """Return the facts of a file with these keys and tensors."""
    write_gguf(path, keys, tensors)  # type: ignore[arg-type]  # keys as the builders return them
    return inspect_path(path).facts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the model of a test lies."""
    return tmp_path / "模型 one.gguf"


def test_a_token_reads_its_share_of_the_experts_and_all_that_is_not_one(path: Path) -> None:
    anatomy = anatomy_of(facts_of(path, *moe_model(layers=4, experts=16, used=4)))
    dense = 4 * ATTENTION + OUTPUT
    small = 4 * ROUTER + 64  # in F32, with the output norm
    row = 64
    assert anatomy.active_parameter_count == dense + small + row + 4 * 4 * EXPERT
    assert anatomy.bytes_per_token == 2 * (dense + row + 4 * 4 * EXPERT) + 4 * small


def test_the_experts_are_counted_one_by_one_and_layer_by_layer(path: Path) -> None:
    anatomy = anatomy_of(facts_of(path, *moe_model(layers=4, experts=16, used=4, leading_dense=1)))
    assert [layer.index for layer in anatomy.expert_layers] == [1, 2, 3]
    assert {layer.expert_bytes for layer in anatomy.expert_layers} == {2 * EXPERT}
    assert {layer.routed_bytes for layer in anatomy.expert_layers} == {16 * 2 * EXPERT}
    assert anatomy.expert_bytes_range == (2 * EXPERT, 2 * EXPERT)
    assert 0.5 < anatomy.expert_share < 1


def test_layers_in_another_type_have_experts_of_another_size(path: Path) -> None:
    tensors = io_tensors() + attention_tensors(0) + expert_tensors(0, 16)
    tensors += attention_tensors(1) + expert_tensors(1, 16, type_name="F32")
    anatomy = anatomy_of(facts_of(path, model_keys(more=COUNTS, layers=2), tensors))
    assert anatomy.expert_bytes_range == (2 * EXPERT, 4 * EXPERT)
    shares = anatomy.types_by_class[TensorClass.ROUTED_EXPERTS]
    assert [(share.type_name, share.tensor_count, share.size_bytes) for share in shares] == [
        ("F32", 3, 16 * 4 * EXPERT),
        ("F16", 3, 16 * 2 * EXPERT),
    ]
    assert anatomy.expert_bits_per_weight == 24


def test_an_mtp_block_is_in_the_file_but_not_in_a_token(path: Path) -> None:
    keys, tensors = moe_model("glm4moe", layers=3, nextn_predict_layers=u32(1))
    with_block = anatomy_of(facts_of(path, keys, tensors))
    without = anatomy_of(facts_of(path, *moe_model("glm4moe", layers=2)))
    assert with_block.bytes_per_token == without.bytes_per_token
    assert with_block.active_parameter_count == without.active_parameter_count
    assert [layer.is_mtp for layer in with_block.expert_layers] == [False, False, True]


def test_the_embedding_is_read_whole_where_it_is_the_output_too(path: Path) -> None:
    keys, tensors = dense_model(layers=1)
    untied = anatomy_of(facts_of(path, keys, tensors))
    tied = anatomy_of(facts_of(path, keys, [t for t in tensors if t.name != "output.weight"]))
    assert untied.bytes_per_token is not None
    assert tied.bytes_per_token == untied.bytes_per_token - 2 * 64


def test_of_chunk_experts_a_token_uses_as_many_or_all_there_are(path: Path) -> None:
    plain = io_tensors() + attention_tensors(0) + expert_tensors(0, 16)
    chunked = io_tensors() + attention_tensors(0) + expert_tensors(0, 16, chunks=True)
    keys = model_keys(more={**COUNTS, "expert_used_count": u32(8)}, layers=1)
    without, with_chunks = (anatomy_of(facts_of(path, keys, tensors)) for tensors in (plain, chunked))
    assert without.active_parameter_count is not None
    assert with_chunks.active_parameter_count == without.active_parameter_count + 4 * EXPERT
    assert with_chunks.expert_bytes_range == without.expert_bytes_range


def test_a_layer_routed_by_the_token_reads_one_row_of_its_table(path: Path) -> None:
    keys, tensors = moe_model(layers=1)
    without = anatomy_of(facts_of(path, keys, tensors))
    table = Tensor("blk.0.ffn_gate_tid2eid.weight", (4, 64), "I32")
    hashed = anatomy_of(facts_of(path, keys, [*tensors, table]))
    assert without.bytes_per_token is not None
    assert hashed.bytes_per_token == without.bytes_per_token + 4 * 4
    assert hashed.router_types == ("F32",)


def test_without_the_number_of_used_experts_a_token_has_no_figure(path: Path) -> None:
    facts = facts_of(path, *moe_model())
    anatomy = anatomy_of(replace(facts, expert_used_count=None))
    assert (anatomy.active_parameter_count, anatomy.bytes_per_token) == (None, None)
    assert anatomy.expert_bytes_range is not None


def test_a_type_not_known_leaves_bytes_open_but_not_parameters(path: Path) -> None:
    keys, tensors = moe_model()
    tensors[3] = replace(tensors[3], type_id=200)
    anatomy = anatomy_of(facts_of(path, keys, tensors))
    assert anatomy.bytes_per_token is None
    assert anatomy.active_parameter_count is not None
    assert "type-200" in {s.type_name for s in anatomy.types_by_class[TensorClass.ATTENTION]}


def test_the_old_layout_has_experts_of_the_same_size(path: Path) -> None:
    tensors = io_tensors() + attention_tensors(0) + old_expert_tensors(0, 8)
    facts = facts_of(path, model_keys("llama", COUNTS, layers=1), tensors)
    assert anatomy_of(facts).expert_bytes_range == (2 * EXPERT, 2 * EXPERT)


def test_a_dense_model_has_no_experts_and_reads_all_of_itself(path: Path) -> None:
    facts = facts_of(path, *dense_model(layers=1))
    anatomy = anatomy_of(facts)
    assert (anatomy.expert_layers, anatomy.expert_bytes_range, anatomy.expert_share) == ((), None, 0.0)
    assert anatomy.active_parameter_count == (facts.parameter_count or 0) - 63 * 64
    assert (anatomy.router_types, anatomy.is_router_quantized) == ((), False)


def test_a_file_without_tensors_has_no_anatomy(path: Path) -> None:
    anatomy = anatomy_of(facts_of(path, model_keys(), []))
    assert (anatomy.active_parameter_count, anatomy.bits_per_weight) == (None, None)
    assert anatomy.types_by_class == {}


@pytest.mark.parametrize(("type_name", "is_noted"), [("F32", False), ("BF16", False), ("Q8_0", True)])
def test_a_quantized_router_is_noted_and_no_more(path: Path, type_name: str, is_noted: bool) -> None:
    keys, tensors = moe_model()
    routers = [replace(t, type_name=type_name) if "gate_inp" in t.name else t for t in tensors]
    write_gguf(path, keys, routers)
    inspected = inspect_path(path)
    notes = [f for f in inspected.findings if f.code is FindingCode.ROUTER_QUANTIZED]
    assert [(f.severity, f.values["types"]) for f in notes] == [(Severity.NOTE, (type_name,))] * is_noted
    assert anatomy_of(inspected.facts).is_router_quantized is is_noted
    assert inspected.loadable
