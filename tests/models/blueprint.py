"""What a file must hold for llama.cpp to load it: keys and tensor table, and the parts both are made of.

Source: `load_arch_hparams` and `load_arch_tensors` of llama.cpp's `src/models`, llama-cpp-python 0.3.36.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from tests.models.dimensions import Dimensions

Content = bool | int | float | str | tuple[int, ...] | tuple[float, ...]
Shape = tuple[int, ...]


class Role(Enum):
    """What a tensor is for; decides its values and its type."""

    EMBEDDING = auto()
    OUTPUT = auto()
    NORM = auto()
    ATTENTION = auto()
    FFN = auto()
    EXPERTS = auto()
    SHARED = auto()
    ROUTER = auto()
    BIAS = auto()
    PLAIN = auto()
    DECAY = auto()
    HASH = auto()


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the tensor table; shape in ggml order."""

    name: str
    shape: Shape
    role: Role


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A model without its weights.

    Attributes:
        keys: Without the prefix of the architecture. A tuple is an array.
    """

    keys: Mapping[str, Content]
    rows: tuple[Row, ...]


BlockRows = Callable[[int, str], list[Row]]
"""Gets a block's index and `blk.N`."""


def rows(block: str, *entries: tuple[str, Shape, Role]) -> list[Row]:
    """Return the rows of one block from names without `blk.N`."""
    return [Row(f"{block}.{name}", shape, role) for name, shape, role in entries]


def common_keys(d: Dimensions, more: Mapping[str, Content]) -> dict[str, Content]:
    """Return the keys that every architecture has, then `more`."""
    keys: dict[str, Content] = {
        "context_length": d.context,
        "embedding_length": d.embedding,
        "block_count": d.blocks,
        "feed_forward_length": d.ffn_width,
        "attention.head_count": d.heads,
        "attention.head_count_kv": d.kv_heads,
        "attention.layer_norm_rms_epsilon": d.epsilon,
        "rope.freq_base": d.rope_base,
        "vocab_size": d.tokens,
        "expert_count": d.experts,
        "expert_used_count": d.used,
        "attention.key_length": d.head_width,
        "attention.value_length": d.head_width,
    }
    if d.mtp_layers:
        keys["nextn_predict_layers"] = d.mtp_layers
    return {**keys, **more}


def whole(d: Dimensions, keys: Mapping[str, Content], block_rows: BlockRows, *after: Row) -> Blueprint:
    """Return a model of `d.blocks` blocks; the blocks after the trunk also predict tokens ahead."""
    table = [
        Row("token_embd.weight", (d.embedding, d.tokens), Role.EMBEDDING),
        Row("output_norm.weight", (d.embedding,), Role.NORM),
    ]
    if not d.is_tied:
        table.append(Row("output.weight", (d.embedding, d.tokens), Role.OUTPUT))
    for index in range(d.blocks):
        block = f"blk.{index}"
        table += block_rows(index, block)
        if index >= d.layers:
            table += _prediction(block, d)
    return Blueprint(keys, (*table, *after))


def norm(block: str, d: Dimensions, name: str = "ffn_norm") -> list[Row]:
    """Return one norm over the residual stream."""
    return rows(block, (f"{name}.weight", (d.embedding,), Role.NORM))


def attention(block: str, d: Dimensions, *, has_bias: bool = False, q_factor: int = 1) -> list[Row]:
    """Return grouped attention with its norm before it."""
    width, q, kv = d.embedding, d.q_width, d.kv_width
    found = rows(
        block,
        ("attn_norm.weight", (width,), Role.NORM),
        ("attn_q.weight", (width, q * q_factor), Role.ATTENTION),
        ("attn_k.weight", (width, kv), Role.ATTENTION),
        ("attn_v.weight", (width, kv), Role.ATTENTION),
        ("attn_output.weight", (q, width), Role.ATTENTION),
    )
    if has_bias:
        found += rows(
            block,
            ("attn_q.bias", (q,), Role.BIAS),
            ("attn_k.bias", (kv,), Role.BIAS),
            ("attn_v.bias", (kv,), Role.BIAS),
        )
    return found


def qk_norm(block: str, d: Dimensions, *, is_per_head: bool) -> list[Row]:
    """Return the norms of queries and keys."""
    q, kv = (d.head_width, d.head_width) if is_per_head else (d.q_width, d.kv_width)
    return rows(block, ("attn_q_norm.weight", (q,), Role.NORM), ("attn_k_norm.weight", (kv,), Role.NORM))


def dense(block: str, d: Dimensions) -> list[Row]:
    """Return a feed-forward part without experts."""
    return rows(
        block,
        ("ffn_gate.weight", (d.embedding, d.ffn_width), Role.FFN),
        ("ffn_up.weight", (d.embedding, d.ffn_width), Role.FFN),
        ("ffn_down.weight", (d.ffn_width, d.embedding), Role.FFN),
    )


def experts(block: str, d: Dimensions, width: int) -> list[Row]:
    """Return router and routed experts."""
    return rows(
        block,
        ("ffn_gate_inp.weight", (d.embedding, d.experts), Role.ROUTER),
        ("ffn_gate_exps.weight", (d.embedding, width, d.experts), Role.EXPERTS),
        ("ffn_up_exps.weight", (d.embedding, width, d.experts), Role.EXPERTS),
        ("ffn_down_exps.weight", (width, d.embedding, d.experts), Role.EXPERTS),
    )


def expert_bias(block: str, d: Dimensions) -> list[Row]:
    """Return what is added to the router's scores."""
    return rows(block, ("exp_probs_b.bias", (d.experts,), Role.BIAS))


def shared_expert(block: str, d: Dimensions, width: int) -> list[Row]:
    """Return the expert that every token uses."""
    return rows(
        block,
        ("ffn_gate_shexp.weight", (d.embedding, width), Role.SHARED),
        ("ffn_up_shexp.weight", (d.embedding, width), Role.SHARED),
        ("ffn_down_shexp.weight", (width, d.embedding), Role.SHARED),
    )


def gated_shared_expert(block: str, d: Dimensions) -> list[Row]:
    """Return the shared expert of the Qwen models, with a gate of its own."""
    gate = rows(block, ("ffn_gate_inp_shexp.weight", (d.embedding,), Role.PLAIN))
    return gate + shared_expert(block, d, d.shared_width)


def _prediction(block: str, d: Dimensions) -> list[Row]:
    found = rows(
        block,
        ("nextn.eh_proj.weight", (2 * d.embedding, d.embedding), Role.ATTENTION),
        ("nextn.enorm.weight", (d.embedding,), Role.NORM),
        ("nextn.hnorm.weight", (d.embedding,), Role.NORM),
        ("nextn.shared_head_norm.weight", (d.embedding,), Role.NORM),
    )
    if d.has_mtp_embedding:
        found += rows(
            block,
            ("nextn.embed_tokens.weight", (d.embedding, d.tokens), Role.EMBEDDING),
            ("nextn.shared_head_head.weight", (d.embedding, d.tokens), Role.EMBEDDING),
        )
    return found
