"""Bytes of a GGUF header -> names and values, within what any header may take of time and memory.

Long arrays are skipped: their contents (the vocabulary) are never needed here and cost seconds and hundreds
of megabytes in general-purpose readers.
"""

import struct
from typing import Final

from app.gguf.cursor import ByteCursor, GgufError
from app.gguf.header import MetadataValue, SkippedValue
from app.gguf.value_types import ARRAY, SCALARS, STRING

MAX_LENGTH: Final = 2**30
"""Longest string in bytes that ggml accepts."""

MAX_ELEMENTS: Final = 2**24
MAX_STRINGS: Final = 2**22
"""Over all arrays: each costs a step. The largest vocabularies have 0.3 million, and 0.6 million merges."""

MAX_KEPT_TEXT_BYTES: Final = 1024**2
MAX_KEPT_BYTES: Final = 8 * 1024**2
"""Of values, and again of names, as Python holds them."""

MAX_KEPT_NUMBERS: Final = 1024
MAX_KEPT_STRINGS: Final = 64
_NUMBER_BYTES: Final = 40
_TEXT_BYTES: Final = 64
"""What one number or one empty text takes in memory, about."""

_U64 = struct.Struct("<Q")
_ARRAY_HEAD = struct.Struct("<IQ")


class ValueReader:
    """Reads one name or value after the other, and counts what they take.

    Attributes:
        key: Name of the key whose value is read; for errors.
    """

    def __init__(self, cursor: ByteCursor) -> None:
        self.key = ""
        self._cursor = cursor
        self._value_bytes = 0
        self._name_bytes = 0
        self._strings = 0

    def value(self, type_id: int) -> MetadataValue:
        """Return the next value, stored as `type_id`; one too long to keep is skipped.

        Raises:
            GgufError: the file ends in it, or it is none.
        """
        if type_id == STRING:
            return self._text()
        if type_id == ARRAY:
            return self._array()
        return self._cursor.unpack(self._layout(type_id))[0]

    def _array(self) -> MetadataValue:
        type_id, length = (int(number) for number in self._cursor.unpack(_ARRAY_HEAD))
        self._check_length(length, MAX_ELEMENTS)
        if type_id == ARRAY:
            raise GgufError("nested-array", offset=self._cursor.offset)
        if type_id == STRING:
            return self._strings_of(length)
        layout = self._layout(type_id)
        if length <= MAX_KEPT_NUMBERS and self._may_keep(length * _NUMBER_BYTES):
            return self._cursor.unpack(struct.Struct(f"<{length}{layout.format[-1]}"))
        start = self._cursor.offset
        self._cursor.skip(length * layout.size)
        return SkippedValue(SCALARS[type_id][0], length, start)

    def _strings_of(self, length: int) -> MetadataValue:
        self._strings += length
        self._check_length(self._strings, MAX_STRINGS)
        start = self._cursor.offset
        if length <= MAX_KEPT_STRINGS and self._may_keep(length * _TEXT_BYTES):
            texts = tuple(self._text() for _ in range(length))
            kept = tuple(text for text in texts if isinstance(text, str))
            return kept if len(kept) == length else SkippedValue("str", length, start)
        self._cursor.skip_strings(length)
        return SkippedValue("str", length, start)

    def _text(self) -> str | SkippedValue:
        length = self._length()
        if length <= MAX_KEPT_TEXT_BYTES and self._may_keep(length):
            return self._cursor.take(length).decode("utf-8", "replace")
        self._cursor.skip(length)
        return SkippedValue("text", length)

    def name(self) -> str:
        """Return the next name of a key or a tensor; raises as `value` does."""
        length = self._length()
        self._name_bytes += length
        if self._name_bytes > MAX_KEPT_BYTES:
            raise GgufError("bad-length", length=length, offset=self._cursor.offset)
        return self._cursor.take(length).decode("utf-8", "replace")

    def _length(self) -> int:
        length = self.integer(_U64)
        self._check_length(length)
        return length

    def _check_length(self, length: int, most: int = MAX_LENGTH) -> None:
        if length > most:
            raise GgufError("bad-length", length=length, offset=self._cursor.offset)

    def _layout(self, type_id: int) -> struct.Struct:
        if type_id not in SCALARS:
            raise GgufError("value-type", type=type_id, offset=self._cursor.offset, key=self.key[:200])
        return SCALARS[type_id][1]

    def integer(self, layout: struct.Struct) -> int:
        """Return the next number of that layout; raises as `value` does."""
        return int(self._cursor.unpack(layout)[0])

    def _may_keep(self, size_bytes: int) -> bool:
        if self._value_bytes + size_bytes > MAX_KEPT_BYTES:
            return False
        self._value_bytes += size_bytes
        return True
