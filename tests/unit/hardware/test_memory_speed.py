"""Memory is read for less than a second, and only where there is enough of it."""

import struct
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.memory_speed import (
    LARGEST_BUFFER_BYTES,
    SMALLEST_BUFFER_BYTES,
    last_cache_bytes,
    measure_memory,
    read_linux_cache,
)
from app.hardware.windows import parse_last_cache
from tests.fakes import GIB


def test_memory_is_measured_in_about_a_second_with_all_threads_it_was_given() -> None:
    started = time.perf_counter()
    speed = measure_memory(2, 4 * GIB, cache_bytes=1)
    assert speed is not None
    assert time.perf_counter() - started < 2.0  # 1 s, and what a busy computer adds
    assert speed.n_threads == 2
    assert speed.is_beyond_cache is True
    assert speed.buffer_bytes <= SMALLEST_BUFFER_BYTES
    # slower than any memory of the last 25 years, or faster than any processor's first cache
    assert 1e8 < speed.read_bytes_per_second < 1e13


def test_with_little_free_memory_nothing_is_taken() -> None:
    assert measure_memory(2, 8 * SMALLEST_BUFFER_BYTES - 8) is None


def test_a_buffer_that_fits_the_cache_is_told() -> None:
    speed = measure_memory(1, 8 * SMALLEST_BUFFER_BYTES, cache_bytes=LARGEST_BUFFER_BYTES)
    assert speed is not None
    assert speed.is_beyond_cache is False


def test_without_a_known_cache_nothing_is_claimed_about_it() -> None:
    speed = measure_memory(1, 8 * SMALLEST_BUFFER_BYTES)
    assert speed is not None
    assert speed.is_beyond_cache is None


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (("48K", "2048K", "32M"), 32 * 1024**2),
        (("x", ""), None),
        ((), None),
        (("99999999999K",), None),
    ],
)
def test_the_biggest_cache_is_the_last(tmp_path: Path, sizes: tuple[str, ...], expected: int | None) -> None:
    for i, size in enumerate(sizes):
        folder = tmp_path / "cache" / f"index{i}"
        folder.mkdir(parents=True)
        (folder / "size").write_text(size + "\n", encoding="ascii")
    assert read_linux_cache(tmp_path) == expected


def cache_record(level: int, size: int, relation: int = 2) -> bytes:
    head = struct.pack("<IIBBHII", relation, 56, level, 8, 64, size, 0)
    return head.ljust(56, b"\0")


def test_windows_names_caches_in_records_of_which_the_biggest_is_the_last() -> None:
    records = cache_record(1, 48 * 1024) + cache_record(3, 36 * 1024**2) + cache_record(2, 2 * 1024**2)
    assert parse_last_cache(records) == 36 * 1024**2
    assert parse_last_cache(cache_record(0, GIB, relation=0)) is None
    assert parse_last_cache(b"") is None


@given(st.binary(max_size=300))
def test_any_bytes_are_read_as_caches_or_as_none(content: bytes) -> None:
    assert parse_last_cache(content) is None or len(content) >= 16


def test_this_machine_names_a_cache_or_says_that_it_does_not() -> None:
    size = last_cache_bytes()
    assert size is None or size >= 16 * 1024
