"""Makes GGUF files for tests: headers as real converters write them, data sections as holes.

Any size costs no disk and no time, so true-size models are fine. Start from `model_keys`, add tensors of
`io_tensors`, `attention_tensors`, `dense_tensors`, `expert_tensors`, and write with `write_gguf`:

    write_gguf(tmp_path / "moe.gguf", *moe_model("qwen3moe", layers=4, experts=16, used=4))
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.gguf_bytes import (
    Keys,
    Tensor,
    Value,
    array,
    f32,
    flag,
    gguf_bytes,
    gguf_header,
    i32,
    raw,
    text,
    u16,
    u32,
    u64,
    write_gguf,
)

__all__ = [
    "CHAT_TEMPLATE",
    "Keys",
    "Tensor",
    "Value",
    "array",
    "attention_tensors",
    "dense_model",
    "dense_tensors",
    "expert_tensors",
    "f32",
    "flag",
    "gguf_bytes",
    "gguf_header",
    "i32",
    "io_tensors",
    "model_keys",
    "moe_model",
    "old_expert_tensors",
    "raw",
    "text",
    "tokenizer_keys",
    "u16",
    "u32",
    "u64",
    "write_gguf",
    "write_shards",
]

CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def model_keys(
    architecture: str = "qwen3moe",
    more: Mapping[str, Value] | None = None,
    *,
    layers: int = 4,
    embedding: int = 64,
    heads: int = 8,
    kv_heads: int = 2,
    context: int = 4096,
    tokens: int = 64,
) -> Keys:
    """Return the keys of a chat model. `more` goes without the prefix; `__` may stand for a dot."""
    arch = architecture
    keys = {
        "general.architecture": text(arch),
        "general.type": text("model"),
        "general.name": text("case"),
        "general.file_type": u32(7),
        f"{arch}.block_count": u32(layers),
        f"{arch}.context_length": u32(context),
        f"{arch}.embedding_length": u32(embedding),
        f"{arch}.feed_forward_length": u32(2 * embedding),
        f"{arch}.attention.head_count": u32(heads),
        f"{arch}.attention.head_count_kv": u32(kv_heads),
    }
    keys |= {f"{arch}.{name.replace('__', '.')}": value for name, value in (more or {}).items()}
    return keys | tokenizer_keys(tokens)


def tokenizer_keys(tokens: int = 64) -> Keys:
    """Return a vocabulary of `tokens` entries and a chat template."""
    return {
        "tokenizer.ggml.model": text("gpt2"),
        "tokenizer.ggml.pre": text("default"),
        "tokenizer.ggml.tokens": array("str", [f"tok{index}" for index in range(tokens)]),
        "tokenizer.ggml.token_type": array("i32", [1] * tokens),
        "tokenizer.ggml.merges": array("str", ["t o", "to k"]),
        "tokenizer.ggml.eos_token_id": u32(2),
        "tokenizer.chat_template": text(CHAT_TEMPLATE),
    }


def io_tensors(embedding: int = 64, tokens: int = 64, type_name: str = "F16") -> list[Tensor]:
    """Return token embedding, output norm and output."""
    return [
        Tensor("token_embd.weight", (embedding, tokens), type_name),
        Tensor("output_norm.weight", (embedding,), "F32"),
        Tensor("output.weight", (embedding, tokens), type_name),
    ]


def attention_tensors(
    block: int, *, embedding: int = 64, kv_width: int | None = None, type_name: str = "F16"
) -> list[Tensor]:
    """Return the four attention matrices of one block; `kv_width` defaults to the embedding's."""
    kv = kv_width or embedding
    widths = {"attn_q": embedding, "attn_k": kv, "attn_v": kv, "attn_output": embedding}
    return [Tensor(f"blk.{block}.{n}.weight", (embedding, w), type_name) for n, w in widths.items()]


def dense_tensors(
    block: int, *, embedding: int = 64, width: int = 128, type_name: str = "F16"
) -> list[Tensor]:
    """Return the feed-forward matrices of a block without experts."""
    return [_ffn(block, kind, "", embedding, width, type_name) for kind in ("gate", "up", "down")]


