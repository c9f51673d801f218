"""How many bytes the KV cache and the recurrent state take, block by block, for every kind of attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.gguf.facts import AttentionFacts, AttentionKind, ModelFacts
from app.gguf.quants import QUANT_TYPES
from app.options import KV_CACHE_TYPES
from app.planner.sizes import block_count

CELL_PADDING: Final = 256
"""llama.cpp rounds the cells of every cache up to this (llama-kv-cache.cpp)."""

QUANTIZED_BLOCK: Final = 32
STATE_ELEMENT_BYTES: Final = 4
RATIO_HCA: Final = 128
"""`attention.compress_ratios` of deepseek4 layers without an indexer; the indexed ones say 4."""

_BLOCK_SIZES: Final[Mapping[str, tuple[int, int]]] = {
    quant.name.lower(): (quant.block_bytes, quant.block_elements)
    for quant in QUANT_TYPES.values()
    if quant.name.lower() in KV_CACHE_TYPES
}


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What sizes the caches of one model, whatever the context.

    Attributes:
        cached_blocks: Per block, False for MTP blocks: plain decoding does not run them.
        row_elements: Per block, elements of K and V per token; MLA stores K only; 0 without a cache.
        factor: What engines' own figures have taught to multiply with.
    """

    attention: AttentionFacts
    cached_blocks: tuple[bool, ...]
    row_elements: tuple[int, ...]
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class CacheSizes:
    """Bytes per block that grow with the context (`kv`) and that do not (`state`)."""

    kv: tuple[int, ...]
    state: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the caches reach: context and physical batch in tokens, and their element type.

    Attributes:
        flash_attn: Attention without a score for each cell in memory.
        swa_full: Layers with a sliding window keep the whole context too.
    """

    n_ctx: int
    n_ubatch: int
    kv_type: str
    flash_attn: bool = True
    swa_full: bool = False


def cache_shape(model: ModelFacts) -> CacheShape:
    """Return the part of the cache arithmetic that the model alone decides."""
    blocks = range(block_count(model))
    mtp = {layer.index for layer in model.layers if layer.is_mtp}
    return CacheShape(
        attention=model.attention,
        cached_blocks=tuple(block not in mtp for block in blocks),
        row_elements=tuple(_row_elements(model, block) for block in blocks),
    )


def can_be_quantized(shape: CacheShape) -> bool:
    """Say whether every key and value is whole blocks of a quantised type; else the engine refuses it."""
    attention = shape.attention
    full = (attention.key_length, attention.value_length)
    windowed = (attention.key_length_swa, attention.value_length_swa)
    return all((length or 0) % QUANTIZED_BLOCK == 0 for length in full + windowed)


def cache_sizes(shape: CacheShape, extent: Extent) -> CacheSizes:
    """Return cache and state bytes per block for one sequence.

    Compared with the engine's own log (llama-cpp-python 0.3.36, no_alloc, contexts 2048 to 32768, true-size
    headers of Qwen3-30B/235B, GLM-4.5-Air, DeepSeek-V2-Lite/V3/V4-Flash, gpt-oss-20b, Qwen3-Next-80B,
    Llama-4-Scout, Mixtral): equal; GLM-5.2 too, where 21 of 78 blocks have an indexer cache (b10434).
    """
    sizes = [
        _block_bytes(shape, block, extent) if cached else (0, 0)
        for block, cached in enumerate(shape.cached_blocks)
    ]
    if shape.factor != 1.0:
        sizes = [(round(kv * shape.factor), round(state * shape.factor)) for kv, state in sizes]
    return CacheSizes(tuple(kv for kv, _ in sizes), tuple(state for _, state in sizes))


def padded_cells(tokens: int) -> int:
    """Return the cells llama.cpp allocates for `tokens` of one sequence."""
    return -(-tokens // CELL_PADDING) * CELL_PADDING


def windowed_cells(n_ctx: int, window: int, n_ubatch: int) -> int:
    """Return the cells of a sliding-window layer with `swa_full` off (llama-kv-cache-iswa.cpp)."""
    return padded_cells(min(n_ctx, window + n_ubatch))


def row_bytes(elements: int, kv_type: str) -> int:
    """Return the bytes of `elements` cached values of one token."""
    block_bytes, block_elements = _BLOCK_SIZES[kv_type]
    return elements * block_bytes // block_elements


def _block_bytes(shape: CacheShape, block: int, extent: Extent) -> tuple[int, int]:
    attention = shape.attention
    if attention.kind is AttentionKind.COMPRESSED:
        return _compressed_bytes(shape, block, extent)
    state = attention.state_bytes_per_layer or 0 if _says(attention.recurrent_layers, block) else 0
    is_windowed = attention.sliding_window and _says(attention.windowed_layers, block)
    if is_windowed and attention.sliding_window and not extent.swa_full:
        cells = windowed_cells(extent.n_ctx, attention.sliding_window, extent.n_ubatch)
    else:
        cells = padded_cells(extent.n_ctx)
    return cells * row_bytes(shape.row_elements[block], extent.kv_type), state


def _compressed_bytes(shape: CacheShape, block: int, extent: Extent) -> tuple[int, int]:
    """Return cache and state of a deepseek4 block: a window of rows, compressed rows, and a running state.

    Source: the engine's log for DeepSeek-V4-Flash at 8192 tokens, ubatch 512: SWA 768 cells; CSA 2048 cells,
    state 8 x 1024; HCA 256 cells, state 128 x 512; indexer 2048 cells, state 8 x 256; states of two f32 each.
    """
    attention = shape.attention
    width = attention.key_length or 0
    ratio = attention.compress_ratios[block] if block < len(attention.compress_ratios) else 0
    cells = windowed_cells(extent.n_ctx, attention.sliding_window or 0, extent.n_ubatch)
    kv = cells * row_bytes(width, extent.kv_type)
    if not ratio:
        return kv, 0
    rows = padded_cells(-(-extent.n_ctx // ratio))
    if ratio == RATIO_HCA:
        return kv + rows * row_bytes(width, extent.kv_type), 2 * STATE_ELEMENT_BYTES * ratio * width
    width += attention.indexer_key_length or 0
    return kv + rows * row_bytes(width, extent.kv_type), 2 * STATE_ELEMENT_BYTES * 2 * ratio * 2 * width


def _row_elements(model: ModelFacts, block: int) -> int:
    attention = model.attention
    per_block = attention.head_count_kv
    heads = per_block[block] if block < len(per_block) else 0
    if not heads or attention.kind in (AttentionKind.NONE, AttentionKind.RECURRENT):
        return 0
    if attention.kind is not AttentionKind.GQA and attention.kv_lora_rank:
        latent = attention.kv_lora_rank + (attention.rope_dimension_count or 0)
        return latent + (attention.indexer_key_length or 0 if _has_indexer(attention, block) else 0)
    key_length, value_length = attention.key_length, attention.value_length
    if _says(attention.windowed_layers, block):
        key_length = attention.key_length_swa or key_length
        value_length = attention.value_length_swa or value_length
    return heads * ((key_length or 0) + (value_length or 0))


def _has_indexer(attention: AttentionFacts, block: int) -> bool:
    is_sparse = attention.kind is AttentionKind.INDEXED_MLA
    return is_sparse and (not attention.indexed_layers or _says(attention.indexed_layers, block))


def _says(flags: Sequence[bool], block: int) -> bool:
    return block < len(flags) and flags[block]
