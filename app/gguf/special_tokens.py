"""The tokens of a vocabulary that are marks rather than words: where sequences and turns begin and end."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.findings import FindingError
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufHeader
from app.gguf.vocabulary import stored_tokens

MODEL: Final = "tokenizer.ggml.model"
BOS_ID: Final = "tokenizer.ggml.bos_token_id"
EOS_ID: Final = "tokenizer.ggml.eos_token_id"
EOT_ID: Final = "tokenizer.ggml.eot_token_id"
EOM_ID: Final = "tokenizer.ggml.eom_token_id"
ADD_BOS: Final = "tokenizer.ggml.add_bos_token"

_ENDING_IDS: Final = (EOS_ID, EOT_ID, EOM_ID)
_DEFAULT_BOS: Final = {"llama": 1, "gpt2": 11}
_DEFAULT_EOS: Final = {"llama": 2, "gpt2": 11, "t5": 1}
"""What llama.cpp takes where a key is absent (`llama_vocab::impl::load`)."""

ENDS_BY_TEXT: Final = frozenset(
    {
        *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>"),
        *("<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]"),
        *("<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>"),
        *("<｜end▁of▁sentence｜>", "[e~["),
    }
)
"""By these texts llama.cpp knows tokens that end an answer, whatever the keys say (b10434)."""

MARK: Final = re.compile(r"<[^<>\s]{1,80}>|\[[^\[\]\s]{1,40}\]|\[e~\[")
"""How marks look in all vocabularies seen so far."""

_UNREAD: Final = ("no_vocab", "none")
"""Tokenizers whose tokens engines do not look at."""

_MOST_MARKS: Final = 16_384
_MOST_COMPARED: Final = 2**19


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What a template and the end of a turn need of a vocabulary.

    Attributes:
        bos: Text of the token that begins a sequence, empty without one; `eos` of the one that ends it.
        adds_bos: Engines put `bos` in front of a prompt that lacks it.
        ending_ids: Tokens that end an answer by the keys.
        marks: Number of each token that looks like a mark, by its text.
        free_key: The key that can name one more ending token.
        twice: A text that two tokens have, at which engines end themselves; None in all sound vocabularies.
    """

    bos: str = ""
    eos: str = ""
    adds_bos: bool = False
    ending_ids: frozenset[int] = frozenset()
    marks: Mapping[str, int] = field(default_factory=dict)
    free_key: str = EOT_ID
    twice: str | None = None

    def ends_answer(self, mark: str) -> bool:
        """Say whether an engine takes the token with this text as an end."""
        return mark in ENDS_BY_TEXT or self.marks.get(mark) in self.ending_ids


def special_tokens(header: GgufHeader) -> SpecialTokens | None:
    """Return the marks of a vocabulary, read once from the file; None when it has none that can be read.

    Some 0.2 s for the largest vocabularies.
    """
    metadata = Metadata(header.keys)
    model = metadata.string(MODEL) or ""
    bos_id = _number(metadata, BOS_ID, _DEFAULT_BOS.get(model))
    eos_id = _number(metadata, EOS_ID, _DEFAULT_EOS.get(model))
    texts: dict[int, str] = {}
    marks: dict[str, int] = {}
    texts_seen = _Repetition()
    try:
        for number, token in enumerate(stored_tokens(header)):
            texts_seen.add(token)
            is_asked = number in (bos_id, eos_id)
            if not is_asked and (token[:1] not in (b"<", b"[") or token[-1:] not in (b">", b"]", b"[")):
                continue
            text = token[:1024].decode("utf-8", "replace")
            if is_asked:
                texts[number] = text
            if len(marks) < _MOST_MARKS and MARK.fullmatch(text):
                marks.setdefault(text, number)
    except (OSError, FindingError, struct.error):
        return None
    if metadata.length("tokenizer.ggml.tokens") is None:
        return None
    ids = {_number(metadata, key, None) for key in _ENDING_IDS} | {eos_id}
    adds_bos = header.keys.get(ADD_BOS, model == "llama")
    return SpecialTokens(
        bos=texts.get(bos_id, "") if bos_id is not None else "",
        eos=texts.get(eos_id, "") if eos_id is not None else "",
        adds_bos=adds_bos is True,
        ending_ids=frozenset(number for number in ids if number is not None),
        marks=marks,
        free_key=EOM_ID if EOT_ID in header.keys and EOM_ID not in header.keys else EOT_ID,
        twice=None if model in _UNREAD else texts_seen.twice,
    )


class _Repetition:
    """Notices a text that comes twice, by hashes: texts may be long.

    Attributes:
        twice: The first such text.
    """

    def __init__(self) -> None:
        self.twice: str | None = None
        self._seen: set[int] = set()

    def add(self, token: bytes) -> None:
        """Look at one more; engines read up to a zero byte, and give an empty one a name of its own."""
        known = hash(token) if b"\0" not in token else hash(token.partition(b"\0")[0])
        if known not in self._seen:
            if len(self._seen) < _MOST_COMPARED:
                self._seen.add(known)
        elif self.twice is None and token and token[0]:
            self.twice = token[:80].decode("utf-8", "replace")


def _number(metadata: Metadata, key: str, otherwise: int | None) -> int | None:
    found = metadata.number(key)
    return otherwise if found is None else found
