"""Which libraries a program file of Windows (PE) or Linux (ELF) asks for. Reads headers, runs nothing."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from app.files import open_regular
from app.findings import FindingError

MOST_LIBRARIES: Final = 4096
LONGEST_NAME_BYTES: Final = 260
MOST_SECTIONS: Final = 512

_ELF: Final = b"\x7fELF"
_PE: Final = b"MZ"
_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRINGS, _RPATH, _RUNPATH = 0, 1, 5, 15, 29
_PE32, _PE32_PLUS = 0x10B, 0x20B
_DIRECTORIES_AT: Final = {_PE32: 96, _PE32_PLUS: 112}
_IMPORTS: Final = (1, 20, 12)
_DELAYED_IMPORTS: Final = (13, 32, 4)
"""(place in the data directory, size of an entry, where in it the name's address stands)."""

_LATIN: Final = "latin-1"


class ImportsError(Exception):
    """The file is no program file, or a damaged one."""


@dataclass(frozen=True, slots=True)
class Imports:
    """What a program file asks its system for.

    Attributes:
        system: `Windows` or `Linux`.
        libraries: As written in the file, in its order.
        folders: Linux: where it wants them looked for, `$ORIGIN` as it stands.
    """

    system: str
    libraries: tuple[str, ...]
    folders: tuple[str, ...] = ()


def imports_of(file: Path) -> Imports:
    """Return what a file asks for.

    Raises:
        ImportsError: it cannot be read, or is no program file.
    """
    try:
        with open_regular(file) as stream:
            return read_imports(stream)
    except (OSError, FindingError) as reason:
        raise ImportsError(str(reason)) from reason


def read_imports(stream: BinaryIO) -> Imports:
    """Return what a program file asks for.

    Source: PE format, import and delay-load directories; ELF-64, `DT_NEEDED` of the dynamic segment.

    Raises:
        ImportsError: anything but a whole program file of 64-bit Linux or of Windows.
    """
    try:
        magic = stream.read(4)
        if magic == _ELF:
            return _elf(stream)
        if magic[:2] == _PE:
            return Imports("Windows", tuple(_pe(stream)))
    except (OSError, OverflowError, ValueError) as reason:
        raise ImportsError(str(reason)) from reason
    raise ImportsError(f"begins with {magic!r}")


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of the file and where it lies in memory."""

    address: int
    size_bytes: int
    offset: int


def _at(stream: BinaryIO, offset: int, count: int) -> bytes:
    stream.seek(offset)
    found = stream.read(count)
    if len(found) < count:
        raise ImportsError(f"ends before {offset + count}")
    return found


def _offset(spans: list[_Span], address: int) -> int:
    for span in spans:
        if span.address <= address < span.address + span.size_bytes:
            return span.offset + address - span.address
    raise ImportsError(f"nothing at address {address:#x}")


def _name(stream: BinaryIO, offset: int) -> str:
    stream.seek(offset)
    found = stream.read(LONGEST_NAME_BYTES + 1)
    end = found.find(b"\0")
    if end < 0:
        raise ImportsError(f"an endless name at {offset}")
    return found[:end].decode(_LATIN)


def _elf(stream: BinaryIO) -> Imports:
    head = _at(stream, 0, 64)
    if head[4] != 2 or head[5] != 1:
        raise ImportsError("not 64-bit little-endian ELF")
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    if size < 56 or count > MOST_SECTIONS:
        raise ImportsError(f"{count} program headers of {size} bytes")
    headers = [struct.unpack("<IIQQQQQQ", _at(stream, table + n * size, 56)) for n in range(count)]
    spans = [_Span(header[3], header[5], header[2]) for header in headers if header[0] == _LOAD]
    tags: list[tuple[int, int]] = []
    for header in headers:
        if header[0] == _DYNAMIC:
            tags += _dynamic(_at(stream, header[2], min(header[5], 16 * MOST_LIBRARIES)))
    strings = next((value for tag, value in tags if tag == _STRINGS), None)
    if strings is None:  # linked statically
        return Imports("Linux", ())
    base = _offset(spans, strings)
    folders = [_name(stream, base + value) for tag, value in tags if tag in (_RPATH, _RUNPATH)]
    return Imports(
        "Linux",
        tuple(_name(stream, base + value) for tag, value in tags if tag == _NEEDED),
        tuple(folder for listed in folders for folder in listed.split(":") if folder),
    )


def _dynamic(data: bytes) -> Iterator[tuple[int, int]]:
    for tag, value in struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]):
        if tag == _END:
            return
        yield tag, value


def _pe(stream: BinaryIO) -> Iterator[str]:
    (start,) = struct.unpack("<I", _at(stream, 60, 4))
    head = _at(stream, start, 26)
    if head[:4] != b"PE\0\0":
        raise ImportsError("an old DOS program")
    sections, optional_size = struct.unpack_from("<H", head, 6)[0], struct.unpack_from("<H", head, 20)[0]
    (kind,) = struct.unpack_from("<H", head, 24)
    if kind not in _DIRECTORIES_AT or sections > MOST_SECTIONS:
        raise ImportsError(f"optional header {kind:#x}, {sections} sections")
    optional = _at(stream, start + 24, optional_size)
    spans = list(_sections(_at(stream, start + 24 + optional_size, 40 * sections)))
    for place, size, name_at in (_IMPORTS, _DELAYED_IMPORTS):
        entry = _DIRECTORIES_AT[kind] + 8 * place
        if entry + 8 > optional_size:
            continue
        address, _ = struct.unpack_from("<II", optional, entry)
        if address:
            yield from _descriptors(stream, spans, _offset(spans, address), (size, name_at))


def _sections(table: bytes) -> Iterator[_Span]:
    for number in range(len(table) // 40):
        virtual, address, raw, offset = struct.unpack_from("<IIII", table, number * 40 + 8)
        yield _Span(address, min(virtual, raw) if virtual else raw, offset)


def _descriptors(stream: BinaryIO, spans: list[_Span], offset: int, shape: tuple[int, int]) -> Iterator[str]:
    size, name_at = shape
    for number in range(MOST_LIBRARIES):
        entry = _at(stream, offset + number * size, size)
        (name,) = struct.unpack_from("<I", entry, name_at)
        if not name:
            return
        yield _name(stream, _offset(spans, name))
    raise ImportsError("an endless list of libraries")
