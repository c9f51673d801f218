"""Where each entry of a header lies in its file, so that one can be changed and the others copied unread."""

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.files import open_regular
from app.gguf.cursor import ByteCursor, GgufError
from app.gguf.reader import MAX_DIMENSIONS, MAX_ELEMENTS, MAX_KEYS, MAX_LENGTH, MAX_STRINGS, MAX_TENSORS
from app.gguf.value_types import ARRAY, SCALARS, STRING

COUNT_OFFSET: Final = 16
"""Where the number of keys stands: behind magic, version and the number of tensors."""

FIRST_KEY_OFFSET: Final = 24
MAX_HEADER_BYTES: Final = 512 * 1024**2

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_ARRAY_HEAD = struct.Struct("<IQ")


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One key with its value; offsets are bytes from the start of the file.

    Attributes:
        offset: Of the key's length.
        type_offset: Of the type; the value follows its 4 bytes.
        end: Of the value.
    """

    key: str
    offset: int
    type_offset: int
    end: int


@dataclass(frozen=True, slots=True)
class RawHeader:
    """A header as it lies in the file.

    Attributes:
        content: All of it, up to the last row of the tensor table; no padding.
        tensors_offset: Where the tensor table begins.
    """

    path: Path
    content: bytes
    entries: tuple[RawEntry, ...]
    tensors_offset: int

    def stored(self, entry: RawEntry) -> bytes:
        """Return type and value of an entry."""
        return self.content[entry.type_offset : entry.end]


def read_raw_header(path: Path, overwritten_offsets: Iterable[int] = ()) -> RawHeader:
    """Return where everything lies in the header of `path`.

    Args:
        overwritten_offsets: Of types that are not true: a `u32` follows them whatever they say.

    Raises:
        GgufError: the header cannot be followed to its end.
        FindingError, OSError: as `open_regular` does.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        walk = _Walk(ByteCursor(file, size), frozenset(overwritten_offsets))
        entries, tensors_offset = walk.entries()
        end = walk.end_of_tensors()
        file.seek(0)
        content = ByteCursor(file, size).take(_checked(end, MAX_HEADER_BYTES))
    return RawHeader(path, content, entries, tensors_offset)


class _Walk:
    """Walks over one header from front to back and keeps nothing but offsets and names."""

    def __init__(self, cursor: ByteCursor, overwritten_offsets: frozenset[int]) -> None:
        self._cursor = cursor
        self._overwritten = overwritten_offsets
        cursor.skip(8)
        self._tensor_count = _checked(self._integer(_U64), MAX_TENSORS)
        self._key_count = _checked(self._integer(_U64), MAX_KEYS)

    def entries(self) -> tuple[tuple[RawEntry, ...], int]:
        """Return all entries, and where they end."""
        return tuple(self._entry() for _ in range(self._key_count)), self._cursor.offset

    def end_of_tensors(self) -> int:
        """Return where the tensor table ends."""
        for _ in range(self._tensor_count):
            self._cursor.skip(_checked(self._integer(_U64), MAX_LENGTH))
            self._cursor.skip(8 * _checked(self._integer(_U32), MAX_DIMENSIONS) + _ARRAY_HEAD.size)
        return self._cursor.offset

    def _entry(self) -> RawEntry:
        cursor = self._cursor
        offset = cursor.offset
        name = cursor.take(_checked(self._integer(_U64), MAX_LENGTH))
        type_offset = cursor.offset
        type_id = self._integer(_U32)
        if type_offset in self._overwritten:
            cursor.skip(_U32.size)
        else:
            self._skip_value(type_id)
        return RawEntry(name.decode("utf-8", "replace"), offset, type_offset, cursor.offset)

    def _skip_value(self, type_id: int) -> None:
        cursor = self._cursor
        if type_id == STRING:
            cursor.skip(_checked(self._integer(_U64), MAX_LENGTH))
        elif type_id in SCALARS:
            cursor.skip(SCALARS[type_id][1].size)
        elif type_id == ARRAY:
            item_type, length = (int(number) for number in cursor.unpack(_ARRAY_HEAD))
            if item_type == STRING:
                cursor.skip_strings(_checked(length, MAX_STRINGS))
            elif item_type in SCALARS:
                cursor.skip(_checked(length, MAX_ELEMENTS) * SCALARS[item_type][1].size)
            else:
                raise GgufError("value-type", type=item_type, offset=cursor.offset)
        else:
            raise GgufError("value-type", type=type_id, offset=cursor.offset)

    def _integer(self, layout: struct.Struct) -> int:
        return int(self._cursor.unpack(layout)[0])


def _checked(number: int, most: int) -> int:
    if number > most:
        raise GgufError("bad-count", found=number)
    return number
