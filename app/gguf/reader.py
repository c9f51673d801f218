"""Bytes of a GGUF header -> key-values and tensor table; never tensor data.

Source: the GGUF specification in ggml's docs, versions 2 and 3. Long arrays are skipped: their contents (the
vocabulary) are never needed here and cost seconds and hundreds of megabytes in general-purpose readers.
"""

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from app.files import is_elsewhere, open_regular
from app.findings import FindingError
from app.gguf.cursor import ByteCursor, GgufError
from app.gguf.facts import TensorInfo
from app.gguf.key_types import U32_ID, OverwrittenType, is_count, is_name_next
from app.gguf.quants import tensor_bytes, type_name
from app.gguf.value_types import ARRAY, SCALARS, STRING, value_type_name

__all__ = [
    "GgufError",
    "GgufHeader",
    "MetadataValue",
    "SkippedValue",
    "parse_header",
    "read_header",
    "value_type_name",
]

MAGIC: Final = b"GGUF"
DEFAULT_ALIGNMENT: Final = 32
MAX_KEYS: Final = 8192
MAX_TENSORS: Final = 32_768
"""Real models have some 60 keys and up to 2300 tensors. Each limit here keeps the worst header there can be
within a second and 50 MB (measured; `tests/unit/gguf/test_gguf_worst.py`)."""

MAX_DIMENSIONS: Final = 16
"""Read up to this many so the rest of the table stays readable; engines take four."""

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
MAX_DOUBTS: Final = 64
"""Counts that are no `u32`, and so may be read twice in search of an overwritten type."""

_NUMBER_BYTES: Final = 40
_TEXT_BYTES: Final = 64
"""What one number or one empty text takes in memory, about."""

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_COUNTS = struct.Struct("<QQ")
_ARRAY_HEAD = struct.Struct("<IQ")
_TENSOR_TAIL = struct.Struct("<IQ")

_Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class SkippedValue:
    """A value too long to keep: an array of `length` elements, or a string of that many bytes.

    Attributes:
        type_name: Of the elements, e.g. `str`, `i32`; `text` for one long string.
        offset_bytes: Of the first element, from the start of the file.
    """

    type_name: str
    length: int
    offset_bytes: int | None = field(default=None, compare=False)


