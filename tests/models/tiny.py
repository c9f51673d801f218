"""Tiny models of 17 MoE architectures that a real engine loads and answers with, a quarter to one MB each."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from app.gguf.writer import KeyValue, TensorData, ValueType, array, scalar, text, write_gguf
from tests.models.architectures import ARCHITECTURES
from tests.models.blueprint import Blueprint, Content
from tests.models.dimensions import Dimensions, Latent, Streams
from tests.models.vocabulary import tokenizer_entries
from tests.models.weights import MXFP4, Q8_0, content_of, type_of

TINY_DIMENSIONS: Final[Mapping[str, Dimensions]] = MappingProxyType(
    {
        "llama": Dimensions(ffn_width=64),
        "qwen2moe": Dimensions(),
        "qwen3moe": Dimensions(),
        "olmoe": Dimensions(ffn_width=32, kv_heads=4),
        "gpt-oss": Dimensions(head_width=32, window=32),
        "glm4moe": Dimensions(layers=3),
        "qwen3next": Dimensions(layers=4, rope_width=8),
        "dbrx": Dimensions(ffn_width=32),
        "granitemoe": Dimensions(ffn_width=32),
        "llama4": Dimensions(layers=4, moe_step=2, used=1),
        "hunyuan-moe": Dimensions(ffn_width=32),
        "ernie4_5-moe": Dimensions(layers=3),
        "minimax-m2": Dimensions(ffn_width=32),
        "phimoe": Dimensions(ffn_width=32),
        "deepseek2": Dimensions(layers=3, shared=2),
        "glm-dsa": Dimensions(layers=3),
        "deepseek4": Dimensions(
            layers=4,
            head_width=64,
            rope_width=32,
            context=512,
            latent=Latent(q_rank=64),
            streams=Streams(4, 2, 2, 32, 1, (0, 0, 4, 128)),
        ),
    }
)
TINY_ARCHITECTURES: Final = tuple(TINY_DIMENSIONS)


@dataclass(frozen=True, slots=True)
class TinyTensor:
    """One tensor with its bytes; shape in ggml order, type as ggml numbers it."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    content: bytes

    def as_data(self) -> TensorData:
        """Return the tensor as the writer takes it."""
        return TensorData(self.name, self.shape, self.type_id, len(self.content), lambda: (self.content,))


@dataclass(frozen=True, slots=True)
class TinyModel:
    """All that is in a tiny model's file, in order."""

    entries: tuple[KeyValue, ...]
    tensors: tuple[TinyTensor, ...]


def write_tiny(architecture: str, path: Path) -> Path:
    """Write the tiny model of `architecture` and return its path."""
    model = tiny_model(architecture)
    write_gguf(path, model.entries, [tensor.as_data() for tensor in model.tensors])
    return path


@cache
def tiny_model(architecture: str, expert_type: int | None = None) -> TinyModel:
    """Return the tiny model of `architecture`; its experts are Q8_0, those of gpt-oss MXFP4 as in life."""
    dimensions = TINY_DIMENSIONS[architecture]
    blueprint = ARCHITECTURES[architecture](dimensions)
    if expert_type is None:
        expert_type = MXFP4 if architecture == "gpt-oss" else Q8_0
    tensors = []
    for row in blueprint.rows:
        type_id = type_of(row, expert_type)
        tensors.append(TinyTensor(row.name, row.shape, type_id, content_of(row, type_id, dimensions.experts)))
    return TinyModel(tuple(entries_of(architecture, f"tiny-{architecture}", blueprint)), tuple(tensors))


def entries_of(architecture: str, name: str, blueprint: Blueprint, file_type: int = 7) -> list[KeyValue]:
    """Return the metadata of a whole model: what it is, its sizes, its vocabulary."""
    tokens = blueprint.keys["vocab_size"]
    assert isinstance(tokens, int)
    return [
        text("general.architecture", architecture),
        text("general.name", name),
        scalar("general.file_type", ValueType.UINT32, file_type),
        scalar("general.quantization_version", ValueType.UINT32, 2),
        *(_entry(f"{architecture}.{key}", content) for key, content in blueprint.keys.items()),
        *tokenizer_entries(tokens),
    ]


def _entry(key: str, content: Content) -> KeyValue:
    match content:
        case bool():
            return scalar(key, ValueType.BOOL, content)
        case float():
            return scalar(key, ValueType.FLOAT32, content)
        case int():
            return scalar(key, ValueType.UINT32, content)
        case str():
            return text(key, content)
    is_whole = all(isinstance(item, int) for item in content)
    return array(key, ValueType.INT32 if is_whole else ValueType.FLOAT32, content)
