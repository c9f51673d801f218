"""Architectures whose blocks differ: leading dense blocks, interleaved experts, linear attention."""

from tests.models.blueprint import (
    Blueprint,
    Role,
    Row,
    attention,
    common_keys,
    dense,
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


def glm4moe(d: Dimensions) -> Blueprint:
    """Return leading dense blocks, shared experts and, if asked for, a prediction block."""
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.expert_width,
            "expert_shared_count": d.shared,
            "leading_dense_block_count": d.leading_dense,
            "expert_weights_scale": d.scale,
            "expert_weights_norm": True,
            "expert_gating_func": 2,
            "rope.dimension_count": d.rope_width,
        },
    )

    def block(index: int, b: str) -> list[Row]:
        mixer = attention(b, d, has_bias=True)
        if d.has_qk_norm:
            mixer += qk_norm(b, d, is_per_head=True)
        mixer += norm(b, d, "post_attention_norm")
        if index < d.leading_dense:
            return mixer + dense(b, d)
        shared = shared_expert(b, d, d.expert_width * d.shared)
        return mixer + experts(b, d, d.expert_width) + expert_bias(b, d) + shared

    return whole(d, keys, block)


def ernie(d: Dimensions) -> Blueprint:
    """Return leading dense blocks and a shared expert with a width of its own."""
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.expert_width,
            "expert_shared_feed_forward_length": d.shared_width,
            "interleave_moe_layer_step": 1,
            "leading_dense_block_count": d.leading_dense,
            "expert_shared_count": 1,
        },
    )

    def block(index: int, b: str) -> list[Row]:
        mixer = attention(b, d) + norm(b, d)
        if index < d.leading_dense:
            return mixer + dense(b, d)
        shared = shared_expert(b, d, d.shared_width)
        return mixer + experts(b, d, d.expert_width) + expert_bias(b, d) + shared

    return whole(d, keys, block)


def llama4(d: Dimensions) -> Blueprint:
    """Return experts in every `moe_step`-th block only."""
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.expert_width,
            "interleave_moe_layer_step": d.moe_step,
            "rope.dimension_count": d.head_width,
        },
    )

    def block(index: int, b: str) -> list[Row]:
        mixer = attention(b, d) + norm(b, d)
        if (index + 1) % d.moe_step:
            return mixer + dense(b, d)
        return mixer + experts(b, d, d.expert_width) + shared_expert(b, d, d.expert_width)

    return whole(d, keys, block)


def qwen3next(d: Dimensions) -> Blueprint:
    """Return linear attention in all blocks but every `full_interval`-th."""
    space = d.state_space
    keys = common_keys(
        d,
        {
            "expert_feed_forward_length": d.expert_width,
            "expert_shared_feed_forward_length": d.shared_width,
            "full_attention_interval": d.full_interval,
            "ssm.conv_kernel": space.conv_kernel,
            "ssm.inner_size": space.inner_width,
            "ssm.state_size": space.state,
            "ssm.time_step_rank": space.value_heads,
            "ssm.group_count": space.key_heads,
            "rope.dimension_count": d.rope_width,
        },
    )

    def block(index: int, b: str) -> list[Row]:
        is_full = (index + 1) % d.full_interval == 0
        full = attention(b, d, q_factor=2) + qk_norm(b, d, is_per_head=True) if is_full else []
        mixer = (full or _linear_attention(b, d)) + norm(b, d, "post_attention_norm")
        return mixer + experts(b, d, d.expert_width) + gated_shared_expert(b, d)

    return whole(d, keys, block)


def _linear_attention(block: str, d: Dimensions) -> list[Row]:
    space = d.state_space
    return rows(
        block,
        ("attn_norm.weight", (d.embedding,), Role.NORM),
        ("attn_qkv.weight", (d.embedding, space.mixed_width), Role.ATTENTION),
        ("attn_gate.weight", (d.embedding, space.inner_width), Role.ATTENTION),
        ("ssm_conv1d.weight", (space.conv_kernel, space.mixed_width), Role.PLAIN),
        ("ssm_dt.bias", (space.value_heads,), Role.BIAS),
        ("ssm_a", (space.value_heads,), Role.DECAY),
        ("ssm_ba.weight", (d.embedding, 2 * space.value_heads), Role.PLAIN),
        ("ssm_norm.weight", (space.state,), Role.NORM),
        ("ssm_out.weight", (space.inner_width, d.embedding), Role.ATTENTION),
    )
