"""Memory is read for less than a second, and only where there is enough of it."""

import time
from pathlib import Path

import pytest

from app.hardware.memory_speed import (
    LARGEST_BUFFER_BYTES,
    SMALLEST_BUFFER_BYTES,
    last_cache_bytes,
    measure_memory,
)
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
    assert last_cache_bytes(tmp_path) == expected
