"""Bytes of a GGUF header -> key-values and tensor table; never tensor data.

Source: the GGUF specification in ggml's docs, versions 2 and 3.
"""

import os
import struct
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from app.files import is_elsewhere, open_regular
from app.findings import FindingError
from app.gguf import quants
from app.gguf.cursor import ByteCursor, GgufError
from app.gguf.facts import TensorInfo
from app.gguf.header import GgufHeader, MetadataValue, SkippedValue
from app.gguf.key_types import U32_ID, OverwrittenType, is_count, is_name_next
from app.gguf.value_reader import MAX_ELEMENTS, MAX_LENGTH, MAX_STRINGS, ValueReader
from app.gguf.value_types import value_type_name

__all__ = [
    "MAX_ELEMENTS",
    "MAX_LENGTH",
    "MAX_STRINGS",
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

MAX_DOUBTS: Final = 64
"""Counts that are no `u32`, and so may be read twice in search of an overwritten type."""

_U32 = struct.Struct("<I")
_COUNTS = struct.Struct("<QQ")
_SHAPES_AND_TAILS: Final = tuple(struct.Struct(f"<{count}QIQ") for count in range(MAX_DIMENSIONS + 1))
"""By the number of dimensions: their lengths, the type and the offset."""


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
        self._values = ValueReader(cursor)
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
        version = self._values.integer(_U32)
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
            self._values.key = name = self._values.name()
            type_id = self._values.integer(_U32)
            is_doubtful = type_id != U32_ID and is_count(name)
            value = self._count(type_id) if is_doubtful else self._values.value(type_id)
            if name in keys:
                duplicates.append(name)
            else:
                keys[name] = value
                self._key_types[name] = value_type_name(type_id)
        return keys, tuple(dict.fromkeys(duplicates))

    def _count(self, type_id: int) -> MetadataValue:
        """Return a count by its type, or as `u32` when only that leads to the next name."""
        start = self._cursor.offset
        self._doubts += 1
        try:
            value = self._values.value(type_id)
            reason = None
            if self._doubts > MAX_DOUBTS or is_name_next(self._cursor):
                return value
        except GgufError as failure:
            value, reason = 0, failure
        end = self._cursor.offset
        meant = self._meant(start)
        if meant is not None:
            self._overwritten.append(OverwrittenType(self._values.key, type_id, start - _U32.size, meant))
            return meant
        self._cursor.seek(end)
        if reason is not None:
            raise reason
        return value

    def _meant(self, start: int) -> int | None:
        """Return the `u32` at `start` when it leads to the next name."""
        self._cursor.seek(start)
        try:
            number = self._values.integer(_U32)
        except GgufError:  # the file ends with a shorter value
            return None
        return number if is_name_next(self._cursor) else None

    def _tensor(self, shard: int) -> TensorInfo:
        name = self._values.name()
        dimensions = self._values.integer(_U32)
        if dimensions > MAX_DIMENSIONS:
            raise GgufError("dimensions", dimensions=dimensions, offset=self._cursor.offset)
        *lengths, type_id, offset = self._cursor.unpack(_SHAPES_AND_TAILS[dimensions])
        shape = tuple(int(length) for length in lengths)
        type_name, size = _stored_as(int(type_id), shape)
        return TensorInfo(name, shape, type_name, int(offset), size, shard)


@lru_cache(1024)
def _stored_as(type_id: int, shape: tuple[int, ...]) -> tuple[str, int | None]:
    """Return the name of a type, and the bytes of a tensor of it; most tensors of a model share theirs."""
    return quants.type_name(type_id), quants.tensor_bytes(type_id, shape)


def _alignment(keys: dict[str, MetadataValue], file_size: int) -> int:
    """Return where tensors may start; no file is shorter than the step between two of its tensors."""
    alignment = keys.get("general.alignment", DEFAULT_ALIGNMENT)
    most = max(file_size, DEFAULT_ALIGNMENT)
    if isinstance(alignment, int) and 0 < alignment <= most and alignment & (alignment - 1) == 0:
        return int(alignment)
    raise GgufError("alignment", alignment=str(alignment))