def expert_tensors(
    block: int,
    experts: int = 16,
    *,
    embedding: int = 64,
    width: int = 32,
    type_name: str = "F16",
    shared: bool = False,
    fused: bool = False,
    chunks: bool = False,
) -> list[Tensor]:
    """Return router and routed experts of one block.

    Args:
        shared: Add an always-used expert (`_shexp`) of the same width.
        fused: `ffn_gate_up_exps` instead of gate and up apart.
        chunks: Add a quarter as many chunk experts (`_chexps`).
    """
    router = Tensor(f"blk.{block}.ffn_gate_inp.weight", (embedding, experts), "F32")
    tensors = [router]
    if fused:
        tensors.append(
            Tensor(f"blk.{block}.ffn_gate_up_exps.weight", (embedding, 2 * width, experts), type_name)
        )
    kinds = ("down",) if fused else ("gate", "up", "down")
    tensors += [_ffn(block, kind, "_exps", embedding, width, type_name, experts) for kind in kinds]
    three = ("gate", "up", "down")
    if chunks:
        tensors += [_ffn(block, kind, "_chexps", embedding, width, type_name, experts // 4) for kind in three]
    if shared:
        tensors += [_ffn(block, kind, "_shexp", embedding, width, type_name) for kind in three]
    return tensors


def old_expert_tensors(block: int, experts: int = 8, *, embedding: int = 64, width: int = 32) -> list[Tensor]:
    """Return the layout of 2023: one tensor per expert and kind."""
    tensors = [Tensor(f"blk.{block}.ffn_gate_inp.weight", (embedding, experts), "F32")]
    for expert in range(experts):
        tensors += [
            _ffn(block, kind, f".{expert}", embedding, width, "F16") for kind in ("gate", "up", "down")
        ]
    return tensors


def moe_model(
    architecture: str = "qwen3moe",
    *,
    layers: int = 4,
    experts: int = 16,
    used: int = 4,
    leading_dense: int = 0,
    shared: bool = False,
    type_name: str = "F16",
    **more: Value,
) -> tuple[Keys, list[Tensor]]:
    """Return keys and tensors of a small, sound MoE model; `more`: `attention__key_length=u32(64)`."""
    counts = {"expert_count": u32(experts), "expert_used_count": u32(used)}
    if shared:
        counts["expert_shared_count"] = u32(1)
    if leading_dense:
        counts["leading_dense_block_count"] = u32(leading_dense)
    tensors = io_tensors()
    for block in range(layers):
        tensors += attention_tensors(block)
        if block < leading_dense:
            tensors += dense_tensors(block)
        else:
            tensors += expert_tensors(block, experts, shared=shared, type_name=type_name)
    return model_keys(architecture, {**counts, **more}, layers=layers), tensors


def dense_model(architecture: str = "qwen3", *, layers: int = 4, **more: Value) -> tuple[Keys, list[Tensor]]:
    """Return keys and tensors of a small, sound dense model."""
    tensors = io_tensors()
    for block in range(layers):
        tensors += attention_tensors(block) + dense_tensors(block)
    return model_keys(architecture, more, layers=layers), tensors


def write_shards(
    folder: Path, stem: str, keys: Mapping[str, Value], tensors: Sequence[Tensor], cuts: Sequence[int]
) -> list[Path]:
    """Write a model in parts as llama-gguf-split does, cut before the tensors at `cuts`; return the parts.

    All keys are in the first part; `split.no` counts from 0, file names from 1.
    """
    edges = [0, *cuts, len(tensors)]
    count = len(edges) - 1
    paths = []
    for number in range(count):
        split: Keys = {
            "split.no": u16(number),
            "split.count": u16(count),
            "split.tensors.count": i32(len(tensors)),
        }
        part = tensors[edges[number] : edges[number + 1]]
        path = folder / f"{stem}-{number + 1:05d}-of-{count:05d}.gguf"
        paths.append(write_gguf(path, {**keys, **split} if number == 0 else split, part))
    return paths


def _ffn(
    block: int, kind: str, suffix: str, embedding: int, width: int, type_name: str, experts: int | None = None
) -> Tensor:
    shape = (width, embedding) if kind == "down" else (embedding, width)
    return Tensor(
        f"blk.{block}.ffn_{kind}{suffix}.weight", shape if experts is None else (*shape, experts), type_name
    )
