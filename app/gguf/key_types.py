"""How engines want keys stored, and what is left of a count whose type a hex editor overwrote.

llama.cpp takes each key in one type only and refuses the file otherwise (`GGUFMeta::GKV::get_kv`). A recipe
for mending `expert_count` that goes round overwrites the 4 bytes behind the key: in GGUF those are the type
of the value, not the value.
"""

import struct
from dataclasses import dataclass
from typing import Final

from app.gguf.cursor import ByteCursor, GgufError

U32_ID: Final = 4

COUNT_KEYS: Final = frozenset(
    {
        *("context_length", "embedding_length", "block_count", "vocab_size", "nextn_predict_layers"),
        *("pooling_type", "expert_count", "expert_used_count", "expert_shared_count"),
        *("expert_group_count", "expert_group_used_count", "expert_gating_func", "feed_forward_length"),
        *("expert_feed_forward_length", "expert_shared_feed_forward_length", "leading_dense_block_count"),
        *("interleave_moe_layer_step", "full_attention_interval", "hash_layer_count"),
        *("attention.head_count", "attention.head_count_kv", "attention.key_length"),
        *("attention.value_length", "attention.key_length_swa", "attention.value_length_swa"),
        *("attention.sliding_window", "attention.key_length_mla", "attention.value_length_mla"),
        *("attention.q_lora_rank", "attention.kv_lora_rank", "attention.indexer.head_count"),
        *("attention.indexer.key_length", "attention.indexer.top_k", "rope.dimension_count"),
        *("rope.scaling.original_context_length", "token_shift_count", "wkv.head_size"),
        *("ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.group_count", "ssm.time_step_rank"),
        *("shortconv.l_cache", "kda.head_dim"),
    }
)
"""Stored as `u32`, or as an array with one number per layer."""

FLOAT_KEYS: Final = frozenset(
    {
        *("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "attention.scale"),
        *("attention.group_norm_epsilon", "attention.clamp_kqv", "attention.max_alibi_bias"),
        *("attention.output_scale", "attention.value_scale", "attention.temperature_scale"),
        *("attn_logit_softcapping", "final_logit_softcapping", "router_logit_softcapping"),
        *("rope.freq_base", "rope.freq_base_swa", "rope.scaling.factor", "rope.scaling.attn_factor"),
        *("rope.scaling.yarn_log_multiplier", "logit_scale", "residual_scale", "embedding_scale"),
        *("expert_weights_scale", "expert_group_scale"),
    }
)

_BOOL_KEYS: Final = frozenset({"expert_weights_norm", "attention.causal", "use_parallel_residual"})

_FULL_NAMES: Final = {
    **dict.fromkeys(("general.name", "tokenizer.ggml.model", "tokenizer.ggml.pre"), "str"),
    **dict.fromkeys(("tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"), "bool"),
    **dict.fromkeys(("tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"), "u32"),
    **dict.fromkeys(("tokenizer.ggml.eot_token_id", "tokenizer.ggml.padding_token_id"), "u32"),
    **dict.fromkeys(("general.alignment", "general.file_type"), "u32"),
}

_ONE_FOR_ALL: Final = frozenset({"context_length", "embedding_length", "block_count"})
"""Counts that no architecture takes as a list."""

_LONGEST_NAME: Final = 256
_U64 = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class OverwrittenType:
    """A count that reads well as `u32`, and not at all by the type in front of it.

    Attributes:
        type_id: What stands where the type should: probably the number that somebody meant to write.
        offset_bytes: Of those 4 bytes, from the start of the file; the value follows them.
        value: The 4 bytes behind them, as `u32`.
    """

    key: str
    type_id: int
    offset_bytes: int
    value: int


def expected_type(full_name: str, architecture: str | None) -> str | None:
    """Return the type engines want for a key, `u32`, `f32`, `bool` or `str`; None when any will do."""
    if full_name in _FULL_NAMES:
        return _FULL_NAMES[full_name]
    prefix = f"{architecture}."
    if architecture is None or not full_name.startswith(prefix):
        return None
    name = full_name.removeprefix(prefix)
    if name in COUNT_KEYS:
        return "u32"
    if name in FLOAT_KEYS:
        return "f32"
    return "bool" if name in _BOOL_KEYS else None


def is_never_list(full_name: str, architecture: str | None) -> bool:
    """Return whether engines refuse a list as the value of a key."""
    return full_name in _FULL_NAMES or full_name.removeprefix(f"{architecture}.") in _ONE_FOR_ALL


def is_count(full_name: str) -> bool:
    """Return whether a key is a count by its name without the prefix, whatever the architecture is."""
    return full_name.partition(".")[2] in COUNT_KEYS


def is_name_next(cursor: ByteCursor) -> bool:
    """Return whether the name of a key or a tensor begins here, or nothing more comes; stays where it is."""
    start = cursor.offset
    if cursor.is_at_end():
        return True
    try:
        (length,) = _U64.unpack(cursor.take(_U64.size))
        if not 0 < length <= _LONGEST_NAME:
            return False
        return all(0x20 <= char < 0x7F for char in cursor.take(length))
    except GgufError:
        return False
    finally:
        cursor.seek(start)
