"""Encodes GGUF files for tests: headers byte by byte, data sections as holes."""

import math
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.gguf.quants import QUANT_TYPES

ALIGNMENT = 32
FSCTL_SET_SPARSE = 0x900C4
_TYPE_IDS = {quant.name: type_id for type_id, quant in QUANT_TYPES.items()}
_VALUE_IDS = {"u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7, "str": 8}
_VALUE_IDS |= {"arr": 9, "u64": 10, "i64": 11, "f64": 12}
_FORMATS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?"}
_FORMATS |= {"u64": "Q", "i64": "q", "f64": "d"}


@dataclass(frozen=True)
class Value:
    """A metadata value with its GGUF type; `element` names the type of an array's elements."""

    type_name: str
    content: object
    element: str | None = None


@dataclass(frozen=True)
class Tensor:
    """A row of the tensor table; shape in ggml order. `type_id` wins over `type_name` (unknown types)."""

    name: str
    shape: tuple[int, ...]
    type_name: str = "F16"
    type_id: int | None = None
    offset_bytes: int | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of its data, rows times whole blocks."""
        quant = QUANT_TYPES[_TYPE_IDS[self.type_name]]
        return math.prod(self.shape) // quant.block_elements * quant.block_bytes


Keys = dict[str, Value]


def u16(number: int) -> Value:
    """Return an unsigned 16-bit value."""
    return Value("u16", number)


def u32(number: int) -> Value:
    """Return an unsigned 32-bit value: what most counts are."""
    return Value("u32", number)


def u64(number: int) -> Value:
    """Return an unsigned 64-bit value."""
    return Value("u64", number)


def i32(number: int) -> Value:
    """Return a signed 32-bit value."""
    return Value("i32", number)


def f32(number: float) -> Value:
    """Return a 32-bit float."""
    return Value("f32", number)


def flag(claim: bool) -> Value:
    """Return a boolean."""
    return Value("bool", claim)


def text(content: str) -> Value:
    """Return a string."""
    return Value("str", content)


def raw(content: bytes) -> Value:
    """Return a value as it lies in a file, its type id included: for broken files."""
    return Value("raw", content)


def array(element: str, content: Sequence[object]) -> Value:
    """Return an array of `element` (`u32`, `str`, `bool`, ...)."""
    return Value("arr", list(content), element)


def gguf_header(
    keys: Mapping[str, Value],
    tensors: Sequence[Tensor] = (),
    *,
    version: int = 3,
    tensor_count: int | None = None,
    key_count: int | None = None,
) -> tuple[bytes, int]:
    """Return the header with its padding, and the bytes of data that follow it."""
    parts = [
        b"GGUF",
        struct.pack(
            "<IQQ",
            version,
            len(tensors) if tensor_count is None else tensor_count,
            len(keys) if key_count is None else key_count,
        ),
    ]
    parts += [_string(key) + _value(value) for key, value in keys.items()]
    data_bytes = 0
    for tensor in tensors:
        offset = data_bytes if tensor.offset_bytes is None else tensor.offset_bytes
        type_id = _TYPE_IDS[tensor.type_name] if tensor.type_id is None else tensor.type_id
        count = len(tensor.shape)
        parts.append(
            _string(tensor.name) + struct.pack("<I", count) + struct.pack(f"<{count}Q", *tensor.shape)
        )
        parts.append(struct.pack("<IQ", type_id, offset))
        data_bytes += _padded(tensor.size_bytes)
    header = b"".join(parts)
    return header.ljust(_padded(len(header)) if tensors else len(header), b"\0"), data_bytes


def gguf_bytes(keys: Mapping[str, Value], tensors: Sequence[Tensor] = (), *, version: int = 3) -> bytes:
    """Return a whole small file; its weights are zeros."""
    header, data_bytes = gguf_header(keys, tensors, version=version)
    return header + bytes(data_bytes)


def write_gguf(
    path: Path, keys: Mapping[str, Value], tensors: Sequence[Tensor] = (), *, version: int = 3
) -> Path:
    """Write a file whose data section is a hole, and return its path. Folders are made."""
    header, data_bytes = gguf_header(keys, tensors, version=version)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(header)
        _make_sparse(file)
        file.truncate(len(header) + data_bytes)
    return path


def _make_sparse(file: BinaryIO) -> None:
    """Let holes cost nothing; Windows sets their space aside unless told not to."""
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        handle = ctypes.c_void_p(msvcrt.get_osfhandle(file.fileno()))
        done = ctypes.byref(ctypes.c_ulong())
        # a volume that cannot do it sets the space aside
        ctypes.windll.kernel32.DeviceIoControl(handle, FSCTL_SET_SPARSE, None, 0, None, 0, done, None)


def _string(content: str | bytes) -> bytes:
    raw = content.encode("utf-8") if isinstance(content, str) else content
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Value) -> bytes:
    if value.type_name == "raw":
        assert isinstance(value.content, bytes)
        return value.content
    kind = struct.pack("<I", _VALUE_IDS[value.type_name])
    if value.type_name != "arr":
        return kind + _scalar(value.type_name, value.content)
    assert value.element is not None and isinstance(value.content, list)
    head = struct.pack("<IQ", _VALUE_IDS[value.element], len(value.content))
    if value.element != "str":
        return kind + head + struct.pack(f"<{len(value.content)}{_FORMATS[value.element]}", *value.content)
    return kind + head + b"".join(_string(item) for item in value.content)


def _scalar(type_name: str, content: object) -> bytes:
    if type_name == "str":
        assert isinstance(content, str | bytes)
        return _string(content)
    return struct.pack("<" + _FORMATS[type_name], content)


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT
