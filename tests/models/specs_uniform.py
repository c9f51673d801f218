"""Architectures whose blocks are all alike: attention, then experts in every block."""

from tests.models.blueprint import (
    Blueprint,
    Role,
    Row,
    attention,
    common_keys,
    expert_bias,
    experts,
    gated_shared_expert,
    norm,
    qk_norm,
    rows,
    shared_expert,
    whole,
)
from tests.models.dimensions import Dimensions


def llama(d: Dimensions) -> Blueprint:
    """Return Mixtral's layout: experts as wide as `feed_forward_length` says."""
    keys = common_keys(d, {"rope.dimension_count": d.head_width})
    return whole(d, keys, lambda _, b: attention(b, d) + norm(b, d) + experts(b, d, d.ffn_width))


def qwen2moe(d: Dimensions) -> Blueprint:
    """Return a shared expert with its gate, and biases in attention."""
    widths = {
        "expert_feed_forward_length": d.expert_width,
        "expert_shared_feed_forward_length": d.shared_width,
    }

    def block(_: int, b: str) -> list[Row]:
        routed = experts(b, d, d.expert_width)
        return attention(b, d, has_bias=True) + norm(b, d) + routed + gated_shared_expert(b, d)

    return whole(d, common_keys(d, widths), block)


def qwen3moe(d: Dimensions) -> Blueprint:
    """Return norms per head and no shared expert."""
    keys = common_keys(d, {"expert_feed_forward_length": d.expert_width})

    def block(_: int, b: str) -> list[Row]:
        mixer = attention(b, d) + qk_norm(b, d, is_per_head=True)
        return mixer + norm(b, d) + experts(b, d, d.expert_width)

    return whole(d, keys, block)


def olmoe(d: Dimensions) -> Blueprint:
    """Return norms over all heads at once."""

    def block(_: int, b: str) -> list[Row]:
        mixer = attention(b, d) + qk_norm(b, d, is_per_head=False)
        return mixer + norm(b, d) + experts(b, d, d.ffn_width)

    return whole(d, common_keys(d, {}), block)


def gpt_oss(d: Dimensions) -> Blueprint:
    """Return biases in router and experts, sinks in attention."""
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.expert_width,
            "attention.sliding_window": d.window,
            "rope.dimension_count": d.head_width,
        },
    )

    def block(_: int, b: str) -> list[Row]:
        mixer = attention(b, d, has_bias=True) + norm(b, d, "post_attention_norm")
        biases = rows(
            b,
            ("attn_output.bias", (d.embedding,), Role.BIAS),
            ("attn_sinks.weight", (d.heads,), Role.PLAIN),
            ("ffn_gate_inp.bias", (d.experts,), Role.BIAS),
            ("ffn_gate_exps.bias", (d.expert_width, d.experts), Role.BIAS),
            ("ffn_up_exps.bias", (d.expert_width, d.experts), Role.BIAS),
            ("ffn_down_exps.bias", (d.embedding, d.experts), Role.BIAS),
        )
        return mixer + experts(b, d, d.expert_width) + biases

    return whole(d, keys, block)


def dbrx(d: Dimensions) -> Blueprint:
    """Return queries, keys and values in one matrix."""
    keys = common_keys(d, {"attention.layer_norm_epsilon": 1e-5, "attention.clamp_kqv": 8.0})

    def block(_: int, b: str) -> list[Row]:
        mixer = rows(
            b,
            ("attn_norm.weight", (d.embedding,), Role.NORM),
            ("attn_qkv.weight", (d.embedding, d.embedding + 2 * d.kv_width), Role.ATTENTION),
            ("attn_output.weight", (d.embedding, d.embedding), Role.ATTENTION),
            ("attn_output_norm.weight", (d.embedding,), Role.NORM),
        )
        return mixer + experts(b, d, d.ffn_width)

    return whole(d, keys, block)


def granitemoe(d: Dimensions) -> Blueprint:
    """Return the llama layout with factors for every stream."""
    factors = {
        "logit_scale": 1.0,
        "residual_scale": 1.0,
        "embedding_scale": 1.0,
        "attention.scale": d.head_width**-0.5,
        "rope.dimension_count": d.head_width,
    }
    keys = common_keys(d, factors)
    return whole(d, keys, lambda _, b: attention(b, d) + norm(b, d) + experts(b, d, d.ffn_width))


def hunyuan(d: Dimensions) -> Blueprint:
    """Return a shared expert beside experts as wide as a dense layer."""
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.expert_width,
            "expert_shared_feed_forward_length": d.shared_width,
        },
    )

    def block(_: int, b: str) -> list[Row]:
        mixer = attention(b, d) + qk_norm(b, d, is_per_head=True) + norm(b, d)
        return mixer + experts(b, d, d.ffn_width) + shared_expert(b, d, d.shared_width)

    return whole(d, keys, block)


def minimax(d: Dimensions) -> Blueprint:
    """Return sigmoid routing with a bias, which is required."""
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.ffn_width,
            "expert_gating_func": 2,
            "rope.dimension_count": d.rope_width,
        },
    )

    def block(_: int, b: str) -> list[Row]:
        mixer = attention(b, d) + qk_norm(b, d, is_per_head=False) + norm(b, d)
        return mixer + experts(b, d, d.ffn_width) + expert_bias(b, d)

    return whole(d, keys, block)


def phimoe(d: Dimensions) -> Blueprint:
    """Return a bias at every matrix and norm."""
    keys = common_keys(d, {"rope.dimension_count": d.head_width})

    def block(_: int, b: str) -> list[Row]:
        biases = rows(
            b,
            ("attn_norm.bias", (d.embedding,), Role.BIAS),
            ("attn_output.bias", (d.embedding,), Role.BIAS),
            ("ffn_norm.bias", (d.embedding,), Role.BIAS),
        )
        return attention(b, d, has_bias=True) + norm(b, d) + experts(b, d, d.ffn_width) + biases

    after = (
        Row("output_norm.bias", (d.embedding,), Role.BIAS),
        Row("output.bias", (d.tokens,), Role.BIAS),
    )
    return whole(d, keys, block, *after)
