"""What engines refuse or die of is said before they get the file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.findings import Finding, FindingCode, Severity
from app.gguf.inspect_file import InspectedFile, inspect_path
from tests.builders import (
    Keys,
    Tensor,
    Value,
    array,
    dense_model,
    f32,
    gguf_bytes,
    i32,
    moe_model,
    text,
    u32,
    write_gguf,
)

A = "qwen3moe"


def inspect_moe(tmp_path: Path, change: Callable[[Keys], object]) -> InspectedFile:
    """Inspect a sound MoE of 8 experts, 2 used, 2 layers, after `change` to its keys."""
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    change(keys)
    return inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors))


def only(inspected: InspectedFile) -> Finding:
    """Return the single finding."""
    assert len(inspected.findings) == 1, inspected.findings
    return inspected.findings[0]


def put(name: str, value: Value) -> Callable[[Keys], object]:
    """Return a change that sets a key of the architecture."""
    return lambda keys: keys.update({f"{A}.{name}": value})


def drop(name: str) -> Callable[[Keys], object]:
    """Return a change that takes a key away."""
    return lambda keys: keys.pop(name)


def test_sound_models_have_no_findings(tmp_path: Path) -> None:
    for number, model in enumerate((moe_model(), dense_model(), moe_model(leading_dense=2, shared=True))):
        inspected = inspect_path(write_gguf(tmp_path / f"{number}.gguf", *model))
        assert inspected.findings == ()
        assert inspected.loadable
        assert inspected.facts.kv_overrides == ()


@pytest.mark.parametrize(
    ("change", "code", "found"),
    [
        (drop(f"{A}.expert_count"), FindingCode.EXPERT_COUNT_MISSING, None),
        (put("expert_count", u32(0)), FindingCode.EXPERT_COUNT_MISSING, 0),
        (put("expert_count", u32(16)), FindingCode.EXPERT_COUNT_MISMATCH, 16),
        (put("expert_count", u32(4)), FindingCode.EXPERT_COUNT_MISMATCH, 4),
        (put("expert_count", u32(5000)), FindingCode.EXPERT_COUNT_INVALID, "5000"),
        (put("expert_count", u32(2**32 - 8)), FindingCode.EXPERT_COUNT_INVALID, "4294967288"),
        (put("expert_count", i32(-8)), FindingCode.EXPERT_COUNT_INVALID, "-8"),
        (put("expert_count", text("8")), FindingCode.EXPERT_COUNT_INVALID, "8"),
        (put("expert_count", f32(8)), FindingCode.EXPERT_COUNT_INVALID, "8.0"),
    ],
)
def test_a_wrong_expert_count_is_a_warning_with_both_numbers_and_repaired_at_load(
    tmp_path: Path, change: Callable[[Keys], object], code: FindingCode, found: object
) -> None:
    inspected = inspect_moe(tmp_path, change)
    finding = only(inspected)
    assert (finding.code, finding.severity) == (code, Severity.WARNING)
    assert (finding.values["found"], finding.values["tensors"]) == (found, 8)
    assert inspected.loadable
    assert inspected.facts.expert_count == 8
    assert inspected.facts.kv_overrides == ((f"{A}.expert_count", 8),)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (put("expert_used_count", text("2")), FindingCode.EXPERT_USED_COUNT_INVALID),
        (put("block_count", u32(0)), FindingCode.BLOCK_COUNT_INVALID),
        (put("block_count", u32(100_000)), FindingCode.BLOCK_COUNT_INVALID),
        (put("block_count", u32(9)), FindingCode.BLOCK_COUNT_INVALID),
        (drop(f"{A}.block_count"), FindingCode.BLOCK_COUNT_INVALID),
    ],
)
def test_other_values_that_are_certain_are_told_at_load_too(
    tmp_path: Path, change: Callable[[Keys], object], code: FindingCode
) -> None:
    inspected = inspect_moe(tmp_path, change)
    severities = {finding.code: finding.severity for finding in inspected.findings}
    assert severities[code] is Severity.WARNING
    assert severities[FindingCode.OVERRIDE_IN_FORCE] is Severity.NOTE
    assert inspected.loadable
    assert (inspected.facts.block_count, inspected.facts.expert_used_count) == (2, 2)
    assert len(inspected.facts.kv_overrides) == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (drop(f"{A}.expert_used_count"), FindingCode.EXPERT_USED_COUNT_MISSING),
        (put("expert_used_count", u32(0)), FindingCode.EXPERT_USED_COUNT_INVALID),
        (put("expert_used_count", u32(9)), FindingCode.EXPERT_USED_COUNT_INVALID),
        (drop("general.architecture"), FindingCode.ARCHITECTURE_MISSING),
        (drop("tokenizer.ggml.model"), FindingCode.TOKENIZER_MISSING),
        (drop("tokenizer.ggml.tokens"), FindingCode.TOKENIZER_MISSING),
    ],
)
def test_what_nothing_given_at_load_repairs_is_an_error(
    tmp_path: Path, change: Callable[[Keys], object], code: FindingCode
) -> None:
    inspected = inspect_moe(tmp_path, change)
    assert only(inspected).code is code
    assert not inspected.loadable


def test_a_number_of_used_experts_per_layer_is_sound(tmp_path: Path) -> None:
    assert inspect_moe(tmp_path, put("expert_used_count", array("u32", [2, 4]))).findings == ()


def test_that_all_experts_are_used_is_a_note(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, put("expert_used_count", u32(8)))
    assert (only(inspected).code, inspected.loadable) == (FindingCode.EXPERTS_ALL_USED, True)


def test_a_missing_chat_template_is_a_note(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, drop("tokenizer.chat_template"))
    assert only(inspected).code is FindingCode.CHAT_TEMPLATE_MISSING
    assert inspected.loadable
    assert not inspected.facts.has_chat_template


def test_experts_in_the_header_and_none_in_the_tensors_is_an_error(tmp_path: Path) -> None:
    keys, tensors = dense_model(A)
    keys |= {f"{A}.expert_count": u32(8), f"{A}.expert_used_count": u32(2)}
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors))
    assert only(inspected).code is FindingCode.EXPERT_TENSORS_MISSING


@pytest.mark.parametrize("lost", ["blk.1.ffn_down_exps.weight", "blk.1.ffn_up_exps.weight"])
def test_a_lost_expert_tensor_is_named(tmp_path: Path, lost: str) -> None:
    keys, tensors = moe_model(A)
    rest = [tensor for tensor in tensors if tensor.name != lost]
    finding = only(inspect_path(write_gguf(tmp_path / "m.gguf", keys, rest)))
    assert (finding.code, finding.values["tensors"]) == (FindingCode.EXPERT_TENSORS_MISSING, (lost,))


def test_layers_with_different_numbers_of_experts_are_refused(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, experts=8)
    uneven = [Tensor(t.name, (*t.shape[:2], 4)) if t.name.startswith("blk.1.ffn_") else t for t in tensors]
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", keys, uneven))
    finding = only(inspected)
    assert (finding.code, finding.values["tensors"]) == (FindingCode.EXPERT_COUNT_UNEVEN, (4, 8))
    assert inspected.facts.kv_overrides == ()


def test_more_experts_than_engines_take_is_an_error(tmp_path: Path) -> None:
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", *moe_model(A, layers=1, experts=2000)))
    assert only(inspected).code is FindingCode.EXPERT_COUNT_TOO_LARGE


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (Tensor("x", (64, 2, 2, 2, 2), "F32"), "dimensions"),
        (Tensor("x", (64, 0), "F32"), "shape"),
        (Tensor("x", (48, 32), "Q8_0"), "row-not-whole-blocks"),
        (Tensor("x" * 64, (64,), "F32"), "name-too-long"),
        (Tensor("token_embd.weight", (64,), "F32"), "duplicate-name"),
        (Tensor("x", (64,), "F32", type_id=4), "removed-type"),
        (Tensor("x", (64,), "F32", offset_bytes=2**40), "offset"),
        (Tensor("x", (64,), "F32", offset_bytes=2**64 - 32), "offset"),
        (Tensor("x", (64,), "F32", offset_bytes=1), "offset"),
    ],
)
def test_an_impossible_tensor_is_named_with_its_reason(tmp_path: Path, tensor: Tensor, reason: str) -> None:
    keys, tensors = dense_model()
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", keys, [*tensors, tensor]))
    finding = only(inspected)
    assert (finding.code, finding.values["reason"]) == (FindingCode.TENSOR_INVALID, reason)
    assert finding.values["tensor"] == tensor.name
    assert not inspected.loadable


def test_a_shape_beyond_any_number_of_elements_is_impossible(tmp_path: Path) -> None:
    keys, tensors = dense_model()
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_bytes(keys, tensors).replace(_shape(64, 64), _shape(2**31, 2**40), 1))
    finding = inspect_path(file).findings[0]
    assert (finding.code, finding.values["reason"]) == (FindingCode.TENSOR_INVALID, "shape")


def test_a_type_newer_than_this_program_is_a_warning(tmp_path: Path) -> None:
    keys, tensors = dense_model()
    new = Tensor("blk.0.new.weight", (64, 64), type_id=77)
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", keys, [*tensors, new]))
    finding = only(inspected)
    assert (finding.code, finding.values["type"]) == (FindingCode.QUANTIZATION_UNKNOWN, "type-77")
    assert inspected.loadable


def test_a_header_without_tensors_and_vocabulary_says_so(tmp_path: Path) -> None:
    keys = {"general.architecture": text("llama"), "llama.block_count": u32(2)}
    codes = {f.code for f in inspect_path(write_gguf(tmp_path / "m.gguf", keys)).findings}
    assert FindingCode.TENSORS_MISSING in codes


def _shape(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)
