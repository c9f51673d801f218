"""Architectures that keep compressed keys and values: the DeepSeek and GLM-5 families."""

from tests.models.blueprint import (
    Blueprint,
    Content,
    Role,
    Row,
    common_keys,
    dense,
    expert_bias,
    experts,
    norm,
    rows,
    shared_expert,
    whole,
)
from tests.models.dimensions import Dimensions


def deepseek2(d: Dimensions) -> Blueprint:
    """Return DeepSeek V2, V3, R1 and Kimi K2: latent attention with its up-projection stored apart."""
    return whole(d, _latent_keys(d), lambda index, b: _latent(b, d) + _feed_forward(index, b, d))


def glm_dsa(d: Dimensions) -> Blueprint:
    """Return latent attention with an indexer that picks what is attended to."""
    keys = _latent_keys(d) | _indexer_keys(d)

    def block(index: int, b: str) -> list[Row]:
        small = d.indexer
        picker = rows(
            b,
            ("indexer.k_norm.weight", (small.width,), Role.NORM),
            ("indexer.k_norm.bias", (small.width,), Role.BIAS),
            ("indexer.proj.weight", (d.embedding, small.heads), Role.PLAIN),
            ("indexer.attn_k.weight", (d.embedding, small.width), Role.ATTENTION),
            ("indexer.attn_q_b.weight", (d.latent.q_rank, small.heads * small.width), Role.ATTENTION),
        )
        return _latent(b, d) + picker + _feed_forward(index, b, d)

    return whole(d, keys, block)


def _latent_keys(d: Dimensions) -> dict[str, Content]:
    latent = d.latent
    keys: dict[str, Content] = {
        "expert_feed_forward_length": d.expert_width,
        "expert_shared_count": d.shared,
        "leading_dense_block_count": d.leading_dense,
        "expert_weights_scale": d.scale,
        "expert_weights_norm": d.normalizes,
        "expert_gating_func": d.gating,
        "attention.kv_lora_rank": latent.kv_rank,
        "attention.key_length_mla": latent.plain_width + d.rope_width,
        "attention.value_length_mla": latent.value_width,
        "rope.dimension_count": d.rope_width,
        "attention.head_count_kv": 1,
        "attention.key_length": latent.kv_rank + d.rope_width,
        "attention.value_length": latent.kv_rank,
    }
    if latent.q_rank:
        keys["attention.q_lora_rank"] = latent.q_rank
    return common_keys(d, keys)


def _indexer_keys(d: Dimensions) -> dict[str, Content]:
    return {
        "attention.indexer.head_count": d.indexer.heads,
        "attention.indexer.key_length": d.indexer.width,
        "attention.indexer.top_k": d.indexer.top_k,
    }


def _latent(block: str, d: Dimensions) -> list[Row]:
    latent, head = d.latent, d.latent.plain_width + d.rope_width
    rank, width = latent.kv_rank, d.embedding
    queries = rows(block, ("attn_q.weight", (width, d.heads * head), Role.ATTENTION))
    if latent.q_rank:
        queries = rows(
            block,
            ("attn_q_a_norm.weight", (latent.q_rank,), Role.NORM),
            ("attn_q_a.weight", (width, latent.q_rank), Role.ATTENTION),
            ("attn_q_b.weight", (latent.q_rank, d.heads * head), Role.ATTENTION),
        )
    return queries + rows(
        block,
        ("attn_norm.weight", (width,), Role.NORM),
        ("attn_kv_a_norm.weight", (rank,), Role.NORM),
        ("attn_kv_a_mqa.weight", (width, rank + d.rope_width), Role.ATTENTION),
        ("attn_k_b.weight", (latent.plain_width, rank, d.heads), Role.ATTENTION),
        ("attn_v_b.weight", (rank, latent.value_width, d.heads), Role.ATTENTION),
        ("attn_output.weight", (d.heads * latent.value_width, width), Role.ATTENTION),
        ("ffn_norm.weight", (width,), Role.NORM),
    )


def _feed_forward(index: int, block: str, d: Dimensions) -> list[Row]:
    if index < d.leading_dense:
        return dense(block, d)
    found = experts(block, d, d.expert_width) + shared_expert(block, d, d.expert_width * d.shared)
    return found + expert_bias(block, d) if d.has_expert_bias else found


