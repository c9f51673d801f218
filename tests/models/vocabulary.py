"""Byte-level BPE vocabularies of any size, as they lie in a file; large ones are made once and cut.

A real engine loads and uses them: 3 special tokens, 256 bytes, some English pairs, then invented words.
"""

import struct
from functools import cache
from itertools import product
from typing import Final

from app.gguf.writer import KeyValue, ValueType, array, scalar, text
from build_scripts.make_selftest_model import CHAT_TEMPLATE, SPECIALS, spelling

MERGES: Final = (
    *("Ġ t", "Ġ a", "h e", "i n", "r e", "o n", "Ġt he", "e r", "Ġ s", "a t", "Ġ w", "Ġ o", "e n", "Ġ c"),
    *("i t", "i s", "a n", "o r", "e s", "Ġ b", "e d", "Ġ f", "in g", "Ġ p", "o u", "Ġa n", "a l", "a r"),
    *("Ġt o", "Ġ m", "Ġo f", "Ġ in", "Ġ d", "Ġ h", "Ġan d", "i c", "a s", "l e", "Ġt h", "i on"),
)
SMALL: Final = 320
"""Tokens of a tiny model; those that are not needed are marked unused."""

_HEADS: Final = ("b", "c", "d", "f", "g", "h", "bl", "br", "cl", "cr", "dr", "fl")
SYLLABLES: Final = tuple(head + vowel for head in _HEADS for vowel in "aeiou")
"""Each ends at its only vowel, so no two rows of syllables spell the same word."""

NORMAL, CONTROL, UNUSED = 1, 3, 5


def tokenizer_entries(tokens: int) -> list[KeyValue]:
    """Return the `tokenizer.*` entries of a vocabulary of `tokens` entries, 320 or more."""
    names, merges, types = _small()
    invented = tokens - SMALL
    if invented > 0:
        words, pairs = _invented()
        names, merges = [*names, *words[:invented]], [*merges, *pairs[:invented]]
        types = types + struct.pack("<i", NORMAL) * invented
    return [
        text("tokenizer.ggml.model", "gpt2"),
        text("tokenizer.ggml.pre", "gpt-2"),
        _array("tokenizer.ggml.tokens", ValueType.STRING, len(names), b"".join(names)),
        _array("tokenizer.ggml.token_type", ValueType.INT32, len(names), types),
        _array("tokenizer.ggml.merges", ValueType.STRING, len(merges), b"".join(merges)),
        scalar("tokenizer.ggml.bos_token_id", ValueType.UINT32, 1),
        scalar("tokenizer.ggml.eos_token_id", ValueType.UINT32, 2),
        scalar("tokenizer.ggml.eot_token_id", ValueType.UINT32, 2),
        scalar("tokenizer.ggml.padding_token_id", ValueType.UINT32, 0),
        scalar("tokenizer.ggml.add_bos_token", ValueType.BOOL, False),
        text("tokenizer.chat_template", CHAT_TEMPLATE),
    ]


def _array(key: str, item_type: ValueType, count: int, content: bytes) -> KeyValue:
    head = array(key, item_type, ()).encoded[:-8]
    return KeyValue(key, head + struct.pack("<Q", count) + content)


@cache
def _small() -> tuple[list[bytes], list[bytes], bytes]:
    names = [*SPECIALS, *(spelling(bytes([b])) for b in range(256))]
    names += [merge.replace(" ", "") for merge in MERGES]
    kinds = [CONTROL] * len(SPECIALS) + [NORMAL] * (len(names) - len(SPECIALS))
    while len(names) < SMALL:
        kinds.append(UNUSED)
        names.append(f"<unused{len(names)}>")
    return [_string(n) for n in names], [_string(m) for m in MERGES], struct.pack(f"<{SMALL}i", *kinds)


@cache
def _invented() -> tuple[list[bytes], list[bytes]]:
    """Return 216000 words and the merge that makes each."""
    words = ["Ġ" + "".join(syllables) for syllables in product(SYLLABLES, repeat=3)]
    pairs = [f"{word[:4]} {word[4:]}" for word in words]
    return [_string(word) for word in words], [_string(pair) for pair in pairs]


def _string(content: str) -> bytes:
    encoded = content.encode("utf-8")
    return struct.pack("<Q", len(encoded)) + encoded
