"""Headers made to mislead: each was loadable by our word, and the engine refused it, died of it or raved."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.gguf.facts import FileKind
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.mended_header import mended_header
from app.gguf.repair import RepairKind, repairs_for
from app.gguf.repair_facts import RepairChoice
from tests.builders import Keys, Tensor, Value, array, f32, i32, moe_model, text, u32, u64, write_gguf

A = "qwen3moe"


def inspect_moe(
    tmp_path: Path,
    change: Callable[[Keys], object] = lambda _: None,
    tensors: Callable[[list[Tensor]], list[Tensor]] = lambda same: same,
    choice: RepairChoice | None = None,
) -> InspectedFile:
    """Inspect a sound MoE of 8 experts, 2 used, 2 layers, after changes to its keys and its tensors."""
    keys, table = moe_model(A, layers=2, experts=8, used=2)
    change(keys)
    file = write_gguf(tmp_path / "m.gguf", keys, tensors(table))
    return inspect_path(file, choice or RepairChoice())


def put(key: str, value: Value) -> Callable[[Keys], object]:
    """Return a change that sets a key by its full name."""
    return lambda keys: keys.update({key: value})


def errors(inspected: InspectedFile) -> set[FindingCode]:
    """Return the codes that stop the engine."""
    return {finding.code for finding in inspected.findings if finding.severity is Severity.ERROR}


@pytest.mark.parametrize("declared", ["mmproj", "clip-vision", "adapter", "imatrix"])
def test_a_whole_model_that_calls_itself_something_else_is_a_model(tmp_path: Path, declared: str) -> None:
    inspected = inspect_moe(tmp_path, put("general.type", text(declared)))
    assert inspected.facts.kind is FileKind.MODEL
    assert inspected.loadable


@pytest.mark.parametrize("stored", [i32(32), u64(32)])
def test_an_alignment_in_another_type_is_mended_in_a_copy_only(tmp_path: Path, stored: Value) -> None:
    inspected = inspect_moe(tmp_path, put("general.alignment", stored))
    assert errors(inspected) == {FindingCode.METADATA_TYPE_WRONG}
    assert inspected.facts.kv_overrides == ()
    (repair,) = repairs_for(inspected)
    assert repair.kind is RepairKind.PATCHED_COPY


def test_a_file_type_in_another_type_is_given_at_load(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, put("general.file_type", i32(7)))
    assert inspected.loadable
    assert inspected.facts.kv_overrides == (("general.file_type", 7),)


@pytest.mark.parametrize(
    "key", ["general.name", f"{A}.context_length", f"{A}.embedding_length", f"{A}.block_count"]
)
def test_a_list_where_engines_want_one_value_is_told(tmp_path: Path, key: str) -> None:
    inspected = inspect_moe(tmp_path, put(key, array("u32", [2, 3])))
    assert FindingCode.METADATA_TYPE_WRONG in errors(inspected)


def test_a_list_of_one_and_the_same_number_is_that_number(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, put(f"{A}.block_count", array("u32", [2, 2])))
    assert inspected.loadable
    assert inspected.facts.kv_overrides == ((f"{A}.block_count", 2),)


@pytest.mark.parametrize("count", [0, 1, 3, 600])
@pytest.mark.parametrize("name", ["feed_forward_length", "attention.head_count_kv", "expert_used_count"])
def test_a_list_per_layer_has_as_many_numbers_as_layers(tmp_path: Path, name: str, count: int) -> None:
    inspected = inspect_moe(tmp_path, put(f"{A}.{name}", array("u32", [2] * count)))
    told = next(f for f in inspected.findings if f.code is FindingCode.METADATA_LENGTH_WRONG)
    assert told.values == {"key": f"{A}.{name}", "expected": 2, "found": count}
    assert not inspected.loadable


@pytest.mark.parametrize(
    ("name", "value"), [("attention.layer_norm_rms_epsilon", -1.0), ("rope.freq_base", 0.0)]
)
def test_a_number_that_makes_every_answer_nonsense_is_told(tmp_path: Path, name: str, value: float) -> None:
    inspected = inspect_moe(tmp_path, put(f"{A}.{name}", f32(value)))
    assert errors(inspected) == {FindingCode.METADATA_NOT_FINITE}


@pytest.mark.parametrize(("name", "value"), [("context_length", 4096), ("embedding_length", 64)])
def test_a_number_every_engine_needs_is_missed(tmp_path: Path, name: str, value: int) -> None:
    inspected = inspect_moe(tmp_path, lambda keys: keys.pop(f"{A}.{name}"))
    missing = [f for f in inspected.findings if f.code is FindingCode.METADATA_MISSING]
    assert [f.values for f in missing] == [{"key": f"{A}.{name}"}]
    right = next(right for right in inspected.right_values if right.key == f"{A}.{name}")
    assert right.value == value


def test_blocks_beyond_the_count_are_told_and_counted(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, put(f"{A}.block_count", u32(1)))
    told = next(f for f in inspected.findings if f.code is FindingCode.BLOCK_COUNT_INVALID)
    assert (told.values["found"], told.values["tensors"]) == (1, 2)
    assert inspected.facts.kv_overrides == ((f"{A}.block_count", 2),)


def test_a_stray_block_far_beyond_the_count_is_not_counted(tmp_path: Path) -> None:
    stray = Tensor("blk.7.ffn_norm.weight", (64,), "F32")
    inspected = inspect_moe(tmp_path, tensors=lambda table: [*table, stray])
    assert errors(inspected) == {FindingCode.BLOCK_COUNT_INVALID}
    assert inspected.facts.kv_overrides == ()


def test_of_two_numbers_of_heads_the_one_the_tensors_contradict_is_wrong(tmp_path: Path) -> None:
    def fewer_heads(keys: Keys) -> None:
        keys[f"{A}.attention.key_length"] = keys[f"{A}.attention.value_length"] = u32(8)
        keys[f"{A}.attention.head_count"] = u32(3)

    inspected = inspect_moe(tmp_path, fewer_heads)
    assert inspected.facts.kv_overrides == ((f"{A}.attention.head_count", 8),)


def test_a_value_too_long_to_be_given_at_load_goes_into_a_copy(tmp_path: Path) -> None:
    name = f"Not-Phi-3 {'x' * 200}"
    inspected = inspect_moe(tmp_path, put("general.name", text(name)))
    assert FindingCode.NAME_BREAKS_LOADER in errors(inspected)
    assert inspected.facts.kv_overrides == ()
    assert [repair.kind for repair in repairs_for(inspected)] == [RepairKind.PATCHED_COPY]


@pytest.mark.parametrize("pair", [("k" * 200, 1), ("tokenizer.chat_template", "x" * 200), ("", 1)])
def test_a_chosen_value_that_does_not_fit_is_not_given_at_load(
    tmp_path: Path, pair: tuple[str, int | str]
) -> None:
    assert inspect_moe(tmp_path, choice=RepairChoice(chosen=(pair,))).facts.kv_overrides == ()


@pytest.mark.parametrize("type_name", ["I8", "I32", "F64"])
def test_weights_that_are_no_weights_are_told(tmp_path: Path, type_name: str) -> None:
    def other(table: list[Tensor]) -> list[Tensor]:
        name = "blk.0.attn_q.weight"
        return [Tensor(t.name, t.shape, type_name if t.name == name else t.type_name) for t in table]

    inspected = inspect_moe(tmp_path, tensors=other)
    told = next(f for f in inspected.findings if f.code is FindingCode.TENSOR_INVALID)
    assert (told.values["tensor"], told.values["reason"]) == ("blk.0.attn_q.weight", "unusable-type")


def test_tensors_closer_than_engines_can_map_are_told(tmp_path: Path) -> None:
    def odd(table: list[Tensor]) -> list[Tensor]:
        return [
            Tensor(t.name, (t.shape[0] + 4,), t.type_name) if t.name == "output_norm.weight" else t
            for t in table
        ]

    keys, table = moe_model(A, layers=2, experts=8, used=2)
    keys["general.alignment"] = u32(8)
    at = 0
    tight = []
    for tensor in odd(table):
        tight.append(Tensor(tensor.name, tensor.shape, tensor.type_name, offset_bytes=at))
        at += -(-tensor.size_bytes // 8) * 8
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", keys, tight))
    told = next(f for f in inspected.findings if f.code is FindingCode.TENSOR_INVALID)
    assert told.values["reason"] == "misaligned"


@pytest.mark.parametrize("name", ["tokens", "merges"])
def test_a_vocabulary_of_numbers_is_none(tmp_path: Path, name: str) -> None:
    key = f"tokenizer.ggml.{name}"
    inspected = inspect_moe(tmp_path, put(key, array("i32", [1] * 2000)))
    told = next(f for f in inspected.findings if f.code is FindingCode.TOKENIZER_MISSING)
    assert told.values["keys"] == (key,)


def latent(keys: Keys) -> None:
    """Make the attention one that keeps a single latent vector per token."""
    keys[f"{A}.attention.key_length_mla"] = keys[f"{A}.attention.value_length_mla"] = u32(16)


def with_latent(table: list[Tensor]) -> list[Tensor]:
    """Return the tensors with that vector's."""
    return [*table, *(Tensor(f"blk.{block}.attn_kv_a_mqa.weight", (64, 32)) for block in range(2))]


