"""Keys of a header -> how keys and values are cached.

Defaults are those of llama.cpp's `load_hparams`; a per-layer key may be an array or one number for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.gguf.facts import AttentionFacts, AttentionKind, TensorInfo
from app.gguf.metadata import Metadata
from app.gguf.tensor_classes import split_block

F32_BYTES: Final = 4

MAX_LAYERS: Final = 512
"""llama.cpp's `LLAMA_MAX_LAYERS`; per-layer facts are not made for absurd counts."""


@dataclass(frozen=True, slots=True)
class WindowPattern:
    """Which layers are windowed: of every `period` one is not, the last, or the first if `full_first`.

    Attributes:
        window: Tokens, where the code and not the file gives the window.
    """

    period: int
    full_first: bool = False
    window: int | None = None

    def layers(self, count: int) -> tuple[bool, ...]:
        """Return True for each windowed layer; period 0 windows all, 1 none (`set_swa_pattern`)."""
        if self.period == 0:
            return (True,) * count
        full = 0 if self.full_first else self.period - 1
        return tuple(index % self.period != full for index in range(count))


_PATTERNS_OF_CODE: Final[Mapping[str, WindowPattern]] = {
    "afmoe": WindowPattern(4),
    "cohere2": WindowPattern(4),
    "deepseek4": WindowPattern(0),
    "exaone-moe": WindowPattern(4),
    "exaone4": WindowPattern(4),
    "gemma-embedding": WindowPattern(6),
    "gemma2": WindowPattern(2),
    "gemma3": WindowPattern(6),
    "gemma3n": WindowPattern(5),
    "gpt-oss": WindowPattern(2),
    "llama4": WindowPattern(4, window=8192),
    "modern-bert": WindowPattern(3, full_first=True),
    "olmo2": WindowPattern(4),
    "plamo3": WindowPattern(8),
    "smallthinker": WindowPattern(4, full_first=True),
}
"""Older files carry no pattern key: llama.cpp has these in its code. Any other such file counts as
unwindowed, which plans too much memory rather than too little."""

_SHARES_INDEXERS: Final = "glm-dsa"
_SHARES_FROM_CONTEXT: Final = 1_048_576
_LEADING_INDEXERS: Final = 2
_INDEXER_PERIOD: Final = 4
"""GLM-5.2 tells its files from those of GLM-5 and 5.1 by the context only: then blocks 0, 1, 2, 6, 10, ...
have an indexer (llama.cpp: `GLM_5_2_DEFAULT_INDEXER_TYPES`)."""

_RECURRENT_TENSORS: Final = ("ssm_", "shortconv.", "time_mix_")
_CACHED_TENSORS: Final = ("attn_k.", "attn_k_b.", "attn_kv_a_mqa.", "attn_kv.")


def attention_facts(metadata: Metadata, layer_count: int, tensors: Sequence[TensorInfo]) -> AttentionFacts:
    """Return what sizes cache and state of a model with `layer_count` blocks."""
    count = min(layer_count, MAX_LAYERS)
    recurrent, cached = _mixers(metadata, count, tensors)
    heads = metadata.integer("attention.head_count")
    kv_heads = metadata.per_layer("attention.head_count_kv", count) or (heads or 0,) * count
    kv_heads = tuple(n if is_cached else 0 for n, is_cached in zip(kv_heads, cached, strict=True))
    window = _window(metadata)
    windowed = _windowed_layers(metadata, count) if window else ()
    key_length, value_length = _head_lengths(metadata, heads)
    facts = AttentionFacts(
        head_count=heads,
        head_count_kv=kv_heads,
        key_length=key_length,
        value_length=value_length,
        key_length_swa=metadata.integer("attention.key_length_swa"),
        value_length_swa=metadata.integer("attention.value_length_swa"),
        kv_lora_rank=metadata.integer("attention.kv_lora_rank"),
        rope_dimension_count=metadata.integer("rope.dimension_count"),
        indexer_key_length=metadata.integer("attention.indexer.key_length"),
        sliding_window=window,
        windowed_layers=windowed,
        recurrent_layers=recurrent,
        state_bytes_per_layer=_state_bytes(metadata) if any(recurrent) else None,
        compress_ratios=metadata.per_layer("attention.compress_ratios", count),
        indexed_layers=_indexed_layers(metadata, count),
    )
    return replace(facts, kind=_kind(facts, metadata))


