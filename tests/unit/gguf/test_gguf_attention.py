"""How keys and values are cached, by the keys of the header."""

from pathlib import Path

import pytest

from app.gguf.attention import WindowPattern
from app.gguf.facts import AttentionFacts, AttentionKind
from app.gguf.inspect_file import inspect_path
from tests.builders import Tensor, Value, array, dense_model, f32, io_tensors, model_keys, u32, write_gguf


def attention_of(tmp_path: Path, architecture: str, layers: int = 4, /, **more: Value) -> AttentionFacts:
    """Return the attention facts of a dense model with these keys."""
    file = write_gguf(tmp_path / "m.gguf", *dense_model(architecture, layers=layers, **more))
    return inspect_path(file).facts.attention


def test_without_lengths_a_head_gets_its_even_share_of_the_embedding(tmp_path: Path) -> None:
    facts = attention_of(tmp_path, "qwen2")
    assert (facts.kind, facts.head_count, facts.head_count_kv) == (AttentionKind.GQA, 8, (2, 2, 2, 2))
    assert (facts.key_length, facts.value_length) == (8, 8)


def test_lengths_of_the_file_win(tmp_path: Path) -> None:
    facts = attention_of(tmp_path, "qwen3", attention__key_length=u32(64), attention__value_length=u32(32))
    assert (facts.key_length, facts.value_length) == (64, 32)


def test_mla_needs_the_lengths_of_its_decompressed_heads(tmp_path: Path) -> None:
    mla = {
        "attention__kv_lora_rank": u32(512),
        "rope__dimension_count": u32(64),
        "attention__key_length_mla": u32(192),
        "attention__value_length_mla": u32(128),
    }
    facts = attention_of(tmp_path, "deepseek2", **mla)
    assert (facts.kind, facts.kv_lora_rank, facts.rope_dimension_count) == (AttentionKind.MLA, 512, 64)
    older = attention_of(tmp_path, "deepseek2", attention__kv_lora_rank=u32(512))
    assert older.kind is AttentionKind.GQA  # engines cache whole heads for such a file


def test_an_indexer_makes_mla_sparse(tmp_path: Path) -> None:
    facts = attention_of(
        tmp_path,
        "glm-dsa",
        attention__kv_lora_rank=u32(512),
        attention__key_length_mla=u32(192),
        attention__value_length_mla=u32(256),
        attention__indexer__key_length=u32(128),
        attention__indexer__top_k=u32(2048),
    )
    assert (facts.kind, facts.indexer_key_length) == (AttentionKind.INDEXED_MLA, 128)


@pytest.mark.parametrize(
    ("context", "types", "indexed"),
    [
        (202_752, None, []),  # GLM-5 and 5.1: every layer has one
        (1_048_576, None, [0, 1, 2, 6]),  # GLM-5.2, as llama.cpp knows it
        (1_048_576, [1, 1, 0, 1, 0, 0, 0, 0], [0, 1, 3]),
    ],
)
def test_which_layers_have_an_indexer_of_their_own(
    tmp_path: Path, context: int, types: list[int] | None, indexed: list[int]
) -> None:
    keys: dict[str, Value] = {"context_length": u32(context)}
    if types:
        keys["attention__indexer__types"] = array("u32", types)
    layers = attention_of(tmp_path, "glm-dsa", 8, **keys).indexed_layers
    assert [index for index, has_indexer in enumerate(layers) if has_indexer] == indexed


@pytest.mark.parametrize(
    ("architecture", "windowed"),
    [
        ("gemma3", (True, True, True, True, True, False)),
        ("gpt-oss", (True, False, True, False, True, False)),
        ("smallthinker", (False, True, True, True, False, True)),
    ],
)
def test_a_window_without_a_pattern_follows_the_engines_own(
    tmp_path: Path, architecture: str, windowed: tuple[bool, ...]
) -> None:
    facts = attention_of(tmp_path, architecture, 6, attention__sliding_window=u32(512))
    assert (facts.kind, facts.sliding_window) == (AttentionKind.SLIDING_WINDOW, 512)
    assert facts.windowed_layers == windowed


