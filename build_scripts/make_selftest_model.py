"""Makes `resources/selftest/tiny-moe.gguf`: a mixture of experts so small that any machine answers at once.

Its greedy answer to any prompt is `PHRASE`, over and over: every word is looked up by the experts of the
last block, so a wrong or missing expert shows as a wrong text. Two characters of it come out in pieces of
one byte, as in real models. Run from the checkout: `python build_scripts/make_selftest_model.py`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.gguf.writer import KeyValue, TensorData, ValueType, array, scalar, text, write_gguf  # noqa: E402 path first
from app.library.fixed_random import FixedRandom  # noqa: E402 path first

TARGET: Final = ROOT / "resources" / "selftest" / "tiny-moe.gguf"

PHRASE: Final = "Moxie (魔匣) runs its experts well. "
WORDS: Final = (b"Moxie", b" (", *(bytes([b]) for b in "魔匣".encode()), b")", b" runs", b" its", b" experts")
PIECES: Final = (*WORDS, b" well", b". ")
SPECIALS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES: Final = ("Ġ t", "h e", "Ġt he", "i n", "r e", "o n", "a n", "e r")
CHAT_TEMPLATE: Final = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

ARCHITECTURE: Final = "qwen3moe"
LAYERS: Final = 3
WIDTH: Final = 64
HEADS: Final = 4
HEADS_KV: Final = 2
HEAD_WIDTH: Final = 16
EXPERTS: Final = 8
EXPERTS_USED: Final = 2
EXPERT_WIDTH: Final = 64
CONTEXT: Final = 2048

F32: Final = (0, 4)
F16: Final = (1, 2)
Q8_0: Final = 8
"""ggml type numbers; for plain types also bytes per element."""

CONSTANT: Final = 0
"""This element of the residual stream is the same for all tokens; nothing writes to it."""
CURRENT: Final = 1
NEXT: Final = CURRENT + len(PIECES)
NOISE: Final = NEXT + len(PIECES)
"""First elements of: which piece this token is, which comes next, and what nobody reads."""

Matrix = NDArray[np.float64]


def main() -> int:
    """Write the model and print its size."""
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    make(TARGET)
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")
    return 0


def make(target: Path) -> None:
    """Write the model to `target`; the bytes are the same on every run."""
    tokens = _tokens()
    random = FixedRandom(20_261_130)
    tensors = [*_outer_tensors(tokens, random)]
    for layer in range(LAYERS):
        tensors += _attention_tensors(layer, random)
        tensors += _expert_tensors(layer, random)
    write_gguf(target, _metadata(tokens), tensors)


def _metadata(tokens: Sequence[str]) -> list[KeyValue]:
    numbers = {
        "block_count": LAYERS,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "feed_forward_length": EXPERT_WIDTH,
        "expert_feed_forward_length": EXPERT_WIDTH,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS_KV,
        "attention.key_length": HEAD_WIDTH,
        "attention.value_length": HEAD_WIDTH,
        "expert_count": EXPERTS,
        "expert_used_count": EXPERTS_USED,
        "vocab_size": len(tokens),
    }
    types = [3 if token in SPECIALS else 1 for token in tokens]
    return [
        text("general.architecture", ARCHITECTURE),
        text("general.type", "model"),
        text("general.name", "Moxie self-test"),
        text("general.license", "MIT"),
        scalar("general.file_type", ValueType.UINT32, 7),
        scalar("general.quantization_version", ValueType.UINT32, 2),
        *(scalar(f"{ARCHITECTURE}.{name}", ValueType.UINT32, value) for name, value in numbers.items()),
        scalar(f"{ARCHITECTURE}.attention.layer_norm_rms_epsilon", ValueType.FLOAT32, 1e-6),
        scalar(f"{ARCHITECTURE}.rope.freq_base", ValueType.FLOAT32, 10000.0),
        text("tokenizer.ggml.model", "gpt2"),
        text("tokenizer.ggml.pre", "gpt-2"),
        array("tokenizer.ggml.tokens", ValueType.STRING, tokens),
        array("tokenizer.ggml.token_type", ValueType.INT32, types),
        array("tokenizer.ggml.merges", ValueType.STRING, MERGES),
        scalar("tokenizer.ggml.bos_token_id", ValueType.UINT32, tokens.index("<|im_start|>")),
        scalar("tokenizer.ggml.eos_token_id", ValueType.UINT32, tokens.index("<|im_end|>")),
        scalar("tokenizer.ggml.padding_token_id", ValueType.UINT32, tokens.index("<|endoftext|>")),
        scalar("tokenizer.ggml.add_bos_token", ValueType.BOOL, False),
        text("tokenizer.chat_template", CHAT_TEMPLATE),
    ]


def _tokens() -> list[str]:
    """Return the vocabulary: specials, the 256 bytes, merged pairs, the pieces longer than a byte."""
    merged = [merge.replace(" ", "") for merge in MERGES]
    pieces = [spelling(piece) for piece in PIECES if len(piece) > 1]
    return [*SPECIALS, *(spelling(bytes([b])) for b in range(256)), *merged, *pieces]


def spelling(piece: bytes) -> str:
    """Return bytes as GPT-2 vocabularies spell them: printable Latin-1 as itself, the rest from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in printable]
    return "".join(chr(b) if b in printable else chr(256 + hidden.index(b)) for b in piece)


