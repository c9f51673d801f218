"""The ways experts lie in files, and headers that count them otherwise than the tensors do."""

import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.findings import Finding, FindingCode, Severity
from app.gguf.facts import LayerFacts, TensorClass
from app.gguf.inspect_file import InspectedFile, inspect_path
from tests.builders import (
    Keys,
    Tensor,
    array,
    attention_tensors,
    dense_tensors,
    expert_tensors,
    io_tensors,
    model_keys,
    moe_model,
    old_expert_tensors,
    u32,
    write_gguf,
)

ONE_EXPERT = 3 * 64 * 32 * 2
"""Gate, up and down of one expert of the builder, F16."""


@dataclass(frozen=True)
class Wrong:
    """A model with one wrong count: `key` says `found`, the tensors `tensors`."""

    keys: Keys
    tensors: list[Tensor]
    key: str
    found: int
    held: int


def inspect(tmp_path: Path, keys: Keys, tensors: list[Tensor]) -> InspectedFile:
    """Write a model and inspect it."""
    return inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors))


def router_bytes(layer: LayerFacts) -> int:
    """Return what decides which experts a token gets."""
    return layer.bytes_by_class.get(TensorClass.ROUTER, 0)


def test_blocks_that_pick_experts_by_token_have_their_table_with_the_router(tmp_path: Path) -> None:
    keys, tensors = moe_model("deepseek4", layers=3, experts=8, shared=True, hash_layer_count=u32(1))
    tensors.append(Tensor("blk.0.ffn_gate_tid2eid.weight", (4, 64), "I32"))
    tensors += [Tensor(f"blk.{block}.exp_probs_b.bias", (8,), "F32") for block in (1, 2)]
    inspected = inspect(tmp_path, keys, tensors)
    facts = inspected.facts
    assert inspected.findings == ()
    assert [layer.routed_expert_bytes for layer in facts.layers] == [8 * ONE_EXPERT] * 3
    router = 64 * 8 * 4
    assert [router_bytes(layer) for layer in facts.layers] == [router + 4 * 64 * 4, router + 32, router + 32]


def test_a_shared_expert_with_gate_and_up_in_one_tensor_stays(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=1, experts=8)
    tensors += [
        Tensor("blk.0.ffn_gate_up_shexp.weight", (64, 64)),
        Tensor("blk.0.ffn_down_shexp.weight", (32, 64)),
        Tensor("blk.0.ffn_gate_inp_shexp.weight", (64,), "F32"),
    ]
    facts = inspect(tmp_path, keys, tensors).facts
    assert facts.routed_expert_bytes == 8 * ONE_EXPERT
    assert facts.shared_expert_bytes == ONE_EXPERT + 64 * 4
    assert facts.expert_shared_count == 1


def test_fused_gate_and_up_count_their_experts_and_bytes(tmp_path: Path) -> None:
    tensors = [*io_tensors(), *attention_tensors(0), *expert_tensors(0, 8, fused=True)]
    keys = model_keys("qwen35moe", {"expert_count": u32(8), "expert_used_count": u32(2)}, layers=1)
    inspected = inspect(tmp_path, keys, tensors)
    assert inspected.findings == ()
    assert (inspected.facts.expert_count, inspected.facts.routed_expert_bytes) == (8, 8 * ONE_EXPERT)


def test_chunk_experts_are_routed_bytes_but_no_experts(tmp_path: Path) -> None:
    tensors = [*io_tensors(), *attention_tensors(0), *expert_tensors(0, 8, chunks=True)]
    keys = model_keys("grovemoe", {"expert_count": u32(8), "expert_used_count": u32(2)}, layers=1)
    facts = inspect(tmp_path, keys, tensors).facts
    assert (facts.expert_count, facts.routed_expert_bytes) == (8, (8 + 2) * ONE_EXPERT)


def test_one_tensor_per_expert_adds_up_to_the_same(tmp_path: Path) -> None:
    tensors = [*io_tensors(), *attention_tensors(0), *old_expert_tensors(0, 8)]
    keys = model_keys("llama", {"expert_count": u32(8), "expert_used_count": u32(2)}, layers=1)
    facts = inspect(tmp_path, keys, tensors).facts
    assert (facts.expert_count, facts.routed_expert_bytes) == (8, 8 * ONE_EXPERT)
    assert router_bytes(facts.layers[0]) == 64 * 8 * 4
    assert TensorClass.DENSE_FFN not in facts.layers[0].bytes_by_class


def test_a_list_where_engines_take_one_number_is_replaced_by_that_number(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=2, experts=8)
    keys["qwen3moe.expert_count"] = array("u32", [8, 8])
    inspected = inspect(tmp_path, keys, tensors)
    told = next(f for f in inspected.findings if f.code is FindingCode.EXPERT_COUNT_INVALID)
    assert (told.severity, told.values["found"], told.values["tensors"]) == (Severity.WARNING, "(8, 8)", 8)
    assert inspected.facts.kv_overrides == (("qwen3moe.expert_count", 8),)