def test_a_pattern_in_the_file_wins_as_number_or_array(tmp_path: Path) -> None:
    window = {"attention__sliding_window": u32(512)}
    number = attention_of(tmp_path, "gemma3", attention__sliding_window_pattern=u32(2), **window)
    assert number.windowed_layers == (True, False, True, False)
    flags = array("bool", [False, True, True, False])
    by_layer = attention_of(tmp_path, "new-arch", attention__sliding_window_pattern=flags, **window)
    assert by_layer.windowed_layers == (False, True, True, False)


def test_a_window_of_an_unknown_pattern_counts_as_full_attention(tmp_path: Path) -> None:
    facts = attention_of(tmp_path, "new-arch", attention__sliding_window=u32(512))
    assert (facts.kind, facts.windowed_layers) == (AttentionKind.GQA, ())


@pytest.mark.parametrize(("period", "windowed"), [(0, (True,) * 3), (1, (False,) * 3)])
def test_the_extreme_periods_window_all_layers_or_none(period: int, windowed: tuple[bool, ...]) -> None:
    assert WindowPattern(period).layers(3) == windowed


def test_an_interval_makes_all_other_layers_recurrent(tmp_path: Path) -> None:
    facts = attention_of(
        tmp_path,
        "qwen35",
        8,
        full_attention_interval=u32(4),
        ssm__conv_kernel=u32(4),
        ssm__state_size=u32(128),
        ssm__inner_size=u32(256),
        ssm__group_count=u32(2),
    )
    assert facts.kind is AttentionKind.HYBRID
    assert facts.recurrent_layers == (True, True, True, False) * 2
    assert facts.head_count_kv == (0, 0, 0, 2) * 2
    assert facts.state_bytes_per_layer == 4 * (3 * (256 + 2 * 2 * 128) + 128 * 256)


def test_tensors_tell_recurrent_layers_where_no_key_does(tmp_path: Path) -> None:
    ssm = {"ssm__conv_kernel": u32(4), "ssm__state_size": u32(16), "ssm__inner_size": u32(128)}
    keys = model_keys("falcon-h1", ssm, layers=3)
    tensors = [
        *io_tensors(),
        Tensor("blk.0.ssm_in.weight", (64, 64)),
        Tensor("blk.0.attn_k.weight", (64, 64)),  # both at once
        Tensor("blk.1.ssm_in.weight", (64, 64)),
        Tensor("blk.1.attn_qkv.weight", (64, 64)),  # linear attention, no cache
        Tensor("blk.2.attn_qkv.weight", (64, 64)),
    ]
    facts = inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors)).facts.attention
    assert facts.recurrent_layers == (True, True, False)
    assert facts.head_count_kv == (2, 0, 2)
    assert facts.kind is AttentionKind.HYBRID


def test_a_model_without_attention_is_recurrent(tmp_path: Path) -> None:
    keys = model_keys("rwkv7", {"wkv__head_size": u32(64)}, layers=1, heads=0, kv_heads=0)
    tensors = [*io_tensors(), Tensor("blk.0.time_mix_key.weight", (64, 64))]
    facts = inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors)).facts.attention
    assert facts.kind is AttentionKind.RECURRENT
    assert facts.state_bytes_per_layer == 4 * (2 * 64 + 64 * 64)


def test_compress_ratios_are_kept_per_layer(tmp_path: Path) -> None:
    ratios = array("u32", [0, 0, 4, 128])
    facts = attention_of(
        tmp_path, "deepseek4", attention__compress_ratios=ratios, attention__sliding_window=u32(128)
    )
    assert (facts.kind, facts.compress_ratios) == (AttentionKind.COMPRESSED, (0, 0, 4, 128))
    assert facts.windowed_layers == (True,) * 4


def test_layers_that_share_a_cache_have_none_of_their_own(tmp_path: Path) -> None:
    facts = attention_of(tmp_path, "gemma3n", attention__shared_kv_layers=u32(3))
    assert facts.head_count_kv == (2, 0, 0, 0)


def test_values_of_the_wrong_type_are_none_unless_the_right_one_is_told_at_load(tmp_path: Path) -> None:
    facts = attention_of(tmp_path, "qwen3", attention__key_length=f32(8.5), attention__kv_lora_rank=f32(1))
    assert (facts.key_length, facts.kv_lora_rank) == (8, 1)