def test_latent_attention_has_one_key_head(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, latent, with_latent)
    assert FindingCode.HEAD_COUNT_INVALID in {finding.code for finding in inspected.findings}
    assert inspected.facts.kv_overrides == ((f"{A}.attention.head_count_kv", 1),)


def test_latent_attention_without_a_number_of_key_heads_needs_a_copy(tmp_path: Path) -> None:
    def without_heads(keys: Keys) -> None:
        latent(keys)
        keys.pop(f"{A}.attention.head_count_kv")

    inspected = inspect_moe(tmp_path, without_heads, with_latent)
    assert errors(inspected) == {FindingCode.HEAD_COUNT_INVALID}
    assert [repair.kind for repair in repairs_for(inspected)] == [RepairKind.PATCHED_COPY]


def test_no_more_of_a_head_is_turned_than_it_is_wide(tmp_path: Path) -> None:
    def wide(keys: Keys) -> None:
        keys[f"{A}.attention.key_length"] = u32(8)
        keys[f"{A}.rope.dimension_count"] = u32(9)

    inspected = inspect_moe(tmp_path, wide)
    assert errors(inspected) == {FindingCode.NUMBER_UNUSABLE}


def test_every_how_manieth_layer_is_never_the_zeroth(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, put(f"{A}.full_attention_interval", u32(0)))
    assert errors(inspected) == {FindingCode.METADATA_NOT_FINITE}