def _outer_tensors(tokens: Sequence[str], random: FixedRandom) -> list[TensorData]:
    embedding = np.zeros((len(tokens), WIDTH))
    embedding[:, NOISE:] = 0.3 * random.normal(len(tokens), WIDTH - NOISE)
    embedding[:, CONSTANT] = 4.0
    output = np.zeros((len(tokens), WIDTH))
    output[:, NOISE:] = 0.3 * random.normal(len(tokens), WIDTH - NOISE)
    output[:, CONSTANT] = -4.0
    numbers = [tokens.index(spelling(piece)) for piece in PIECES]
    embedding[:, CURRENT + len(PIECES) - 1] = 4.0  # anything else counts as the end of the phrase
    for place, number in enumerate(numbers):
        embedding[number, CURRENT:NEXT] = 0.0
        embedding[number, CURRENT + place] = 4.0
        output[number] = 0.0
        output[number, NEXT + place] = 6.0
    return [
        _plain("token_embd.weight", embedding, F16),
        _plain("output_norm.weight", np.ones(WIDTH), F32),
        _plain("output.weight", output, F16),
    ]


def _attention_tensors(layer: int, random: FixedRandom) -> list[TensorData]:
    """Return one block's attention: real work, whose result lands among the elements nobody reads."""
    block = f"blk.{layer}"
    width, width_kv = HEADS * HEAD_WIDTH, HEADS_KV * HEAD_WIDTH
    result = _only_noise(0.3 * random.normal(WIDTH, width) / WIDTH**0.5)
    return [
        _plain(f"{block}.attn_norm.weight", np.ones(WIDTH), F32),
        _plain(f"{block}.attn_q.weight", random.normal(width, WIDTH) / WIDTH**0.5, F16),
        _plain(f"{block}.attn_k.weight", random.normal(width_kv, WIDTH) / WIDTH**0.5, F16),
        _plain(f"{block}.attn_v.weight", random.normal(width_kv, WIDTH) / WIDTH**0.5, F16),
        _plain(f"{block}.attn_output.weight", result, F16),
        _plain(f"{block}.attn_q_norm.weight", np.ones(HEAD_WIDTH), F32),
        _plain(f"{block}.attn_k_norm.weight", np.ones(HEAD_WIDTH), F32),
    ]


def _expert_tensors(layer: int, random: FixedRandom) -> list[TensorData]:
    """Return one block's router and experts; all experts compute one function with other bytes."""
    block = f"blk.{layer}"
    gate, up, down = _lookup() if layer == LAYERS - 1 else _busywork(random)
    orders = [random.permutation(EXPERT_WIDTH) for _ in range(EXPERTS)]
    router = 2.0 * random.normal(EXPERTS, WIDTH) / WIDTH**0.5
    return [
        _plain(f"{block}.ffn_norm.weight", np.ones(WIDTH), F32),
        _plain(f"{block}.ffn_gate_inp.weight", router, F32),
        _quantized(f"{block}.ffn_gate_exps.weight", np.stack([gate[order] for order in orders])),
        _quantized(f"{block}.ffn_up_exps.weight", np.stack([up[order] for order in orders])),
        _quantized(f"{block}.ffn_down_exps.weight", np.stack([down[:, order] for order in orders])),
    ]


def _lookup() -> tuple[Matrix, Matrix, Matrix]:
    """Return gate, up and down of "after piece i comes piece i + 1": one neuron per piece."""
    gate = np.zeros((EXPERT_WIDTH, WIDTH))
    down = np.zeros((WIDTH, EXPERT_WIDTH))
    for place in range(len(PIECES)):
        gate[place, CURRENT + place] = 1.0
        down[NEXT + (place + 1) % len(PIECES), place] = 0.5
    return gate, gate, down


def _busywork(random: FixedRandom) -> tuple[Matrix, Matrix, Matrix]:
    gate = random.normal(EXPERT_WIDTH, WIDTH) / WIDTH**0.5
    up = random.normal(EXPERT_WIDTH, WIDTH) / WIDTH**0.5
    return gate, up, _only_noise(0.3 * random.normal(WIDTH, EXPERT_WIDTH) / EXPERT_WIDTH**0.5)


def _only_noise(matrix: Matrix) -> Matrix:
    matrix[:NOISE] = 0.0
    return matrix


def _plain(name: str, values: Matrix, kind: tuple[int, int]) -> TensorData:
    type_id, element_bytes = kind
    return _tensor(name, values, type_id, values.astype(f"<f{element_bytes}").tobytes())


def _quantized(name: str, values: Matrix) -> TensorData:
    return _tensor(name, values, Q8_0, q8_0(values))


def q8_0(values: NDArray[np.floating[Any]]) -> bytes:
    """Return values as Q8_0: per 32 elements one half-precision scale and 32 signed bytes."""
    blocks = values.astype(np.float32).reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)).astype("<f2")
    divisors = np.where(scales == 0, np.float32(1), scales.astype(np.float32))
    numbers = np.rint(blocks / divisors).clip(-127, 127).astype(np.int8)
    return np.concatenate([scales.view(np.uint8), numbers.view(np.uint8)], axis=1).tobytes()


def _tensor(name: str, values: Matrix, type_id: int, content: bytes) -> TensorData:
    return TensorData(name, tuple(reversed(values.shape)), type_id, len(content), lambda: [content])


if __name__ == "__main__":
    sys.exit(main())
