"""The worst headers there can be end within a second and in little memory."""

import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from app.findings import Finding, FindingCode
from app.gguf.inspect_file import inspect_path
from app.gguf.reader import MAX_ELEMENTS, MAX_KEYS, MAX_STRINGS, MAX_TENSORS

CPU_SECONDS = 1.0
SLACK = 3
PEAK_BYTES = 50 * 1024**2
HOLE = 8 * 1024**3


def test_an_endless_vocabulary_in_a_hole_is_refused_at_once(tmp_path: Path) -> None:
    file = _file(tmp_path, lambda out: out.write(_array("a.tokens", 8, 2**30)), key_count=1)
    findings = _measured(file)
    assert [finding.values["reason"] for finding in findings] == ["bad-length"]


def test_numbers_without_end_are_refused(tmp_path: Path) -> None:
    file = _file(tmp_path, lambda out: out.write(_array("a.b", 0, MAX_ELEMENTS + 1)), key_count=1)
    assert [finding.values["reason"] for finding in _measured(file)] == ["bad-length"]


def test_many_long_vocabularies_count_together(tmp_path: Path) -> None:
    half = MAX_STRINGS // 2
    head = struct.pack("<QQ", 0, 3)

    def write(out: BinaryIO) -> None:
        for name in ("a.b", "a.c", "a.d"):
            out.write(_array(name, 8, half))
            out.seek(half * 8, 1)

    file = tmp_path / "m.gguf"
    with file.open("wb") as out:
        out.write(b"GGUF\x03\0\0\0" + head)
        write(out)
        out.truncate(HOLE)
    assert [finding.values["reason"] for finding in _measured(file)] == ["bad-length"]


def test_a_vocabulary_of_a_million_is_read(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    with file.open("wb") as out:
        out.write(b"GGUF\x03\0\0\0" + struct.pack("<QQ", 0, 1) + _array("a.b", 8, 1_000_000))
        out.truncate(out.tell() + 8_000_000)
    assert [finding.code for finding in _measured(file)] == [FindingCode.ARCHITECTURE_MISSING]


@pytest.mark.parametrize("element", ["numbers", "texts"])
def test_keys_full_of_small_arrays_stay_small(tmp_path: Path, element: str) -> None:
    def write(out: BinaryIO) -> None:
        for index in range(MAX_KEYS):
            if element == "numbers":
                out.write(_array(f"a.{index}", 2, 1000) + struct.pack("<1000H", *range(300, 1300)))
            else:
                out.write(_array(f"a.{index}", 8, 64) + struct.pack("<Qc", 1, b"x") * 64)

    assert _measured(_file(tmp_path, write, key_count=MAX_KEYS))


def test_the_longest_tensor_table_is_judged_in_time(tmp_path: Path) -> None:
    def write(out: BinaryIO) -> None:
        out.write(_name("general.architecture") + struct.pack("<I", 8) + _name("qwen3moe"))
        for index in range(MAX_TENSORS):
            shape = struct.pack("<I4Q", 4, 32, 1, 1, 1)
            out.write(_name(f"blk.{index}.ffn_up_exps.weight") + shape + struct.pack("<IQ", 0, index * 128))

    codes = [finding.code for finding in _measured(_file(tmp_path, write, key_count=1, tensors=MAX_TENSORS))]
    assert FindingCode.BLOCK_COUNT_INVALID in codes


def _measured(file: Path) -> tuple[Finding, ...]:
    started = time.process_time()
    findings = inspect_path(file).findings
    assert time.process_time() - started < CPU_SECONDS * SLACK
    tracemalloc.start()
    try:
        inspect_path(file)
        assert tracemalloc.get_traced_memory()[1] < PEAK_BYTES
    finally:
        tracemalloc.stop()
    return findings


def _file(folder: Path, write: Callable[[BinaryIO], object], *, key_count: int, tensors: int = 0) -> Path:
    file = folder / "m.gguf"
    with file.open("wb") as out:
        out.write(b"GGUF\x03\0\0\0" + struct.pack("<QQ", tensors, key_count))
        write(out)
        if out.tell() < 4096:
            out.truncate(HOLE)
    return file


def _name(name: str) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


def _array(name: str, element: int, length: int) -> bytes:
    return _name(name) + struct.pack("<IIQ", 9, element, length)
