"""A dense model file as raw material: metadata byte for byte, tensors by place and size."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.gguf.cursor import ByteCursor, GgufError
from app.gguf.facts import TensorInfo
from app.gguf.quants import QUANT_TYPES, QuantType
from app.gguf.reader import GgufHeader, MetadataValue, read_header
from app.gguf.writer import SCALAR_FORMATS, KeyValue, ValueType

TYPE_IDS: Final[Mapping[str, int]] = {kind.name: type_id for type_id, kind in QUANT_TYPES.items()}

_PREFIX_BYTES: Final = 16
"""Magic, version and tensor count; the number of entries follows."""

_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")


class UpcycleError(Exception):
    """The file cannot be made into a mixture of experts."""


@dataclass(frozen=True, slots=True)
class DenseTensor:
    """One tensor of the source.

    Attributes:
        shape: Elements per dimension, ggml order.
        position_bytes: From the start of the file.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    position_bytes: int
    size_bytes: int

    @property
    def quant_type(self) -> QuantType:
        """How its elements are stored."""
        return QUANT_TYPES[self.type_id]


@dataclass(frozen=True, slots=True)
class DenseModel:
    """What upcycling needs of the source.

    Attributes:
        metadata: All entries in file order, undecoded.
        values: The same entries as the header reader shows them.
    """

    path: Path
    metadata: tuple[KeyValue, ...]
    values: Mapping[str, MetadataValue]
    tensors: tuple[DenseTensor, ...]

    def read(self, tensor: DenseTensor) -> bytes:
        """Return a tensor's bytes.

        Raises:
            UpcycleError: the file has become shorter.
        """
        with self.path.open("rb") as stream:
            stream.seek(tensor.position_bytes)
            content = stream.read(tensor.size_bytes)
        if len(content) != tensor.size_bytes:
            raise UpcycleError(f"{tensor.name} ends after {len(content)} of {tensor.size_bytes} bytes")
        return content


def read_dense(path: Path) -> DenseModel:
    """Read the header of a GGUF file.

    Raises:
        UpcycleError: it is no GGUF file, is cut short, or has tensors of an unknown type.
        OSError: the file cannot be opened.
    """
    try:
        header = read_header(path)
        for left in header.overwritten_types:
            raise UpcycleError(f"the type of {left.key} was overwritten with {left.type_id}")
        with path.open("rb", buffering=0) as file:
            ranges = list(_entry_ranges(ByteCursor(file, header.file_size)))
    except GgufError as reason:
        raise UpcycleError(f"{path} cannot be read: {reason}") from reason
    with path.open("rb") as stream:
        content = stream.read(header.data_offset)
    metadata = tuple(KeyValue(key, content[start:end]) for key, start, end in ranges)
    tensors = tuple(_placed(header, tensor) for tensor in header.tensors)
    return DenseModel(path, metadata, header.keys, tensors)


def _entry_ranges(cursor: ByteCursor) -> Iterator[tuple[str, int, int]]:
    """Yield key, start and end of each encoded value, bytes from the start of the file."""
    cursor.skip(_PREFIX_BYTES)
    for _ in range(_integer(cursor, _U64)):
        key = cursor.take(_integer(cursor, _U64)).decode("utf-8", "replace")
        start = cursor.offset
        _skip_value(cursor, _integer(cursor, _U32))
        yield key, start, cursor.offset


def _skip_value(cursor: ByteCursor, type_id: int) -> None:
    if type_id == ValueType.STRING:
        cursor.skip(_integer(cursor, _U64))
    elif type_id != ValueType.ARRAY:
        cursor.skip(struct.calcsize(SCALAR_FORMATS[ValueType(type_id)]))
    else:
        item_type, count = _integer(cursor, _U32), _integer(cursor, _U64)
        if item_type == ValueType.STRING:
            cursor.skip_strings(count)
        else:
            cursor.skip(count * struct.calcsize(SCALAR_FORMATS[ValueType(item_type)]))


def _integer(cursor: ByteCursor, layout: struct.Struct) -> int:
    return int(cursor.unpack(layout)[0])


def _placed(header: GgufHeader, tensor: TensorInfo) -> DenseTensor:
    position = header.data_offset + tensor.offset_bytes
    if tensor.size_bytes is None:
        raise UpcycleError(f"{tensor.name} has the unknown type {tensor.type_name}")
    if position + tensor.size_bytes > header.file_size:
        raise UpcycleError(f"{tensor.name} ends at byte {position + tensor.size_bytes} of {header.file_size}")
    return DenseTensor(tensor.name, tensor.shape, TYPE_IDS[tensor.type_name], position, tensor.size_bytes)