MetadataValue = _Scalar | tuple[_Scalar, ...] | SkippedValue


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The header of one file.

    Attributes:
        keys: By full name. Of a key that comes twice the first value counts.
        duplicate_keys: Names that came more than once; engines refuse such a file.
        key_types: How each value is stored: `u32`, `f32`, `str`, `arr`, ...
        overwritten_types: Counts whose type is not theirs; `keys` holds them as they were meant.
        tensors: In file order.
        data_offset: Where the data section starts, bytes from the start of the file.
        file_size: Bytes on disk.
    """

    path: Path
    version: int
    keys: dict[str, MetadataValue]
    duplicate_keys: tuple[str, ...]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    data_offset: int
    file_size: int
    key_types: dict[str, str] = field(default_factory=dict)
    overwritten_types: tuple[OverwrittenType, ...] = ()


def read_header(path: Path, shard: int = 0) -> GgufHeader:
    """Read the header of the file at `path`; nothing of the file stays open.

    Args:
        shard: Index of this file in its split model, noted in each tensor.

    Raises:
        GgufError: anything else than a readable GGUF header of version 2 or 3.
    """
    try:
        status = path.stat()
        if is_elsewhere(status):
            raise GgufError("elsewhere", size_bytes=status.st_size)
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return _HeaderReader(path, ByteCursor(file, size), size).read(shard)
    except FindingError as reason:
        raise GgufError("not-a-file", kind=str(reason.finding.values["kind"])) from reason
    except PermissionError as reason:
        raise GgufError("access-denied", detail=str(reason.strerror)) from reason
    except OSError as reason:
        raise GgufError("unreadable", detail=str(reason.strerror or reason)) from reason


def parse_header(path: Path, file: BinaryIO, size_bytes: int) -> GgufHeader:
    """Read a header from an open stream, as if it began a file at `path` of `size_bytes`.

    Raises:
        GgufError: as `read_header` does.
    """
    return _HeaderReader(path, ByteCursor(file, size_bytes), size_bytes).read(0)


class _HeaderReader:
    """Reads one header from front to back."""

    def __init__(self, path: Path, cursor: ByteCursor, size: int) -> None:
        self._path = path
        self._cursor = cursor
        self._size = size
        self._value_bytes = 0
        self._name_bytes = 0
        self._strings = 0
        self._key = ""
        self._key_types: dict[str, str] = {}
        self._overwritten: list[OverwrittenType] = []
        self._doubts = 0

    def read(self, shard: int) -> GgufHeader:
        version = self._version()
        tensor_count, key_count = self._counts()
        keys, duplicates = self._keys(key_count)
        alignment = _alignment(keys, self._size)
        tensors = tuple(self._tensor(shard) for _ in range(tensor_count))
        data_offset = -(-self._cursor.offset // alignment) * alignment
        return GgufHeader(
            *(self._path, version, keys, duplicates, tensors, alignment, data_offset, self._size),
            key_types=self._key_types,
            overwritten_types=tuple(self._overwritten),
        )

    def _version(self) -> int:
        magic = self._cursor.take(min(4, self._size))
        if magic != MAGIC:
            raise GgufError("not-gguf", magic=magic.hex())
        version = self._integer(_U32)
        if version and version & 0xFFFF == 0:
            raise GgufError("big-endian", version=version)
        if version not in (2, 3):
            raise GgufError("version", version=version)
        return version

    def _counts(self) -> tuple[int, int]:
        tensors, keys = (int(count) for count in self._cursor.unpack(_COUNTS))
        if tensors > MAX_TENSORS:
            raise GgufError("bad-count", tensors=tensors)
        if keys > MAX_KEYS:
            raise GgufError("bad-count", keys=keys)
        return tensors, keys

    def _keys(self, count: int) -> tuple[dict[str, MetadataValue], tuple[str, ...]]:
        keys: dict[str, MetadataValue] = {}
        duplicates = []
        for _ in range(count):
            self._key = name = self._name()
            type_id = self._integer(_U32)
            is_doubtful = type_id != U32_ID and is_count(name)
            value = self._count(type_id) if is_doubtful else self._value(type_id)
            if name in keys:
                duplicates.append(name)
            else:
                keys[name] = value
                self._key_types[name] = value_type_name(type_id)
        return keys, tuple(dict.fromkeys(duplicates))

    def _value(self, type_id: int) -> MetadataValue:
        if type_id == STRING:
            return self._text()
        if type_id == ARRAY:
            return self._array()
        return self._cursor.unpack(self._layout(type_id))[0]

    def _count(self, type_id: int) -> MetadataValue:
        """Return a count by its type, or as `u32` when only that leads to the next name."""
        start = self._cursor.offset
        self._doubts += 1
        try:
            value = self._value(type_id)
            reason = None
            if self._doubts > MAX_DOUBTS or is_name_next(self._cursor):
                return value
        except GgufError as failure:
            value, reason = 0, failure
        end = self._cursor.offset
        meant = self._meant(start)
        if meant is not None:
            self._overwritten.append(OverwrittenType(self._key, type_id, start - _U32.size, meant))
            return meant
        self._cursor.seek(end)
        if reason is not None:
            raise reason
        return value

    def _meant(self, start: int) -> int | None:
        """Return the `u32` at `start` when it leads to the next name."""
        self._cursor.seek(start)
        try:
            number = self._integer(_U32)
        except GgufError:  # the file ends with a shorter value
            return None
        return number if is_name_next(self._cursor) else None

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

    def _name(self) -> str:
        length = self._length()
        self._name_bytes += length
        if self._name_bytes > MAX_KEPT_BYTES:
            raise GgufError("bad-length", length=length, offset=self._cursor.offset)
        return self._cursor.take(length).decode("utf-8", "replace")

    def _tensor(self, shard: int) -> TensorInfo:
        name = self._name()
        dimensions = self._integer(_U32)
        if dimensions > MAX_DIMENSIONS:
            raise GgufError("dimensions", dimensions=dimensions, offset=self._cursor.offset)
        shape = struct.unpack(f"<{dimensions}Q", self._cursor.take(8 * dimensions))
        type_id, offset = (int(number) for number in self._cursor.unpack(_TENSOR_TAIL))
        return TensorInfo(name, shape, type_name(type_id), offset, tensor_bytes(type_id, shape), shard)

    def _length(self) -> int:
        length = self._integer(_U64)
        self._check_length(length)
        return length

    def _check_length(self, length: int, most: int = MAX_LENGTH) -> None:
        if length > most:
            raise GgufError("bad-length", length=length, offset=self._cursor.offset)

    def _layout(self, type_id: int) -> struct.Struct:
        if type_id not in SCALARS:
            raise GgufError("value-type", type=type_id, offset=self._cursor.offset, key=self._key[:200])
        return SCALARS[type_id][1]

    def _integer(self, layout: struct.Struct) -> int:
        return int(self._cursor.unpack(layout)[0])

    def _may_keep(self, size_bytes: int) -> bool:
        if self._value_bytes + size_bytes > MAX_KEPT_BYTES:
            return False
        self._value_bytes += size_bytes
        return True


def _alignment(keys: dict[str, MetadataValue], file_size: int) -> int:
    """Return where tensors may start; no file is shorter than the step between two of its tensors."""
    alignment = keys.get("general.alignment", DEFAULT_ALIGNMENT)
    most = max(file_size, DEFAULT_ALIGNMENT)
    if isinstance(alignment, int) and 0 < alignment <= most and alignment & (alignment - 1) == 0:
        return int(alignment)
    raise GgufError("alignment", alignment=str(alignment))