def deepseek4(d: Dimensions) -> Blueprint:
    """Return DeepSeek-V4: four residual streams, compressed caches, the first blocks routed by token."""
    streams, wide = d.streams, d.streams.count * d.embedding
    keys: dict[str, Content] = {
        "expert_feed_forward_length": d.expert_width,
        "expert_shared_count": d.shared,
        "expert_weights_scale": 1.5,
        "expert_weights_norm": True,
        "expert_gating_func": 4,
        "swiglu_clamp_exp": (10.0,) * d.layers,
        "hash_layer_count": streams.hash_layers,
        "attention.q_lora_rank": d.latent.q_rank,
        "attention.sliding_window": d.window,
        "attention.output_group_count": streams.output_groups,
        "attention.output_lora_rank": streams.output_rank,
        "attention.compress_rope_freq_base": 160000.0,
        "attention.compress_ratios": streams.compress_ratios[: d.layers],
        "hyper_connection.count": streams.count,
        "hyper_connection.sinkhorn_iterations": streams.sinkhorn,
        "hyper_connection.epsilon": 1e-6,
        "rope.dimension_count": d.rope_width,
        "attention.head_count_kv": 1,
    }

    def block(index: int, b: str) -> list[Row]:
        mixer = _grouped(b, d) + _connections(b, d) + _compressor(index, b, d)
        routed = experts(b, d, d.expert_width) + shared_expert(b, d, d.expert_width * d.shared) + norm(b, d)
        if index < streams.hash_layers:
            return mixer + routed + rows(b, ("ffn_gate_tid2eid.weight", (d.used, d.tokens), Role.HASH))
        return mixer + routed + expert_bias(b, d)

    after = (
        Row("output_hc_fn.weight", (wide, streams.count), Role.PLAIN),
        Row("output_hc_base.weight", (streams.count,), Role.PLAIN),
        Row("output_hc_scale.weight", (1,), Role.PLAIN),
    )
    return whole(d, common_keys(d, keys | _indexer_keys(d)), block, *after)


def _grouped(block: str, d: Dimensions) -> list[Row]:
    width, rank, groups = d.embedding, d.latent.q_rank, d.streams.output_groups
    small = d.streams.output_rank * groups
    return rows(
        block,
        ("attn_norm.weight", (width,), Role.NORM),
        ("attn_sinks.weight", (d.heads,), Role.PLAIN),
        ("attn_q_a.weight", (width, rank), Role.ATTENTION),
        ("attn_q_a_norm.weight", (rank,), Role.NORM),
        ("attn_q_b.weight", (rank, d.q_width), Role.ATTENTION),
        ("attn_kv.weight", (width, d.head_width), Role.ATTENTION),
        ("attn_kv_a_norm.weight", (d.head_width,), Role.NORM),
        ("attn_output_a.weight", (d.q_width // groups, small), Role.ATTENTION),
        ("attn_output_b.weight", (small, width), Role.ATTENTION),
    )


def _connections(block: str, d: Dimensions) -> list[Row]:
    count = d.streams.count
    mixed = (2 + count) * count
    return [
        row
        for part in ("attn", "ffn")
        for row in rows(
            block,
            (f"hc_{part}_fn.weight", (count * d.embedding, mixed), Role.PLAIN),
            (f"hc_{part}_base.weight", (mixed,), Role.PLAIN),
            (f"hc_{part}_scale.weight", (3,), Role.PLAIN),
        )
    ]


def _compressor(index: int, block: str, d: Dimensions) -> list[Row]:
    ratio = d.streams.compress_ratios[index]
    if not ratio:
        return []
    has_indexer = ratio == 4
    found = _squeeze(block, "attn_compressor", d, d.head_width, 2 if has_indexer else 1, ratio)
    if has_indexer:
        small = d.indexer
        found += rows(
            block,
            ("indexer.proj.weight", (d.embedding, small.heads), Role.PLAIN),
            ("indexer.attn_q_b.weight", (d.latent.q_rank, small.heads * small.width), Role.ATTENTION),
        )
        found += _squeeze(block, "indexer_compressor", d, small.width, 2, ratio)
    return found


def _squeeze(block: str, name: str, d: Dimensions, width: int, copies: int, ratio: int) -> list[Row]:
    return rows(
        block,
        (f"{name}_kv.weight", (d.embedding, copies * width), Role.ATTENTION),
        (f"{name}_gate.weight", (d.embedding, copies * width), Role.ATTENTION),
        (f"{name}_ape.weight", (copies * width, ratio), Role.PLAIN),
        (f"{name}_norm.weight", (width,), Role.NORM),
    )
