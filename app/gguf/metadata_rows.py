"""All key-values of one file as text, read anew when somebody looks at them.

The header's reader keeps what the facts need; here every value is shown with where it lies. What is kept is
bounded whatever the file claims: `MAX_KEPT_CHARS` in all, `MAX_VALUE_CHARS` of one value.
"""

import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.files import open_regular
from app.findings import FindingError
from app.gguf.cursor import ByteCursor, GgufError
from app.gguf.reader import MAGIC, MAX_ELEMENTS, MAX_KEYS, MAX_LENGTH, MAX_STRINGS, value_type_name

MAX_VALUE_CHARS: Final = 128 * 1024
"""Of one text: the longest chat templates have some 20,000 characters."""

MAX_KEPT_CHARS: Final = 4 * 1024**2
MAX_KEY_BYTES: Final = 256
SHOWN_ELEMENTS: Final = 64
MAX_ELEMENT_CHARS: Final = 200
_BYTES_PER_CHAR: Final = 4
_FORMATS: Final = {
    "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i",
    "u64": "Q", "i64": "q", "f32": "f", "f64": "d", "bool": "?",
}  # fmt: skip
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_HEAD = struct.Struct("<IQQ")
_ARRAY_HEAD = struct.Struct("<IQ")


@dataclass(frozen=True, slots=True)
class MetadataRow:
    """One key-value.

    Attributes:
        type_name: `u32`, `str`, `f32[]` for an array of such.
        value: As text; an array as its first elements.
        element_count: Of an array; None for one value.
        offset_bytes: Where the value lies, from the start of the file.
        is_cut: The file holds more than `value` says.
    """

    key: str
    type_name: str
    value: str
    element_count: int | None
    offset_bytes: int
    is_cut: bool = False


def metadata_rows(path: Path) -> tuple[MetadataRow, ...]:
    """Return the key-values of the file at `path` in its order, a key that comes twice included.

    Raises:
        GgufError: as `reader.read_header` does, for the key-values alone.
    """
    with _opened(path) as cursor:
        magic = cursor.take(len(MAGIC))
        if magic != MAGIC:
            raise GgufError("not-gguf", magic=magic.hex())
        version, _, keys = (int(number) for number in cursor.unpack(_HEAD))
        if version not in (2, 3):
            raise GgufError("version", version=version)
        if keys > MAX_KEYS:
            raise GgufError("bad-count", keys=keys)
        return tuple(_RowReader(cursor).rows(keys))


@contextmanager
def _opened(path: Path) -> Iterator[ByteCursor]:
    try:
        with open_regular(path) as file:
            yield ByteCursor(file, os.fstat(file.fileno()).st_size)
    except FindingError as reason:
        raise GgufError("not-a-file", kind=str(reason.finding.values["kind"])) from reason
    except PermissionError as reason:
        raise GgufError("access-denied", detail=str(reason.strerror)) from reason
    except OSError as reason:
        raise GgufError("unreadable", detail=str(reason.strerror or reason)) from reason


class _RowReader:
    """Walks over the key-values of one header."""

    def __init__(self, cursor: ByteCursor) -> None:
        self._cursor = cursor
        self._left = MAX_KEPT_CHARS
        self._strings = 0

    def rows(self, count: int) -> Iterator[MetadataRow]:
        for _ in range(count):
            key = self._key()
            type_name = value_type_name(self._integer(_U32))
            if type_name == "arr":
                yield self._array(key)
                continue
            offset = self._cursor.offset
            value, is_cut = self._text(MAX_VALUE_CHARS) if type_name == "str" else self._number(type_name)
            yield MetadataRow(key, type_name, value, None, offset, is_cut)

    def _array(self, key: str) -> MetadataRow:
        type_id, length = (int(number) for number in self._cursor.unpack(_ARRAY_HEAD))
        offset, type_name = self._cursor.offset, value_type_name(type_id)
        self._check(length, MAX_ELEMENTS)
        if type_name == "arr":
            raise GgufError("nested-array", offset=offset)
        shown = min(length, SHOWN_ELEMENTS) if self._left > 0 else 0
        if type_name == "str":
            self._strings += length
            self._check(self._strings, MAX_STRINGS)
            texts = [self._text(MAX_ELEMENT_CHARS) for _ in range(shown)]
            self._cursor.skip_strings(length - shown)
            is_cut = length > shown or any(cut for _, cut in texts)
            words = [json.dumps(text, ensure_ascii=False) + "…" * cut for text, cut in texts]
        else:
            words = [self._number(type_name)[0] for _ in range(shown)]
            self._cursor.skip((length - shown) * self._layout(type_name).size)
            self._left -= sum(map(len, words))
            is_cut = length > shown
        value = ", ".join(words + ["…"] * (length > shown))
        return MetadataRow(key, f"{type_name}[]", f"[{value}]", length, offset, is_cut)

    def _key(self) -> str:
        length = self._integer(_U64)
        self._check(length, MAX_LENGTH)
        kept = min(length, MAX_KEY_BYTES)
        key = self._cursor.take(kept).decode("utf-8", "replace")
        self._cursor.skip(length - kept)
        return key + "…" * (kept < length)

    def _text(self, most: int) -> tuple[str, bool]:
        """Return a text and whether it goes on in the file."""
        length = self._integer(_U64)
        self._check(length, MAX_LENGTH)
        most = max(0, min(most, self._left))
        kept = min(length, most * _BYTES_PER_CHAR)
        text = self._cursor.take(kept).decode("utf-8", "replace")
        self._cursor.skip(length - kept)
        self._left -= min(len(text), most)
        return text[:most], kept < length or len(text) > most

    def _number(self, type_name: str) -> tuple[str, bool]:
        value = self._cursor.unpack(self._layout(type_name))[0]
        if isinstance(value, float) and type_name == "f32":
            return f"{value:.7g}", False  # what 32 bits tell apart
        return str(value), False

    def _layout(self, type_name: str) -> struct.Struct:
        if type_name not in _FORMATS:
            raise GgufError("value-type", type=type_name, offset=self._cursor.offset)
        return struct.Struct(f"<{_FORMATS[type_name]}")

    def _integer(self, layout: struct.Struct) -> int:
        return int(self._cursor.unpack(layout)[0])

    def _check(self, length: int, most: int) -> None:
        if length > most:
            raise GgufError("bad-length", length=length, offset=self._cursor.offset)
