"""KV cache arithmetic against what engines allocate, for every kind of attention."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.gguf.facts import AttentionFacts, AttentionKind, FileKind, LayerFacts, ModelFacts
from app.planner.caches import (
    Extent,
    cache_shape,
    cache_sizes,
    can_be_quantized,
    padded_cells,
    windowed_cells,
)

MIB = 1024**2


def model_with(attention: AttentionFacts, blocks: int) -> ModelFacts:
    layers = tuple(LayerFacts(index, {}) for index in range(blocks))
    return ModelFacts(Path("m.gguf"), FileKind.MODEL, block_count=blocks, layers=layers, attention=attention)


def kv_bytes(model: ModelFacts, n_ctx: int, kv_type: str = "f16", n_ubatch: int = 512) -> int:
    return sum(cache_sizes(cache_shape(model), Extent(n_ctx, n_ubatch, kv_type)).kv)


GQA = model_with(AttentionFacts(AttentionKind.GQA, 8, (2,) * 4, key_length=64, value_length=64), blocks=4)
MLA = model_with(
    AttentionFacts(
        AttentionKind.MLA,
        8,
        (1,) * 4,
        key_length=576,
        value_length=512,
        kv_lora_rank=512,
        rope_dimension_count=64,
    ),
    blocks=4,
)
WINDOWED = model_with(
    AttentionFacts(
        AttentionKind.SLIDING_WINDOW,
        4,
        (1,) * 6,
        key_length=256,
        value_length=256,
        sliding_window=512,
        windowed_layers=(True, True, True, True, True, False),
    ),
    blocks=6,
)
HYBRID = model_with(
    AttentionFacts(
        AttentionKind.HYBRID,
        8,
        (0, 0, 0, 2) * 2,
        key_length=256,
        value_length=256,
        recurrent_layers=(True, True, True, False) * 2,
        state_bytes_per_layer=140_000,
    ),
    blocks=8,
)


@pytest.mark.parametrize(
    ("model", "n_ctx", "expected_mib"),
    [(GQA, 4096, 8), (MLA, 4096, 18), (WINDOWED, 32_768, 37), (HYBRID, 65_536, 256)],
    ids=["gqa", "mla", "sliding-window", "hybrid"],
)
def test_the_cache_is_what_the_engine_allocates(model: ModelFacts, n_ctx: int, expected_mib: int) -> None:
    assert kv_bytes(model, n_ctx) == expected_mib * MIB


@pytest.mark.parametrize("model", [GQA, MLA, WINDOWED, HYBRID])
def test_q8_0_takes_34_bytes_for_32_values(model: ModelFacts) -> None:
    assert kv_bytes(model, 8192, "q8_0") / kv_bytes(model, 8192) == 34 / 64
    assert kv_bytes(model, 8192, "q4_0") / kv_bytes(model, 8192) == 18 / 64


def test_cells_come_in_blocks_of_256() -> None:
    assert padded_cells(1) == 256
    assert padded_cells(8192) == 8192
    assert kv_bytes(GQA, 4000) == kv_bytes(GQA, 4096)


def test_a_window_holds_itself_and_one_batch_and_never_more_than_the_context() -> None:
    assert windowed_cells(8192, 128, 512) == 768  # gpt-oss-20b in the engine's log
    assert windowed_cells(8192, 8192, 512) == 8192  # Llama-4-Scout
    assert windowed_cells(32_768, 8192, 512) == 8704


def test_a_recurrent_layer_keeps_a_state_that_does_not_grow_with_the_context() -> None:
    for n_ctx in (2048, 65_536):
        state = cache_sizes(cache_shape(HYBRID), Extent(n_ctx, 512, "f16")).state
        assert state == (140_000, 140_000, 140_000, 0) * 2


def test_an_mtp_block_keeps_no_cache() -> None:
    layers = (*GQA.layers[:3], replace(GQA.layers[3], is_mtp=True))
    assert kv_bytes(replace(GQA, layers=layers), 4096) == 6 * MIB


def test_windowed_layers_may_have_heads_of_another_length() -> None:
    attention = replace(WINDOWED.attention, key_length_swa=128, value_length_swa=128)
    assert kv_bytes(replace(WINDOWED, attention=attention), 32_768) == (32 + 2.5) * MIB


def test_an_indexer_adds_one_key_per_token_and_layer() -> None:
    attention = replace(MLA.attention, kind=AttentionKind.INDEXED_MLA, indexer_key_length=128)
    assert kv_bytes(replace(MLA, attention=attention), 4096) == 4096 * 4 * (576 + 128) * 2


def test_blocks_that_share_an_indexer_keep_no_keys_for_it() -> None:
    attention = replace(
        MLA.attention,
        kind=AttentionKind.INDEXED_MLA,
        indexer_key_length=128,
        indexed_layers=(True, False, False, False),
    )
    assert kv_bytes(replace(MLA, attention=attention), 4096) == 4096 * (4 * 576 + 128) * 2


def test_deepseek4_keeps_a_window_compressed_rows_and_a_state() -> None:
    ratios = (0, 0) + (4, 128) * 20 + (4,)
    attention = AttentionFacts(
        AttentionKind.COMPRESSED,
        64,
        (1,) * 43,
        key_length=512,
        value_length=512,
        sliding_window=128,
        indexer_key_length=128,
        compress_ratios=ratios,
    )
    sizes = cache_sizes(cache_shape(model_with(attention, 43)), Extent(8192, 512, "f16"))
    # the engine's log: SWA 32.25, CSA 42, HCA 5, indexer 10.5 MiB; states 1.3125, 10, 0.328125
    assert sum(sizes.kv) == (32.25 + 42 + 5 + 10.5) * MIB
    assert sum(sizes.state) == (1.3125 + 10 + 0.328125) * MIB


def test_a_head_that_is_not_whole_blocks_cannot_be_quantized() -> None:
    assert can_be_quantized(cache_shape(GQA))
    odd = replace(GQA, attention=replace(GQA.attention, key_length=80))
    assert not can_be_quantized(cache_shape(odd))


def test_a_file_without_attention_facts_needs_no_cache() -> None:
    assert kv_bytes(model_with(AttentionFacts(), 4), 8192) == 0


def test_absurd_block_counts_cost_no_memory() -> None:
    model = ModelFacts(Path("m.gguf"), FileKind.MODEL, block_count=2**32 - 1, layers=(LayerFacts(10**6, {}),))
    assert len(cache_shape(model).cached_blocks) == 512
