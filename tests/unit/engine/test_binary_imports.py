"""The readers of program files: what files of this system and made-up ones ask for."""

import io
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.engine.binary_imports import Imports, ImportsError, imports_of, read_imports


def windows_program(*libraries: str, delayed: tuple[str, ...] = ()) -> bytes:
    """Return a 64-bit program of Windows with one section that holds its lists of libraries."""
    base, start = 0x1000, 0x400
    lists = 20 * (len(libraries) + 1)
    names_at = lists + 32 * (len(delayed) + 1)
    body, names = bytearray(names_at), b""
    for number, name in enumerate(libraries):
        struct.pack_into("<I", body, number * 20 + 12, base + names_at + len(names))
        names += name.encode("ascii") + b"\0"
    for number, name in enumerate(delayed):
        struct.pack_into("<I", body, lists + number * 32 + 4, base + names_at + len(names))
        names += name.encode("ascii") + b"\0"
    section = bytes(body) + names
    directories = bytearray(16 * 8)
    struct.pack_into("<II", directories, 8, base, lists)
    if delayed:
        struct.pack_into("<II", directories, 13 * 8, base + lists, 32 * len(delayed))
    optional = struct.pack("<H", 0x20B) + bytes(110) + bytes(directories)
    coff = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0)
    header = b".rdata\0\0" + struct.pack("<IIII", len(section), base, len(section), start) + bytes(16)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + coff + optional + header
    return head.ljust(start, b"\0") + section


def linux_program(*libraries: str, folders: str = "") -> bytes:
    """Return a 64-bit library of Linux that is mapped elsewhere than it lies in its file."""
    base, strings = 0x40000, b"\0"
    tags = []
    for name in libraries:
        tags.append((1, len(strings)))
        strings += name.encode("ascii") + b"\0"
    if folders:
        tags.append((29, len(strings)))
        strings += folders.encode("ascii") + b"\0"
    dynamic_at = 64 + 2 * 56
    strings_at = dynamic_at + 16 * (len(tags) + 2)
    tags += [(5, base + strings_at), (0, 0)]
    size = strings_at + len(strings)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQ", 3, 62, 1, 0, 64, 0)
    head += struct.pack("<IHHHHHH", 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096)
    span = 16 * len(tags)
    dynamic = struct.pack("<IIQQQQQQ", 2, 4, dynamic_at, base + dynamic_at, 0, span, span, 8)
    return head + load + dynamic + b"".join(struct.pack("<QQ", *tag) for tag in tags) + strings


WINDOWS = windows_program("ggml-base.dll", "VCRUNTIME140D.dll", delayed=("nvcuda.dll",))
LINUX = linux_program("libggml-base.so.0", "libcudart.so.12", folders="$ORIGIN:/usr/local/cuda/lib64")


def test_a_program_of_windows_tells_its_libraries_and_those_it_loads_later() -> None:
    assert read_imports(io.BytesIO(WINDOWS)) == Imports(
        "Windows", ("ggml-base.dll", "VCRUNTIME140D.dll", "nvcuda.dll")
    )


def test_a_library_of_linux_tells_its_libraries_and_where_they_may_lie() -> None:
    assert read_imports(io.BytesIO(LINUX)) == Imports(
        "Linux", ("libggml-base.so.0", "libcudart.so.12"), ("$ORIGIN", "/usr/local/cuda/lib64")
    )


@pytest.mark.skipif(sys.platform == "win32", reason="reads the program that runs the tests")
def test_the_program_that_runs_the_tests_asks_for_the_c_library() -> None:
    assert any(name.startswith("libc.so") for name in imports_of(Path(sys.executable).resolve()).libraries)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"MZ", b"\x7fELF", b"\x7fELF\x01\x01" + bytes(58)])
def test_what_is_no_program_is_the_one_error(content: bytes) -> None:
    with pytest.raises(ImportsError):
        read_imports(io.BytesIO(content))


def test_a_file_that_is_not_there_is_the_one_error(tmp_path: Path) -> None:
    with pytest.raises(ImportsError):
        imports_of(tmp_path / "gone.dll")
    with pytest.raises(ImportsError):
        imports_of(tmp_path)


@given(
    whole=st.sampled_from((WINDOWS, LINUX)),
    changes=st.lists(st.tuples(st.integers(0, 1200), st.binary(min_size=1, max_size=8)), max_size=6),
    length=st.integers(0, 1400),
)
@example(whole=WINDOWS, changes=[(60, b"\xff\xff\xff\xff")], length=1400)
@example(whole=LINUX, changes=[(32, b"\xff" * 8)], length=1400)
def test_damage_gives_the_one_error_or_names(
    whole: bytes, changes: list[tuple[int, bytes]], length: int
) -> None:
    data = bytearray(whole)
    for at, change in changes:
        data[at : at + len(change)] = change
    try:
        found = read_imports(io.BytesIO(bytes(data[:length])))
    except ImportsError:
        return
    assert all(len(name) <= 260 for name in found.libraries)
