"""Looks for tokens in a vocabulary, which the header reader skips."""

import os
import struct
from collections.abc import Iterable, Iterator
from typing import Final

from app.files import open_regular
from app.findings import FindingError
from app.gguf.reader import GgufHeader, SkippedValue

TOKENS: Final = "tokenizer.ggml.tokens"
_U64 = struct.Struct("<Q")
_READ_BYTES: Final = 1024**2

MAX_TOKENS: Final = 2**20
"""The largest vocabularies have 0.3 million."""

MAX_TOKEN_BYTES: Final = 64 * 1024
"""The longest tokens in use are runs of some hundred blanks."""


def missing_tokens(header: GgufHeader, wanted: Iterable[str]) -> tuple[str, ...] | None:
    """Return those of `wanted` that the vocabulary lacks, in their order; None when it cannot be read.

    Reads the vocabulary once: some milliseconds and a megabyte of memory.
    """
    stored = header.keys.get(TOKENS)
    if isinstance(stored, tuple):
        return tuple(token for token in wanted if token not in stored)
    if not isinstance(stored, SkippedValue) or stored.offset_bytes is None:
        return None
    left = {token.encode("utf-8"): token for token in wanted}
    order = tuple(left.values())
    try:
        for token in stored_tokens(header):
            left.pop(token, None)
            if not left:
                break
    except (OSError, FindingError, struct.error):
        return None
    return tuple(token for token in order if token in left.values())


def stored_tokens(header: GgufHeader) -> Iterator[bytes]:
    """Yield the first `MAX_TOKENS` tokens in order; none when the header does not say where they lie.

    A token longer than `MAX_TOKEN_BYTES` comes empty, so that no file decides how much memory is taken.

    Raises:
        OSError, FindingError, struct.error: the file cannot be read any more, or is another one by now.
    """
    stored = header.keys.get(TOKENS)
    if isinstance(stored, tuple):
        yield from (str(token).encode("utf-8", "replace") for token in stored)
    if not isinstance(stored, SkippedValue) or stored.offset_bytes is None or stored.type_name != "str":
        return
    with open_regular(header.path) as file:
        file.seek(stored.offset_bytes)
        window, at = b"", 0
        for _ in range(min(stored.length, MAX_TOKENS)):
            if at + _U64.size > len(window):
                window, at = window[at:] + file.read(_READ_BYTES), 0
            (length,) = _U64.unpack_from(window, at)
            end = at + _U64.size + length
            if length > MAX_TOKEN_BYTES:
                file.seek(min(end - len(window), header.file_size), os.SEEK_CUR)
                window, at = b"", 0
                yield b""
                continue
            if end > len(window):
                window = window[at:] + file.read(_READ_BYTES)
                at, end = 0, end - at
            yield window[at + _U64.size : end]
            at = end
