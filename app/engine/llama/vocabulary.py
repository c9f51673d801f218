"""Text to tokens and back, by the model's own vocabulary."""

import ctypes
import re
from typing import Any, Final

from app.engine.llama.bindings import Library

NO_TOKEN: Final = -1
PIECE_BYTES: Final = 256

_STRUCTURE: Final = re.compile(
    r"think|channel|<\|(?:start|message|constrain|end|return|call)\|>", re.IGNORECASE | re.ASCII
)
"""Control tokens that tell reasoning from answer; a reader of the text needs them."""


class Vocabulary:
    """The tokens of one model."""

    def __init__(self, library: Library, pointer: Any) -> None:
        """Wrap `pointer` of `llama_model_get_vocab`."""
        self._llama = library.llama
        self._pointer = pointer
        self.size: int = self._llama.llama_vocab_n_tokens(pointer)
        self.bos = self._text(self._llama.llama_vocab_bos(pointer))
        self.eos = self._text(self._llama.llama_vocab_eos(pointer))

    def tokenize(self, prompt: str) -> list[int]:
        """Return the tokens of a rendered prompt; control tokens written out in it count as such."""
        data = prompt.encode("utf-8", "replace")
        is_begun = bool(self.bos) and prompt.startswith(self.bos)
        room = len(data) + 2
        while True:
            tokens = (ctypes.c_int32 * room)()
            count = self._llama.llama_tokenize(
                self._pointer, data, len(data), tokens, room, not is_begun, True
            )
            if count >= 0:
                return list(tokens[:count])
            room = -count

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token, not always whole characters.

        A control token has none, unless it marks where reasoning or a channel begins or ends.
        """
        if self._llama.llama_vocab_is_control(self._pointer, token):
            text = self._text(token)
            return text.encode() if _STRUCTURE.search(text) else b""
        room = PIECE_BYTES
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = self._llama.llama_token_to_piece(self._pointer, token, buffer, room, 0, False)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def ends_answer(self, token: int) -> bool:
        """Say whether the model ends its turn with this token."""
        return bool(self._llama.llama_vocab_is_eog(self._pointer, token))

    def _text(self, token: int) -> str:
        if token == NO_TOKEN:
            return ""
        text: bytes = self._llama.llama_vocab_get_text(self._pointer, token) or b""
        return text.decode("utf-8", "replace")
