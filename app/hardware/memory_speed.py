"""How fast can all cores together read memory? Measured in less than a second.

Method: a buffer, bigger than the processor's last cache where there is time and memory for that, is written
once, so that every page is real. Then one thread per core reads its own part again and again, in pieces, with
a vectorised OR over 64-bit words. The speed is all bytes read over the time from the first piece to the last,
in the best of five turns: what else the computer does only ever makes it look slower.
"""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.hardware.speeds import MemorySpeed
from app.hardware.sysfs import entries, read_text

if sys.platform == "win32":
    from app.hardware import windows

FILL_SECONDS: Final = 0.45
READ_SECONDS: Final = 0.07
TURNS: Final = 5
LARGEST_BUFFER_BYTES: Final = 1024**3
SMALLEST_BUFFER_BYTES: Final = 64 * 1024**2
CACHES_PER_BUFFER: Final = 4
LARGEST_RAM_SHARE: Final = 8
"""At most this part of the free memory is taken."""

PIECE_BYTES: Final = 4 * 1024**2
LIKELY_CACHE_BYTES: Final = 64 * 1024**2
"""Where the system does not say."""

Words = NDArray[np.uint64]


def measure_memory(
    n_threads: int,
    available_bytes: int | None,
    *,
    cache_bytes: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> MemorySpeed | None:
    """Read memory on so many threads. Blocks for at most a second; None where there is too little memory."""
    wanted = min(CACHES_PER_BUFFER * (cache_bytes or LIKELY_CACHE_BYTES), LARGEST_BUFFER_BYTES)
    wanted = max(SMALLEST_BUFFER_BYTES, wanted)
    room = wanted if available_bytes is None else available_bytes // LARGEST_RAM_SHARE
    if min(wanted, room) < SMALLEST_BUFFER_BYTES:
        return None
    words: Words = np.empty(min(wanted, room) // 8, dtype=np.uint64)
    parts = _Parts(words, max(1, n_threads), clock)
    filled = parts.fill(FILL_SECONDS)
    total, seconds = max((parts.read(READ_SECONDS) for _ in range(TURNS)), key=lambda turn: turn[0] / turn[1])
    return MemorySpeed(
        read_bytes_per_second=round(total / seconds),
        n_threads=parts.count,
        buffer_bytes=filled,
        seconds=seconds,
        is_beyond_cache=None if cache_bytes is None else filled > cache_bytes,
    )


def last_cache_bytes() -> int | None:
    """Return the size of the processor's biggest cache; None where the system does not say."""
    if sys.platform == "win32":
        return windows.read_last_cache()
    return read_linux_cache()


def read_linux_cache(cpu: Path = Path("/sys/devices/system/cpu/cpu0")) -> int | None:
    """Return the size of the biggest cache that Linux tells of; None where it does not."""
    sizes = [_size(read_text(file)) for file in entries(cpu / "cache", "index*/size")]
    return max((size for size in sizes if size), default=None)


class _Parts:
    """A buffer in equal parts, one per thread, each in pieces."""

    def __init__(self, words: Words, count: int, clock: Callable[[], float]) -> None:
        self.count = count
        self._clock = clock
        step = PIECE_BYTES // 8
        pieces = [words[start : start + step] for start in range(0, len(words) - step + 1, step)]
        self._pieces = [pieces[i::count] for i in range(count)]
        self._filled: list[list[Words]] = [[] for _ in range(count)]
        self._read_bytes = [0] * count
        self._ended = [0.0] * count

    def fill(self, seconds: float) -> int:
        """Write pieces until there is no more of them, or no more time; return the bytes."""
        deadline = self._clock() + seconds
        self._together(lambda i: self._fill_part(i, deadline))
        return sum(piece.nbytes for part in self._filled for piece in part)

    def read(self, seconds: float) -> tuple[int, float]:
        """Return bytes read and the seconds that took."""
        self._read_bytes = [0] * self.count
        started = self._clock()
        self._together(lambda i: self._read_part(i, started + seconds))
        return sum(self._read_bytes), max(1e-9, max(self._ended) - started)

    def _fill_part(self, i: int, deadline: float) -> None:
        for piece in self._pieces[i]:
            piece.fill(i)
            self._filled[i].append(piece)
            if self._clock() >= deadline:
                return

    def _read_part(self, i: int, deadline: float) -> None:
        while True:
            for piece in self._filled[i]:
                np.bitwise_or.reduce(piece)
                self._read_bytes[i] += piece.nbytes
                self._ended[i] = self._clock()
                if self._ended[i] >= deadline:
                    return
            if not self._filled[i]:
                return

    def _together(self, job: Callable[[int], None]) -> None:
        threads = [
            threading.Thread(target=job, args=(i,), name=f"memory-{i}", daemon=True)
            for i in range(self.count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _size(text: str | None) -> int | None:
    """Read e.g. `32768K`."""
    number, unit = (text or "")[:-1], (text or "")[-1:]
    factor = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(unit)
    return int(number) * factor if factor and number.isdecimal() and len(number) < 10 else None