def test_a_list_of_used_counts_has_the_largest(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=3, experts=8)
    keys["qwen3moe.expert_used_count"] = array("i32", [2, 4, 3])
    inspected = inspect(tmp_path, keys, tensors)
    assert inspected.findings == ()
    assert inspected.facts.expert_used_count == 4


def wrong_leading_dense(stated: int) -> Wrong:
    """Return a model with one leading dense block that says `stated`."""
    keys, tensors = moe_model("deepseek2", leading_dense=1)
    keys["deepseek2.leading_dense_block_count"] = u32(stated)
    return Wrong(keys, tensors, "deepseek2.leading_dense_block_count", stated, 1)


def wrong_shared(stated: int) -> Wrong:
    """Return a model with one shared expert that says `stated`."""
    keys, tensors = moe_model("glm4moe", shared=True)
    keys["glm4moe.expert_shared_count"] = u32(stated)
    return Wrong(keys, tensors, "glm4moe.expert_shared_count", stated, 1)


def wrong_hash_layers() -> Wrong:
    """Return a model that says 3 blocks are routed by token, with tables in 2."""
    keys, tensors = moe_model("deepseek4", hash_layer_count=u32(3))
    tensors += [Tensor(f"blk.{block}.ffn_gate_tid2eid.weight", (4, 64), "I32") for block in (0, 1)]
    return Wrong(keys, tensors, "deepseek4.hash_layer_count", 3, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        wrong_leading_dense(0),
        wrong_leading_dense(3),
        wrong_shared(0),
        wrong_shared(2),
        wrong_hash_layers(),
    ],
    ids=lambda wrong: f"{wrong.key}-{wrong.found}",
)
def test_a_count_the_tensors_contradict_names_both_numbers_and_is_mended(
    tmp_path: Path, wrong: Wrong
) -> None:
    inspected = inspect(tmp_path, wrong.keys, wrong.tensors)
    told = next(f for f in inspected.findings if f.code is FindingCode.LAYOUT_MISMATCH)
    assert told.values == {"key": wrong.key, "found": wrong.found, "tensors": wrong.held}
    assert told.severity is Severity.WARNING
    assert inspected.loadable
    assert inspected.facts.kv_overrides == ((wrong.key, wrong.held),)


def mismatches(inspected: InspectedFile) -> list[Finding]:
    """Return the findings on layouts."""
    codes = (FindingCode.LAYOUT_MISMATCH, FindingCode.PREDICTION_LAYERS_MISMATCH)
    return [finding for finding in inspected.findings if finding.code in codes]


def test_experts_that_begin_late_because_they_are_interleaved_are_no_mismatch(tmp_path: Path) -> None:
    tensors = io_tensors()
    for block in range(6):
        tensors += attention_tensors(block)
        tensors += expert_tensors(block, 8) if block in (3, 5) else dense_tensors(block)
    more = {"expert_count": u32(8), "expert_used_count": u32(1), "leading_dense_block_count": u32(2)}
    more["interleave_moe_layer_step"] = u32(2)
    assert mismatches(inspect(tmp_path, model_keys("ernie4_5-moe", more, layers=6), tensors)) == []


def test_a_shared_expert_with_a_width_of_its_own_is_no_mismatch(tmp_path: Path) -> None:
    keys, tensors = moe_model(layers=1, experts=8, expert_shared_feed_forward_length=u32(128))
    keys["qwen3moe.expert_shared_count"] = u32(1)
    tensors += [
        Tensor("blk.0.ffn_up_shexp.weight", (64, 128)),
        Tensor("blk.0.ffn_down_shexp.weight", (128, 64)),
    ]
    assert mismatches(inspect(tmp_path, keys, tensors)) == []


@pytest.mark.parametrize(("stated", "held"), [(0, 1), (1, 0), (2, 1)])
def test_a_prediction_block_that_is_counted_otherwise_is_told(tmp_path: Path, stated: int, held: int) -> None:
    keys, tensors = moe_model("glm4moe", layers=5, nextn_predict_layers=u32(stated))
    tensors += [Tensor(f"blk.{4 - n}.nextn.eh_proj.weight", (128, 64)) for n in range(held)]
    (told,) = mismatches(inspect(tmp_path, keys, tensors))
    assert told.code is FindingCode.PREDICTION_LAYERS_MISMATCH
    assert (told.severity, told.values["found"], told.values["tensors"]) == (Severity.WARNING, stated, held)


def test_absurd_counts_cost_no_time_and_no_memory(tmp_path: Path) -> None:
    most = u32(2**31 - 1)
    keys, tensors = moe_model("ernie4_5-moe", layers=2, nextn_predict_layers=u32(2**31 - 2))
    keys |= {"ernie4_5-moe.block_count": most, "ernie4_5-moe.interleave_moe_layer_step": u32(2**30)}
    keys |= {"ernie4_5-moe.leading_dense_block_count": most}
    tracemalloc.start()
    before = time.perf_counter()
    inspect(tmp_path, keys, tensors)
    assert time.perf_counter() - before < 1.0
    assert tracemalloc.get_traced_memory()[1] < 50 * 1024**2
    tracemalloc.stop()
