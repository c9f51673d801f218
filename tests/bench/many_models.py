"""Headers of large models for the benches: true tables and vocabularies, their weights a hole."""

import struct
from pathlib import Path
from typing import Final

from tests.builders import (
    Keys,
    Tensor,
    array,
    attention_tensors,
    expert_tensors,
    gguf_header,
    io_tensors,
    model_keys,
    text,
    u32,
)

LAYERS: Final = 48
EXPERTS: Final = 128
EMBEDDING: Final = 2048
MERGES_PER_TOKEN: Final = 1.145
"""300 000 merges beside 262 144 tokens."""

_HEAD: Final = struct.Struct("<4sIQQ")
_STRING: Final = 8
_I32: Final = 5
_VOCABULARY: Final = ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges")


def write_model(path: Path, vocabulary: int) -> Path:
    """Write a model of 48 layers of 128 experts; the texts of its vocabulary are 7 characters or so."""
    keys = _keys() | {
        "tokenizer.ggml.tokens": array("str", _texts(vocabulary)),
        "tokenizer.ggml.token_type": array("i32", [1] * vocabulary),
        "tokenizer.ggml.merges": array("str", _pairs(_merges(vocabulary))),
    }
    header, data_bytes = gguf_header(keys, _tensors(vocabulary))
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + data_bytes)
    return path


def write_models(folder: Path, count: int, vocabulary: int) -> None:
    """Write such models with vocabularies of empty texts, which are holes: each is a step to read as well."""
    keys = gguf_header(_keys())[0][_HEAD.size :]
    table, data_bytes = gguf_header({}, _tensors(vocabulary))
    lengths = (vocabulary, vocabulary, _merges(vocabulary))
    for number in range(count):
        with (folder / f"model-{number:03d}.gguf").open("wb") as file:
            file.write(_HEAD.pack(b"GGUF", 3, len(_tensors(vocabulary)), len(_keys()) + len(_VOCABULARY)))
            file.write(keys)
            for name, length in zip(_VOCABULARY, lengths, strict=True):
                element, step = (_I32, 4) if name.endswith("type") else (_STRING, 8)
                raw = name.encode()
                file.write(struct.pack("<Q", len(raw)) + raw + struct.pack("<IIQ", 9, element, length))
                file.seek(length * step, 1)
            file.write(table[_HEAD.size :])
            file.truncate(file.tell() + data_bytes)


def _keys() -> Keys:
    experts = {"expert_count": u32(EXPERTS), "expert_used_count": u32(8)}
    keys = model_keys("qwen3moe", experts, layers=LAYERS, embedding=EMBEDDING, heads=32, kv_heads=4)
    template = "{% for message in messages %}{{ message.content }}{% endfor %}" * 80
    return {n: v for n, v in keys.items() if n not in _VOCABULARY} | {
        "tokenizer.chat_template": text(template)
    }


def _tensors(vocabulary: int) -> list[Tensor]:
    tensors = io_tensors(EMBEDDING, vocabulary, "Q8_0")
    for block in range(LAYERS):
        tensors += attention_tensors(block, embedding=EMBEDDING, kv_width=512, type_name="Q8_0")
        norms = ("attn_norm", "attn_q_norm", "attn_k_norm", "ffn_norm")
        tensors += [Tensor(f"blk.{block}.{norm}.weight", (EMBEDDING,), "F32") for norm in norms]
        tensors += expert_tensors(block, EXPERTS, embedding=EMBEDDING, width=768, type_name="Q4_K")
    return tensors


def _merges(vocabulary: int) -> int:
    return round(vocabulary * MERGES_PER_TOKEN)


def _texts(count: int) -> list[str]:
    """Return distinct texts."""
    return [f"{number:x}".ljust(3 + number % 8, "z") for number in range(count)]


def _pairs(count: int) -> list[str]:
    """Return distinct merges: two texts and a blank between them."""
    return [f"{number:x} {'z' * (number % 6)}z" for number in range(count)]
