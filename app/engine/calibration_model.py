"""Models whose only use is to be timed: weights of one type, random bytes, a few tens of megabytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.gguf.quants import QUANT_TYPES, tensor_bytes
from app.gguf.writer import KeyValue, TensorData, ValueType, array, scalar, text, write_gguf

ARCHITECTURE: Final = "llama"
WIDTH: Final = 1024
HEADS: Final = 16
HEADS_KV: Final = 4
CONTEXT: Final = 2048

F32, BF16, MXFP4 = 0, 30, 39
"""ggml type numbers."""

_SPECIALS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_CHUNK_BYTES: Final = 1024**2
_LOWEST_BYTE, _HIGHEST_BYTE = 0x08, 0x2F
"""Bytes between these make half floats from 2^-13 to 2^-4 wherever a type keeps its scales."""

_MXFP4_SCALE: Final = 121
"""2^-6; its scales are exponents of 8 bits."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class CalibrationShape:
    """What a calibration model is made of.

    Attributes:
        type_id: ggml type of all matrices but the router and the vocabulary's.
        experts: Per block; 0 makes it dense.
        used: Experts per token.
        feed_forward: Neurons of the network, or of one expert.
    """

    type_id: int
    blocks: int
    experts: int = 0
    used: int = 0
    width: int = WIDTH
    feed_forward: int = 2 * WIDTH


def write_calibration_model(path: Path, shape: CalibrationShape) -> None:
    """Write the model.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    tokens = _tokens()
    write_gguf(path, _metadata(shape, tokens), _tensors(shape, len(tokens)))


def _metadata(shape: CalibrationShape, tokens: Sequence[str]) -> list[KeyValue]:
    head_width = shape.width // HEADS
    numbers = {
        "block_count": shape.blocks,
        "context_length": CONTEXT,
        "embedding_length": shape.width,
        "feed_forward_length": shape.feed_forward,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS_KV,
        "rope.dimension_count": head_width,
        "vocab_size": len(tokens),
    }
    if shape.experts:
        numbers |= {"expert_count": shape.experts, "expert_used_count": shape.used}
    return [
        text("general.architecture", ARCHITECTURE),
        text("general.name", "Calibration"),
        scalar("general.quantization_version", ValueType.UINT32, 2),
        *(scalar(f"{ARCHITECTURE}.{name}", ValueType.UINT32, value) for name, value in numbers.items()),
        scalar(f"{ARCHITECTURE}.attention.layer_norm_rms_epsilon", ValueType.FLOAT32, 1e-5),
        text("tokenizer.ggml.model", "gpt2"),
        text("tokenizer.ggml.pre", "gpt-2"),
        array("tokenizer.ggml.tokens", ValueType.STRING, tokens),
        array("tokenizer.ggml.token_type", ValueType.INT32, [3 if t in _SPECIALS else 1 for t in tokens]),
        array("tokenizer.ggml.merges", ValueType.STRING, ("Ġ t",)),
        scalar("tokenizer.ggml.bos_token_id", ValueType.UINT32, 1),
        scalar("tokenizer.ggml.eos_token_id", ValueType.UINT32, 0),
        scalar("tokenizer.ggml.add_bos_token", ValueType.BOOL, False),
    ]


def _tokens() -> list[str]:
    """Return three specials, the 256 bytes as GPT-2 vocabularies spell them, and one pair."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in printable]
    return [*_SPECIALS, *(chr(b) if b in printable else chr(256 + hidden.index(b)) for b in range(256)), "Ġt"]


def _tensors(shape: CalibrationShape, vocabulary: int) -> list[TensorData]:
    width, width_kv = shape.width, shape.width // HEADS * HEADS_KV
    tensors = [
        _plain("token_embd.weight", np.linspace(-1, 1, vocabulary * width).reshape(vocabulary, width)),
        _plain("output_norm.weight", np.ones(width)),
        _plain("output.weight", _output(vocabulary, width)),
    ]
    for block in range(shape.blocks):
        name = f"blk.{block}"
        tensors += [
            _plain(f"{name}.attn_norm.weight", np.ones(width)),
            _filled(f"{name}.attn_q.weight", (width, width), shape.type_id),
            _filled(f"{name}.attn_k.weight", (width, width_kv), shape.type_id),
            _filled(f"{name}.attn_v.weight", (width, width_kv), shape.type_id),
            _filled(f"{name}.attn_output.weight", (width, width), shape.type_id),
            _plain(f"{name}.ffn_norm.weight", np.ones(width)),
            *_network(name, shape),
        ]
    return tensors


def _network(block: str, shape: CalibrationShape) -> list[TensorData]:
    width, neurons = shape.width, shape.feed_forward
    experts = (shape.experts,) if shape.experts else ()
    ending = "_exps.weight" if shape.experts else ".weight"
    network = [
        _filled(f"{block}.ffn_gate{ending}", (width, neurons, *experts), shape.type_id),
        _filled(f"{block}.ffn_up{ending}", (width, neurons, *experts), shape.type_id),
        _filled(f"{block}.ffn_down{ending}", (neurons, width, *experts), shape.type_id),
    ]
    if shape.experts:
        # irregular, so that tokens choose differently
        router = np.cos(np.arange(shape.experts * width, dtype=np.float64) ** 2)
        network.append(_plain(f"{block}.ffn_gate_inp.weight", router.reshape(shape.experts, width)))
    return network


def _output(vocabulary: int, width: int) -> NDArray[np.float64]:
    """Return rows of which no special's is ever the likeliest: no answer ends before its time."""
    rows = np.ones((vocabulary, width))
    rows[1::2] = -1.0
    rows[: len(_SPECIALS)] = 0.0
    return rows


def _plain(name: str, values: NDArray[np.float64]) -> TensorData:
    content = values.astype("<f4").tobytes()
    return TensorData(name, tuple(reversed(values.shape)), F32, len(content), lambda: (content,))


def _filled(name: str, shape: tuple[int, ...], type_id: int) -> TensorData:
    size = tensor_bytes(type_id, shape)
    assert size is not None  # only types we know are asked for
    return TensorData(name, shape, type_id, size, partial(_chunks, type_id, size))


def _chunks(type_id: int, size: int) -> Iterator[memoryview]:
    """Yield `size` bytes of blocks that are numbers, whatever they say."""
    chunk = memoryview(_pattern(type_id).tobytes())
    while size > 0:
        yield chunk[:size]
        size -= len(chunk)


def _pattern(type_id: int) -> Bytes:
    random = np.random.default_rng(type_id)
    block_bytes = QUANT_TYPES[type_id].block_bytes
    blocks = _CHUNK_BYTES // block_bytes
    if type_id in (F32, BF16):
        values = (0.05 * random.standard_normal(blocks)).astype("<f4")
        return values.view(np.uint8) if type_id == F32 else values.view(np.uint8).reshape(-1, 4)[:, 2:].copy()
    filled = random.integers(_LOWEST_BYTE, _HIGHEST_BYTE + 1, (blocks, block_bytes), dtype=np.uint8)
    if type_id == MXFP4:
        filled[:, 0] = _MXFP4_SCALE
    return filled
