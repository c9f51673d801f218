"""Metadata, vocabulary and shapes that engines refuse, each with its own cause."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from app.findings import Finding, FindingCode, Severity
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.tokenizer_rules import harmless_name
from tests.builders import (
    Keys,
    Tensor,
    Value,
    array,
    f32,
    i32,
    moe_model,
    text,
    u32,
    u64,
    write_gguf,
)

A = "qwen3moe"
PHI_TOKENS = ["</s>", "<unk>", "<s>", "<|endoftext|>"]


def inspect_moe(
    tmp_path: Path,
    change: Callable[[Keys], object] = lambda _: None,
    tensors: Callable[[list[Tensor]], list[Tensor]] = lambda same: same,
) -> InspectedFile:
    """Inspect a sound MoE of 8 experts, 2 used, 2 layers, after changes to its keys and its tensors."""
    keys, table = moe_model(A, layers=2, experts=8, used=2)
    change(keys)
    return inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors(table)))


def put(key: str, value: Value) -> Callable[[Keys], object]:
    """Return a change that sets a key by its full name."""
    return lambda keys: keys.update({key: value})


def reshaped(name: str, shape: tuple[int, ...]) -> Callable[[list[Tensor]], list[Tensor]]:
    """Return a change of one tensor's shape."""
    return lambda table: [Tensor(t.name, shape, t.type_name) if t.name == name else t for t in table]


def finding(inspected: InspectedFile, code: FindingCode) -> Finding:
    """Return the one finding of that code."""
    found = [item for item in inspected.findings if item.code is code]
    assert len(found) == 1, inspected.findings
    return found[0]


def test_an_overwritten_type_is_named_with_place_and_numbers(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model(A, layers=2, experts=8))
    key = f"{A}.expert_count"
    content = bytearray(file.read_bytes())
    at = content.index(key.encode()) + len(key)
    content[at] = 16
    file.write_bytes(content)
    inspected = inspect_path(file)
    values = finding(inspected, FindingCode.VALUE_TYPE_OVERWRITTEN).values
    assert values == {
        "file": "m.gguf",
        "key": key,
        "found": 16,
        "expected": 4,
        "offset": at,
        "value": 8,
        "meant": 16,
        "tensors": 8,
    }
    assert not inspected.loadable
    assert (inspected.facts.expert_count, len(inspected.facts.layers)) == (8, 2)


@pytest.mark.parametrize(
    ("key", "value", "found", "expected"),
    [
        (f"{A}.embedding_length", i32(64), "i32", "u32"),
        (f"{A}.embedding_length", u64(64), "u64", "u32"),
        (f"{A}.attention.head_count", f32(4), "f32", "u32"),
        (f"{A}.attention.layer_norm_rms_epsilon", u32(1), "u32", "f32"),
        (f"{A}.expert_weights_norm", u32(1), "u32", "bool"),
        ("general.name", u32(1), "u32", "str"),
    ],
)
def test_a_value_of_another_type_is_named_with_both_types(
    tmp_path: Path, key: str, value: Value, found: str, expected: str
) -> None:
    values = finding(inspect_moe(tmp_path, put(key, value)), FindingCode.METADATA_TYPE_WRONG).values
    assert (values["key"], values["found"], values["expected"]) == (key, found, expected)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["attention.scale", "rope.freq_base", "swiglu_clamp_exp"])
def test_a_value_that_is_no_number_is_an_error(tmp_path: Path, name: str, number: float) -> None:
    value = array("f32", [1.0, number]) if name == "swiglu_clamp_exp" else f32(number)
    inspected = inspect_moe(tmp_path, put(f"{A}.{name}", value))
    assert finding(inspected, FindingCode.METADATA_NOT_FINITE).values["key"] == f"{A}.{name}"
    assert not inspected.loadable


def test_keys_of_another_architecture_are_one_finding(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, put("general.architecture", text("qwen99moe")))
    values = finding(inspected, FindingCode.METADATA_PREFIX_MISMATCH).values
    assert (values["architecture"], values["prefix"]) == ("qwen99moe", A)
    assert [item.code for item in inspected.findings if item.severity is Severity.ERROR] == [
        FindingCode.METADATA_PREFIX_MISMATCH
    ]


def test_a_future_architecture_keeps_its_facts_and_may_be_tried(tmp_path: Path) -> None:
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", *moe_model("qwen99moe", experts=8, layers=2)))
    assert finding(inspected, FindingCode.ARCHITECTURE_UNKNOWN).severity is Severity.WARNING
    assert inspected.loadable
    assert (inspected.facts.expert_count, inspected.facts.block_count) == (8, 2)


def test_known_pre_tokenizers_pass_and_unknown_ones_are_warned_of(tmp_path: Path) -> None:
    def change(pre: str | None) -> Callable[[Keys], object]:
        bpe = {"tokenizer.ggml.model": text("gpt2"), "tokenizer.ggml.merges": array("str", ["a b"])}
        return lambda keys: keys.update(bpe | ({"tokenizer.ggml.pre": text(pre)} if pre else {}))

    assert inspect_moe(tmp_path, change("smollm")).findings == ()
    unknown = inspect_moe(tmp_path, change("martian"))
    assert finding(unknown, FindingCode.PRE_TOKENIZER_UNKNOWN).values["pre"] == "martian"
    assert unknown.loadable
    finding(inspect_moe(tmp_path, lambda k: (change(None)(k), k.pop("tokenizer.ggml.pre", None))),
            FindingCode.PRE_TOKENIZER_MISSING)  # fmt: skip


