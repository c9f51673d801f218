"""What was measured of memory and drives, as facts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemorySpeed:
    """How fast memory was read (`app/hardware/memory_speed.py`).

    Attributes:
        n_threads: That read at the same time.
        is_beyond_cache: The buffer did not fit the processor's last cache; None when its size is unknown.
    """

    read_bytes_per_second: int
    n_threads: int
    buffer_bytes: int
    seconds: float
    is_beyond_cache: bool | None = None


@dataclass(frozen=True, slots=True)
class DepthSpeed:
    """Random reads with so many under way at the same time.

    Attributes:
        latency_p50_seconds: Half of the reads took no longer; p99 likewise for 99 of 100.
    """

    queue_depth: int
    bytes_per_second: int
    reads: int
    latency_p50_seconds: float
    latency_p99_seconds: float


@dataclass(frozen=True, slots=True)
class StorageSpeed:
    """How fast pieces of one file were read (`app/hardware/storage.py`).

    Attributes:
        mount: Of the drive the file lies on; None when it is on no listed drive.
        piece_bytes: Size of each read.
        file_bytes: Of the whole file, all of which was read from.
        method: `direct` or `no-buffering` past the system's cache, `dropped` where the drive's system has no
            such way: the cache was asked to let go before each read, and may not have.
        measured_at: Seconds since 1970.
        has_ended: False when it was cancelled before all depths had their time.
    """

    mount: str | None
    piece_bytes: int
    file_bytes: int
    method: str
    depths: tuple[DepthSpeed, ...]
    measured_at: int
    has_ended: bool = True