def test_one_key_head_in_another_type_is_given_in_the_right_one(tmp_path: Path) -> None:
    def as_text(keys: Keys) -> None:
        latent(keys)
        keys[f"{A}.attention.head_count_kv"] = text("1")

    inspected = inspect_moe(tmp_path, as_text, with_latent)
    assert inspected.loadable
    assert inspected.facts.kv_overrides == ((f"{A}.attention.head_count_kv", 1),)


def test_a_width_that_no_count_can_hold_is_not_proposed(tmp_path: Path) -> None:
    def widen(table: list[Tensor]) -> list[Tensor]:
        return [
            replace(row, shape=(0, 2**56, *row.shape[2:]))
            if row.name.endswith(("ffn_up_exps.weight", "ffn_gate_exps.weight"))
            else row
            for row in table
        ]

    inspected = inspect_moe(tmp_path, put(f"{A}.expert_feed_forward_length", u32(32)), widen)
    assert not inspected.loadable
    assert all(right.value != 2**56 for right in inspected.right_values)
    assert inspected.facts.kv_overrides == ()


def test_a_real_number_beyond_32_bits_is_not_what_a_copy_is_given(tmp_path: Path) -> None:
    key = f"{A}.rope.freq_base"
    inspected = inspect_moe(tmp_path, put(key, Value("f64", -5.486124068793691e303)))
    assert FindingCode.METADATA_TYPE_WRONG in errors(inspected)
    assert not mended_header(inspected).changes
    assert [right.key for right in mended_header(inspected).undecided] == [key]