@pytest.mark.parametrize("pre", ["gpt-2", "kimi-k2"])
def test_merges_are_missed_where_the_tokenizer_needs_them(tmp_path: Path, pre: str) -> None:
    keys = {"tokenizer.ggml.model": text("gpt2"), "tokenizer.ggml.pre": text(pre)}
    inspected = inspect_moe(tmp_path, lambda k: (k.update(keys), k.pop("tokenizer.ggml.merges", None)))
    if pre == "kimi-k2":
        assert inspected.findings == ()
    else:
        missing = finding(inspected, FindingCode.TOKENIZER_MISSING)
        assert missing.values["keys"] == ("tokenizer.ggml.merges",)


@pytest.mark.parametrize("key", ["tokenizer.ggml.scores", "tokenizer.ggml.token_type"])
def test_a_list_shorter_than_the_vocabulary_is_an_error(tmp_path: Path, key: str) -> None:
    inspected = inspect_moe(tmp_path, put(key, array("f32", [0.0] * 3)))
    assert finding(inspected, FindingCode.VOCABULARY_MISMATCH).values["name"] == key


def test_an_embedding_with_other_rows_than_tokens_is_an_error(tmp_path: Path) -> None:
    inspected = inspect_moe(tmp_path, tensors=reshaped("token_embd.weight", (64, 32)))
    values = finding(inspected, FindingCode.VOCABULARY_MISMATCH).values
    assert (values["name"], values["found"]) == ("token_embd.weight", 32)


@pytest.mark.parametrize("name", ["My Phi-3 of qwen", "not-PHI3-at-all"])
def test_a_display_name_that_breaks_the_loader_is_given_differently(tmp_path: Path, name: str) -> None:
    inspected = inspect_moe(tmp_path, put("general.name", text(name)))
    breaking = finding(inspected, FindingCode.NAME_BREAKS_LOADER)
    assert breaking.values["tokens"] == tuple(PHI_TOKENS)
    assert breaking.severity is Severity.WARNING
    assert dict(inspected.facts.kv_overrides) == {"general.name": harmless_name(name)}
    assert inspected.facts.path.name == "m.gguf"


@pytest.mark.parametrize("count", [60, 40_000])
def test_a_vocabulary_with_the_tokens_of_phi_3_takes_the_name(tmp_path: Path, count: int) -> None:
    words = [*(f"word-{number}-魔" for number in range(count)), *PHI_TOKENS]

    def change(keys: Keys) -> None:
        keys["tokenizer.ggml.tokens"] = array("str", words)
        keys["general.name"] = text("Phi-3.5-MoE")
        keys.pop("tokenizer.ggml.token_type", None)

    inspected = inspect_moe(tmp_path, change, reshaped("token_embd.weight", (64, len(words))))
    assert inspected.findings == ()
    words.remove("<unk>")
    lacking = inspect_moe(tmp_path, change, reshaped("token_embd.weight", (64, len(words))))
    assert finding(lacking, FindingCode.NAME_BREAKS_LOADER).values["tokens"] == ("<unk>",)


@pytest.mark.parametrize(
    ("name", "given"),
    [("Phi-3", "Phi 3"), ("phi3", "phi 3"), ("A PHI-3 and a phi3.5", "A PHI 3 and a phi 3.5")],
)
def test_a_harmless_name_stays_readable(name: str, given: str) -> None:
    assert harmless_name(name) == given


@pytest.mark.parametrize(("name", "number"), [("head_count", 0), ("head_count_kv", 3)])
def test_heads_that_do_not_fit_each_other_are_an_error(tmp_path: Path, name: str, number: int) -> None:
    key = f"{A}.attention.{name}"
    inspected = inspect_moe(tmp_path, put(key, u32(number)))
    assert finding(inspected, FindingCode.HEAD_COUNT_INVALID).values["key"] == key


@pytest.mark.parametrize("kind", ["up", "gate", "down"])
def test_a_turned_expert_tensor_is_named_with_both_shapes(tmp_path: Path, kind: str) -> None:
    name = f"blk.1.ffn_{kind}_exps.weight"
    sound = next(t.shape for t in moe_model(A, layers=2, experts=8)[1] if t.name == name)
    turned = (sound[1], sound[0], sound[2])
    values = finding(
        inspect_moe(tmp_path, tensors=reshaped(name, turned)), FindingCode.TENSOR_SHAPE_MISMATCH
    ).values
    assert values["tensor"] == name
    assert values["found"] == " × ".join(map(str, turned))
    assert values["expected"] == " × ".join(map(str, sound))


def test_an_expert_width_that_is_not_the_tensors_is_given_at_load(tmp_path: Path) -> None:
    key = f"{A}.expert_feed_forward_length"
    inspected = inspect_moe(tmp_path, put(key, u32(48)))
    values = finding(inspected, FindingCode.EXPERT_WIDTH_MISMATCH).values
    assert (values["found"], values["tensors"]) == (48, 32)
    assert inspected.loadable
    assert dict(inspected.facts.kv_overrides) == {key: 32}
