"""What was measured of drives, kept in a file: it is measured again after a month, or for other sizes."""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.files import read_regular, write_atomically
from app.findings import FindingError
from app.hardware.fact_json import UnfitError, parse_json, read_fact, to_plain
from app.hardware.facts import DiskInfo
from app.hardware.speeds import StorageSpeed
from app.hardware.storage import StorageTest, measure_storage

MOST_ENTRIES: Final = 32
LONGEST_AGE_SECONDS: Final = 30 * 24 * 3600
LARGEST_FILE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Entry:
    """One measurement.

    Attributes:
        drive_bytes: Size of the drive: another stick in the same port is another drive.
    """

    mount: str
    drive_bytes: int
    speed: StorageSpeed


class StorageCache:
    """Speeds by drive and by the powers of two of file and piece. Any thread."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        """Read nothing yet."""
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()

    def find(self, disk: DiskInfo, file_bytes: int, piece_bytes: int) -> StorageSpeed | None:
        """Return what was measured on that drive with a like file and pieces; None when nothing was."""
        with self._lock:
            entries = self._entries()
        for entry in entries:
            if _is_of(entry, disk) and _class_of(entry.speed) == _sizes(file_bytes, piece_bytes):
                return entry.speed
        return None

    def keep(self, disk: DiskInfo, speed: StorageSpeed) -> None:
        """Keep a measurement that has ended; the oldest make room.

        Raises:
            FindingError: `DISK_FULL` or `STORE_READ_ONLY`; the others stay.
        """
        if not speed.has_ended:
            return
        fresh = _Entry(disk.mount, disk.total_bytes, replace(speed, mount=disk.mount))
        with self._lock:
            others = [
                entry
                for entry in self._entries()
                if not (_is_of(entry, disk) and _class_of(entry.speed) == _class_of(speed))
            ]
            kept = [fresh, *others][:MOST_ENTRIES]
            text = json.dumps([to_plain(entry) for entry in kept], ensure_ascii=False)
            write_atomically(self._file, text.encode("utf-8"))

    def _entries(self) -> tuple[_Entry, ...]:
        """Return what is kept and not too old. A file that is not ours, or damaged, holds nothing."""
        try:
            document = parse_json(read_regular(self._file, LARGEST_FILE_BYTES + 1), LARGEST_FILE_BYTES)
            entries: tuple[_Entry, ...] = read_fact(tuple[_Entry, ...], document, "$")
        except (FindingError, UnfitError):
            return ()
        now = self._clock()
        return tuple(e for e in entries if 0 <= now - e.speed.measured_at <= LONGEST_AGE_SECONDS)


def _is_of(entry: _Entry, disk: DiskInfo) -> bool:
    return (entry.mount, entry.drive_bytes) == (disk.mount, disk.total_bytes)


def _class_of(speed: StorageSpeed) -> tuple[int, int]:
    return _sizes(speed.file_bytes, speed.piece_bytes)


def _sizes(file_bytes: int, piece_bytes: int) -> tuple[int, int]:
    return file_bytes.bit_length(), piece_bytes.bit_length()


def known_or_measured(
    cache: StorageCache, disk: DiskInfo, test: StorageTest, is_cancelled: Callable[[], bool]
) -> StorageSpeed:
    """Return what is known of the drive, or measure it now and keep that: for the first use of a big model.

    Raises:
        FindingError: as `measure_storage`. That nothing can be kept is no failure here.
    """
    try:
        known = cache.find(disk, test.file.stat().st_size, test.piece_bytes)
    except OSError:
        known = None  # measuring says what is wrong with it
    if known is not None:
        return known
    speed = measure_storage(test, is_cancelled)
    with contextlib.suppress(FindingError):
        cache.keep(disk, speed)
    return speed
