"""Writes GGUF version 3 files: metadata first, then tensor data streamed piece by piece."""

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO, Final

from app.files import storage_finding
from app.findings import FindingError

MAGIC: Final = b"GGUF"
VERSION: Final = 3
ALIGNMENT: Final = 32
"""Start of every tensor, bytes; readers assume it when `general.alignment` is absent."""

ProgressListener = Callable[[int, int], None]
"""Gets (bytes written, bytes in all)."""


class ValueType(IntEnum):
    """How a metadata value is stored; numbers of the GGUF specification, section "File Structure"."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


SCALAR_FORMATS: Final[Mapping[ValueType, str]] = {
    ValueType.UINT8: "<B",
    ValueType.INT8: "<b",
    ValueType.UINT16: "<H",
    ValueType.INT16: "<h",
    ValueType.UINT32: "<I",
    ValueType.INT32: "<i",
    ValueType.FLOAT32: "<f",
    ValueType.BOOL: "<?",
    ValueType.UINT64: "<Q",
    ValueType.INT64: "<q",
    ValueType.FLOAT64: "<d",
}

MetadataValue = bool | int | float | str


@dataclass(frozen=True, slots=True)
class KeyValue:
    """One metadata entry.

    Attributes:
        encoded: Type number and value exactly as they lie in the file, so that foreign entries copy unread.
    """

    key: str
    encoded: bytes


@dataclass(frozen=True, slots=True)
class TensorData:
    """One tensor and where its bytes come from.

    Attributes:
        shape: Elements per dimension, ggml order (ne[0] is the row length).
        type_id: Number of the ggml type.
        size_bytes: What `chunks` yields in all.
        chunks: Called once, when its turn comes.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    size_bytes: int
    chunks: Callable[[], Iterable[bytes | memoryview]]


def scalar(key: str, value_type: ValueType, value: MetadataValue) -> KeyValue:
    """Return an entry that holds one value.

    Raises:
        struct.error: the value does not fit the type.
    """
    return KeyValue(key, struct.pack("<I", value_type) + _encode(value_type, value))


def text(key: str, value: str) -> KeyValue:
    """Return an entry that holds a string."""
    return scalar(key, ValueType.STRING, value)


def array(key: str, item_type: ValueType, items: Sequence[MetadataValue]) -> KeyValue:
    """Return an entry that holds a list of values of one type.

    Raises:
        struct.error: an item does not fit the type.
    """
    head = struct.pack("<IIQ", ValueType.ARRAY, item_type, len(items))
    return KeyValue(key, head + b"".join(_encode(item_type, item) for item in items))


def write_gguf(
    file: Path,
    metadata: Sequence[KeyValue],
    tensors: Sequence[TensorData],
    on_progress: ProgressListener | None = None,
) -> None:
    """Write a file that appears under its name only when it is complete and on disk.

    Args:
        on_progress: Called after every piece; an exception from it cancels and leaves nothing behind.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`; an older file of that name is untouched.
        ValueError: a tensor yields more or fewer bytes than it announced.
    """
    part = file.with_name(f"{file.name}.part")
    total = sum(tensor.size_bytes for tensor in tensors)
    try:
        with part.open("wb") as stream:
            for written in _write(stream, metadata, tensors):
                if on_progress is not None:
                    on_progress(written, total)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except OSError as reason:
        raise FindingError(storage_finding(reason, file, total)) from reason
    finally:
        part.unlink(missing_ok=True)


def _write(stream: BinaryIO, metadata: Sequence[KeyValue], tensors: Sequence[TensorData]) -> Iterator[int]:
    head = _header(metadata, tensors)
    stream.write(head + bytes(-len(head) % ALIGNMENT))
    written = 0
    for tensor in tensors:
        before = written
        for chunk in tensor.chunks():
            written += stream.write(chunk)
            yield written
        if written - before != tensor.size_bytes:
            raise ValueError(f"{tensor.name} yields {written - before} bytes, announced {tensor.size_bytes}")
        stream.write(bytes(-tensor.size_bytes % ALIGNMENT))


def _header(metadata: Sequence[KeyValue], tensors: Sequence[TensorData]) -> bytes:
    parts = [MAGIC, struct.pack("<IQQ", VERSION, len(tensors), len(metadata))]
    for entry in metadata:
        parts += [_string(entry.key), entry.encoded]
    offset = 0
    for tensor in tensors:
        dimensions = len(tensor.shape)
        parts += [_string(tensor.name), struct.pack(f"<I{dimensions}Q", dimensions, *tensor.shape)]
        parts.append(struct.pack("<IQ", tensor.type_id, offset))
        offset += tensor.size_bytes + -tensor.size_bytes % ALIGNMENT
    return b"".join(parts)


def _encode(value_type: ValueType, value: MetadataValue) -> bytes:
    if value_type is ValueType.STRING:
        return _string(str(value))
    return struct.pack(SCALAR_FORMATS[value_type], value)


def _string(value: str) -> bytes:
    content = value.encode("utf-8")
    return struct.pack("<Q", len(content)) + content
