"""Headers no converter would write, for tests that read foreign bytes."""

from hypothesis import strategies as st

from tests.gguf_bytes import Keys, Tensor, array, f32, flag, i32, text, u32, u64

_NAMES = st.sampled_from(
    [
        "block_count",
        "expert_count",
        "expert_used_count",
        "nextn_predict_layers",
        "embedding_length",
        "pooling_type",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.sliding_window",
        "attention.compress_ratios",
        "attention.sliding_window_pattern",
        "attention.shared_kv_layers",
        "full_attention_interval",
        "ssm.conv_kernel",
        "ssm.inner_size",
        "ssm.state_size",
        "wkv.head_size",
        "context_length",
        "vocab_size",
        "attention.key_length",
        "attention.value_length",
        "attention.kv_lora_rank",
        "attention.key_length_mla",
        "attention.value_length_mla",
        "rope.dimension_count",
        "kda.head_dim",
        "shortconv.l_cache",
    ]
)
_VALUES = st.one_of(
    st.integers(0, 2**32 - 1).map(u32),
    st.integers(0, 12).map(u32),
    st.integers(-(2**31), 2**31 - 1).map(i32),
    st.integers(0, 2**64 - 1).map(u64),
    st.floats(width=32, allow_nan=True).map(f32),
    st.booleans().map(flag),
    st.text(max_size=8).map(text),
    st.lists(st.integers(0, 300), max_size=9).map(lambda numbers: array("u32", numbers)),
    st.lists(st.integers(-300, 300), max_size=9).map(lambda numbers: array("i32", numbers)),
    st.lists(st.booleans(), max_size=9).map(lambda flags: array("bool", flags)),
    st.just(array("u32", [1] * 2_000)),
)
_TENSOR_NAMES = st.sampled_from(
    [
        "token_embd.weight",
        "blk.0.ffn_up_exps.weight",
        "blk.1.ffn_down_exps.weight",
        "blk.0.ffn_up.3.weight",
        "d2t",
        "blk..x",
        "blk.0.ssm_a",
        "blk.1.attn_k.weight",
        "blk.999999.ffn_gate_inp.weight",
        "v.1",
    ]
)
_TENSORS = st.builds(
    Tensor,
    name=_TENSOR_NAMES,
    shape=st.lists(st.integers(0, 2**63), max_size=5).map(tuple),
    type_id=st.integers(0, 60),
    offset_bytes=st.integers(0, 2**64 - 1),
)


def any_architecture_keys() -> st.SearchStrategy[Keys]:
    """Return architecture keys without their prefix, each with any value."""
    return st.dictionaries(_NAMES, _VALUES)


def any_tensors() -> st.SearchStrategy[list[Tensor]]:
    """Return a short tensor table, most of it absurd."""
    return st.lists(_TENSORS, max_size=6)