def _kind(facts: AttentionFacts, metadata: Metadata) -> AttentionKind:
    if any(facts.recurrent_layers):
        return AttentionKind.HYBRID if any(facts.head_count_kv) else AttentionKind.RECURRENT
    if facts.compress_ratios:
        return AttentionKind.COMPRESSED
    if metadata.integer("attention.key_length_mla") and metadata.integer("attention.value_length_mla"):
        return AttentionKind.INDEXED_MLA if facts.indexer_key_length else AttentionKind.MLA
    if any(facts.windowed_layers):
        return AttentionKind.SLIDING_WINDOW
    return AttentionKind.GQA if any(facts.head_count_kv) else AttentionKind.NONE


def _head_lengths(metadata: Metadata, heads: int | None) -> tuple[int | None, int | None]:
    embedding = metadata.integer("embedding_length")
    even_share = embedding // heads if embedding and heads else None
    return (
        metadata.integer("attention.key_length") or even_share,
        metadata.integer("attention.value_length") or even_share,
    )


def _window(metadata: Metadata) -> int | None:
    in_file = metadata.integer("attention.sliding_window")
    known = _PATTERNS_OF_CODE.get(metadata.architecture or "")
    return known.window if in_file is None and known else in_file


def _windowed_layers(metadata: Metadata, count: int) -> tuple[bool, ...]:
    pattern = metadata.raw("attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        return tuple(bool(flag) for flag in metadata.per_layer("attention.sliding_window_pattern", count))
    period = metadata.integer("attention.sliding_window_pattern")
    known = _PATTERNS_OF_CODE.get(metadata.architecture or "")
    if period is not None:
        return WindowPattern(period, full_first=known is not None and known.full_first).layers(count)
    return known.layers(count) if known else ()


def _indexed_layers(metadata: Metadata, count: int) -> tuple[bool, ...]:
    if types := metadata.per_layer("attention.indexer.types", count):
        return tuple(bool(kind) for kind in types)
    context = metadata.integer("context_length") or 0
    if metadata.architecture != _SHARES_INDEXERS or context < _SHARES_FROM_CONTEXT:
        return ()
    return tuple(
        i < _LEADING_INDEXERS or (i - _LEADING_INDEXERS) % _INDEXER_PERIOD == 0 for i in range(count)
    )


def _mixers(
    metadata: Metadata, count: int, tensors: Sequence[TensorInfo]
) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Return which layers keep a recurrent state, and which a cache; layers may keep both."""
    trunk = count - (metadata.integer("nextn_predict_layers") or 0)
    interval = metadata.integer("full_attention_interval")
    has_state, has_cache = _layers_by_tensors(tensors)
    if interval:
        recurrent = tuple(i < trunk and (i + 1) % interval != 0 for i in range(count))
        return recurrent, tuple(not state for state in recurrent)
    kv_heads = metadata.per_layer("attention.head_count_kv", count)
    shared_from = trunk - (metadata.integer("attention.shared_kv_layers") or 0)
    if not has_state:
        return (False,) * count, tuple(i < shared_from or i >= trunk for i in range(count))
    recurrent = tuple(i in has_state for i in range(count))
    cached = tuple(i in has_cache and (not kv_heads or kv_heads[i] > 0) for i in range(count))
    return recurrent, cached


def _layers_by_tensors(tensors: Sequence[TensorInfo]) -> tuple[set[int], set[int]]:
    has_state, has_cache, has_merged = set(), set(), set()
    for tensor in tensors:
        index, rest = split_block(tensor.name)
        if index is None:
            continue
        if rest.startswith(_RECURRENT_TENSORS):
            has_state.add(index)
        elif rest.startswith(_CACHED_TENSORS):
            has_cache.add(index)
        elif rest.startswith("attn_qkv."):
            has_merged.add(index)
    return has_state, has_cache | (
        has_merged - has_state
    )  # linear attention merges its inputs under that name too


def _state_bytes(metadata: Metadata) -> int | None:
    """Return the f32 bytes of one recurrent layer's state; llama.cpp's `n_embd_r` plus `n_embd_s`."""
    embedding = metadata.integer("embedding_length") or 0
    conv = (metadata.integer("ssm.conv_kernel") or 1) - 1
    if head := metadata.integer("wkv.head_size"):
        shifts = metadata.integer("token_shift_count")
        return (embedding * (2 if shifts is None else shifts) + embedding * head) * F32_BYTES
    if window := metadata.integer("shortconv.l_cache"):
        return embedding * (window - 1) * F32_BYTES
    if head := metadata.integer("kda.head_dim"):
        heads = metadata.integer("attention.head_count") or 0
        return (3 * conv * heads * head + heads * head * head) * F32_BYTES
    inner, state = metadata.integer("ssm.inner_size"), metadata.integer("ssm.state_size")
    if inner is None or state is None:
        return None
    groups = metadata.integer("ssm.group_count") or 0
    return (conv * (inner + 2 * groups * state) + state * inner) * F32_BYTES
