"""How fast does a drive give pieces of a model, read here and there? Measured on the file itself.

Method: for a second each, 1, 8 and 32 threads read pieces at random places of the whole file, each waiting
for its piece before it asks for the next, past the system's cache where that is possible.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.files import PathKind, is_elsewhere, path_kind, reading_finding
from app.findings import Finding, FindingCode, FindingError, error, warning
from app.hardware.piece_readers import DROPPED, PAGE_BYTES, PieceReader, open_reader
from app.hardware.speeds import DepthSpeed, StorageSpeed

QUEUE_DEPTHS: Final = (1, 8, 32)
SECONDS: Final = 2.9
PATIENCE_SECONDS: Final = 2.0
"""How much longer a read that is under way may take; a drive that hangs longer is given up."""

SMALLEST_PIECE_BYTES: Final = 64 * 1024
LARGEST_PIECE_BYTES: Final = 4 * 1024**2
USUAL_PIECE_BYTES: Final = 1024**2

SLOW_BYTES_PER_SECOND: Final = 1_000_000_000
"""SATA drives end at 0.55 GB/s, drives on the slowest NVMe ports begin above 1.5."""

Open = Callable[[Path, int], PieceReader]


@dataclass(frozen=True, slots=True)
class StorageTest:
    """What is measured.

    Attributes:
        piece_bytes: Of one expert's tensor; kept within 64 KiB to 4 MiB.
        mount: Of the drive the file lies on, for the answer.
    """

    file: Path
    piece_bytes: int = USUAL_PIECE_BYTES
    mount: str | None = None
    seconds: float = SECONDS
    depths: Sequence[int] = QUEUE_DEPTHS


def measure_storage(
    test: StorageTest,
    is_cancelled: Callable[[], bool] = lambda: False,
    *,
    opened: Open = open_reader,
    wall_clock: Callable[[], float] = time.time,
) -> StorageSpeed:
    """Read from the drive for at most 3 s. Blocks: never on the GUI thread.

    Cancelled, it returns soon, with `has_ended` False and the depths that had their time.

    Raises:
        FindingError: `PATH_MISSING`, `ACCESS_DENIED`, `NOT_A_FILE`, or `DISK_NOT_MEASURED` with `detail`.
    """
    file_bytes = _size(test.file)
    piece_bytes = fitting_piece(test.piece_bytes, file_bytes)
    if piece_bytes == 0:
        raise _not_measured(test.file, f"{file_bytes} bytes")
    depths: list[DepthSpeed] = []
    method = ""
    try:
        for depth in test.depths:
            readers = _Readers(test.file, file_bytes, piece_bytes)
            readers.open(depth, opened)
            measured = readers.run(test.seconds / len(test.depths), is_cancelled)
            method = DROPPED if DROPPED in (method, readers.method) else readers.method
            if measured is None:
                break
            depths.append(measured)
    except OSError as reason:
        raise _not_measured(test.file, reason.strerror or str(reason)) from reason
    return StorageSpeed(
        test.mount,
        piece_bytes,
        file_bytes,
        method,
        tuple(depths),
        measured_at=int(wall_clock()),
        has_ended=len(depths) == len(test.depths),
    )


def fitting_piece(wanted_bytes: int, file_bytes: int) -> int:
    """Return the size of piece to read: whole pages within our bounds and within the file; 0 for none."""
    bounded = max(SMALLEST_PIECE_BYTES, min(wanted_bytes, LARGEST_PIECE_BYTES))
    return min(math.ceil(bounded / PAGE_BYTES), file_bytes // PAGE_BYTES) * PAGE_BYTES


def judge_storage(speed: StorageSpeed) -> tuple[Finding, ...]:
    """Return whether a drive is too slow to leave experts on it."""
    best = max((depth.bytes_per_second for depth in speed.depths), default=0)
    if not speed.has_ended or not 0 < best < SLOW_BYTES_PER_SECOND:
        return ()
    return (
        warning(
            FindingCode.MODEL_DRIVE_SLOW,
            mount=speed.mount,
            bytes_per_second=best,
            piece_bytes=speed.piece_bytes,
            seconds_per_gib=round(1024**3 / best, 1),
        ),
    )


def _size(file: Path) -> int:
    kind = path_kind(file)
    if kind is None:
        raise FindingError(error(FindingCode.PATH_MISSING, path=str(file)))
    if kind is not PathKind.FILE:
        raise FindingError(error(FindingCode.NOT_A_FILE, path=str(file), kind=kind.value))
    try:
        status = file.stat()
    except OSError as reason:
        raise FindingError(reading_finding(reason, file)) from reason
    if is_elsewhere(status):  # the whole file would be fetched
        raise FindingError(error(FindingCode.FILE_IN_CLOUD, path=str(file), size_bytes=status.st_size))
    return status.st_size


def _not_measured(file: Path, detail: str) -> FindingError:
    return FindingError(error(FindingCode.DISK_NOT_MEASURED, path=str(file), detail=detail))


@dataclass(slots=True)
class _Turn:
    """What the threads of one depth share.

    Attributes:
        latencies: One list per thread, in seconds.
    """

    deadline: float
    latencies: list[list[float]]
    stopping: threading.Event = field(default_factory=threading.Event)
    failures: list[OSError] = field(default_factory=list)


class _Readers:
    """The threads of one depth, each with a reader of its own."""

    def __init__(self, file: Path, file_bytes: int, piece_bytes: int) -> None:
        self._file = file
        self._places = (file_bytes - piece_bytes) // PAGE_BYTES + 1
        self._piece_bytes = piece_bytes
        self._readers: list[PieceReader] = []
        self.method = ""

    def open(self, count: int, opened: Open) -> None:
        try:
            for _ in range(count):
                self._readers.append(opened(self._file, self._piece_bytes))
        except OSError:
            self._close()
            raise

    def run(self, seconds: float, is_cancelled: Callable[[], bool]) -> DepthSpeed | None:
        """Return the speed; None when cancelled. The readers are closed when this returns.

        Raises:
            OSError: the drive fails or does not answer.
        """
        began = time.perf_counter()
        turn = _Turn(began + seconds, [[] for _ in self._readers])
        threads = [
            threading.Thread(target=self._read, args=(turn, i), name=f"storage-{i}", daemon=True)
            for i in range(len(self._readers))
        ]
        for thread in threads:
            thread.start()
        was_cancelled = self._wait(threads, turn, is_cancelled)
        passed = time.perf_counter() - began
        self.method = max(reader.method for reader in self._readers)
        self._close()
        if turn.failures:
            raise turn.failures[0]
        return None if was_cancelled else self._speed(turn, passed)

    def _wait(
        self, threads: Sequence[threading.Thread], turn: _Turn, is_cancelled: Callable[[], bool]
    ) -> bool:
        was_cancelled = False
        for thread in threads:
            while thread.is_alive():
                thread.join(0.05)
                if not was_cancelled and is_cancelled():
                    was_cancelled = True
                    turn.stopping.set()
                if time.perf_counter() > turn.deadline + PATIENCE_SECONDS:
                    self._readers = []  # still in use by a thread that hangs in the system
                    raise TimeoutError(None, f"no answer within {PATIENCE_SECONDS:.0f} s")
        return was_cancelled

    def _read(self, turn: _Turn, i: int) -> None:
        places = random.Random(i)
        reader, latencies = self._readers[i], turn.latencies[i]
        while not turn.stopping.is_set():
            began = time.perf_counter()
            if latencies and began >= turn.deadline:
                return
            try:
                reader.read(places.randrange(self._places) * PAGE_BYTES)
            except OSError as reason:
                turn.failures.append(reason)
                turn.stopping.set()
                return
            latencies.append(time.perf_counter() - began)

    def _speed(self, turn: _Turn, seconds: float) -> DepthSpeed:
        latencies = sorted(value for part in turn.latencies for value in part)
        return DepthSpeed(
            queue_depth=len(turn.latencies),
            bytes_per_second=round(len(latencies) * self._piece_bytes / seconds),
            reads=len(latencies),
            latency_p50_seconds=_share(latencies, 0.50),
            latency_p99_seconds=_share(latencies, 0.99),
        )

    def _close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers = []


def _share(ordered: Sequence[float], share: float) -> float:
    """Return the value that this share of the others does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
