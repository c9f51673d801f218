"""Reads of pieces at several depths: of a real file, and of drives that a test makes up."""

import errno
import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingCode, FindingError
from app.hardware.facts import DiskInfo
from app.hardware.piece_readers import DIRECT, DROPPED, NO_BUFFERING, PAGE_BYTES, PieceReader
from app.hardware.speeds import DepthSpeed, StorageSpeed
from app.hardware.storage import (
    QUEUE_DEPTHS,
    StorageTest,
    fitting_piece,
    judge_storage,
    measure_storage,
)
from app.hardware.storage_cache import LONGEST_AGE_SECONDS, MOST_ENTRIES, StorageCache, known_or_measured
from tests.fakes import GIB

MIB = 1024**2
NOW = 1_800_000_000
DISK = DiskInfo("/models", 500 * GIB, 100 * GIB)
SPEED = StorageSpeed(
    "/models", MIB, 20 * GIB, DIRECT, (DepthSpeed(1, 2_000_000_000, 1000, 0.0005, 0.002),), NOW
)


class FakeDrive:
    """Opens readers that note where they read.

    Attributes:
        offsets: Of all reads. most: Reads under way at the same time.
        meeting: The first reads wait for each other here.
    """

    def __init__(self, method: str = DIRECT, failure: OSError | None = None) -> None:
        self.method = method
        self.offsets: list[int] = []
        self.most = 0
        self.opened = 0
        self.closed = 0
        self.hang: threading.Event | None = None
        self.meeting: threading.Barrier | None = None
        self._failure = failure
        self._under_way = 0
        self._lock = threading.Lock()

    def __call__(self, file: Path, piece_bytes: int) -> PieceReader:
        self.opened += 1
        return self

    def read(self, offset: int) -> None:
        with self._lock:
            self.offsets.append(offset)
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            meeting = self.meeting if len(self.offsets) <= 8 else None
        if meeting is not None:
            meeting.wait(10.0)
        if self.hang is not None:
            self.hang.wait()
        threading.Event().wait(0.001)
        with self._lock:
            self._under_way -= 1
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "模型 a.gguf"
    file.write_bytes(os.urandom(MIB) * 8)
    return file


def quick(file: Path, piece_bytes: int = 256 * 1024) -> StorageTest:
    return StorageTest(file, piece_bytes, "/models", seconds=0.15)


def test_a_real_file_is_read_at_every_depth_within_its_time(model: Path) -> None:
    began = time.perf_counter()
    speed = measure_storage(quick(model), wall_clock=lambda: NOW + 0.5)
    assert time.perf_counter() - began < 3.0
    assert [depth.queue_depth for depth in speed.depths] == list(QUEUE_DEPTHS)
    assert speed.method in (DIRECT, DROPPED, NO_BUFFERING)
    assert (speed.mount, speed.piece_bytes, speed.file_bytes) == ("/models", 256 * 1024, 8 * MIB)
    assert (speed.measured_at, speed.has_ended) == (NOW, True)
    for depth in speed.depths:
        assert depth.reads >= depth.queue_depth
        assert depth.bytes_per_second > 0
        assert 0 < depth.latency_p50_seconds <= depth.latency_p99_seconds


def test_as_many_reads_are_under_way_as_the_depth_says_at_places_all_over_the_file(model: Path) -> None:
    drive = FakeDrive()
    drive.meeting = threading.Barrier(8)
    measure_storage(replace(quick(model), depths=(8,)), opened=drive)
    assert drive.most == 8
    assert all(0 <= offset <= 8 * MIB - 256 * 1024 and offset % PAGE_BYTES == 0 for offset in drive.offsets)
    assert len(set(drive.offsets)) > len(drive.offsets) / 4
    assert max(drive.offsets) - min(drive.offsets) > 4 * MIB


def test_one_reader_that_could_not_avoid_the_cache_is_told(model: Path) -> None:
    assert measure_storage(quick(model), opened=FakeDrive(DROPPED)).method == DROPPED


def test_cancelled_it_ends_soon_says_so_and_closes_everything(model: Path) -> None:
    drive = FakeDrive()
    began = time.perf_counter()
    test = StorageTest(model, seconds=60.0)
    speed = measure_storage(test, lambda: len(drive.offsets) > 5, opened=drive)
    assert time.perf_counter() - began < 5.0
    assert (speed.depths, speed.has_ended) == ((), False)
    assert drive.opened == drive.closed == 1


def test_a_drive_that_fails_is_a_finding_with_its_words(model: Path) -> None:
    drive = FakeDrive(failure=OSError(errno.EIO, "Input/output error"))
    with pytest.raises(FindingError) as failure:
        measure_storage(quick(model), opened=drive)
    assert failure.value.finding.code is FindingCode.DISK_NOT_MEASURED
    assert failure.value.finding.values["detail"] == "Input/output error"
    assert drive.opened == drive.closed


def test_a_drive_that_hangs_is_given_up(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.hardware.storage.PATIENCE_SECONDS", 0.1)
    drive = FakeDrive()
    drive.hang = threading.Event()
    try:
        with pytest.raises(FindingError) as failure:
            measure_storage(quick(model), opened=drive)
        assert failure.value.finding.code is FindingCode.DISK_NOT_MEASURED
    finally:
        drive.hang.set()


def test_nothing_a_folder_and_an_empty_file_are_refused_by_name(tmp_path: Path) -> None:
    empty = tmp_path / "empty.gguf"
    empty.write_bytes(b"")
    expected = {
        tmp_path / "gone.gguf": FindingCode.PATH_MISSING,
        tmp_path: FindingCode.NOT_A_FILE,
        empty: FindingCode.DISK_NOT_MEASURED,
    }
    for path, code in expected.items():
        with pytest.raises(FindingError) as failure:
            measure_storage(quick(path))
        assert failure.value.finding.code is code


@pytest.mark.parametrize(
    ("wanted", "file_bytes", "expected"),
    [
        (552_960, GIB, 552_960),
        (552_961, GIB, 557_056),
        (1, GIB, 64 * 1024),
        (GIB, GIB, 4 * MIB),
        (MIB, 10_000, 8192),
        (MIB, 4095, 0),
    ],
)
def test_pieces_are_whole_pages_within_bounds_and_file(wanted: int, file_bytes: int, expected: int) -> None:
    assert fitting_piece(wanted, file_bytes) == expected


def test_a_slow_drive_is_a_warning_with_its_numbers_and_a_fast_one_none() -> None:
    slow = replace(
        SPEED, depths=(DepthSpeed(1, 80_000_000, 9, 0.1, 0.2), DepthSpeed(8, 120_000_000, 9, 1, 1))
    )
    (finding,) = judge_storage(slow)
    assert finding.code is FindingCode.MODEL_DRIVE_SLOW
    assert finding.values["bytes_per_second"] == 120_000_000
    assert finding.values["seconds_per_gib"] == 8.9
    assert judge_storage(SPEED) == ()
    assert judge_storage(replace(slow, has_ended=False)) == ()
    assert judge_storage(replace(slow, depths=())) == ()


def cache(file: Path, now: float = NOW) -> StorageCache:
    return StorageCache(file, lambda: now)


def test_what_was_measured_is_found_again_for_like_files_and_pieces_only(tmp_path: Path) -> None:
    file = tmp_path / "speeds.json"
    cache(file).keep(DISK, SPEED)
    assert cache(file).find(DISK, 21 * GIB, MIB + 5) == SPEED
    assert cache(file).find(DISK, 40 * GIB, MIB) is None
    assert cache(file).find(DISK, 20 * GIB, MIB // 4) is None
    assert cache(file).find(replace(DISK, total_bytes=GIB), 20 * GIB, MIB) is None
    assert cache(file).find(replace(DISK, mount="/"), 20 * GIB, MIB) is None


def test_a_measurement_too_old_or_from_the_future_is_none(tmp_path: Path) -> None:
    file = tmp_path / "speeds.json"
    cache(file).keep(DISK, SPEED)
    assert cache(file, NOW + LONGEST_AGE_SECONDS + 1).find(DISK, 20 * GIB, MIB) is None
    assert cache(file, NOW - 1).find(DISK, 20 * GIB, MIB) is None


def test_a_newer_measurement_takes_the_place_of_the_older_and_the_oldest_make_room(tmp_path: Path) -> None:
    file = tmp_path / "speeds.json"
    for i in range(MOST_ENTRIES + 5):
        cache(file).keep(replace(DISK, mount=f"/{i}"), SPEED)
    cache(file).keep(replace(DISK, mount="/36"), replace(SPEED, method=DROPPED))
    assert len(json.loads(file.read_text(encoding="utf-8"))) == MOST_ENTRIES
    newest = cache(file).find(replace(DISK, mount="/36"), 20 * GIB, MIB)
    assert newest == replace(SPEED, mount="/36", method=DROPPED)
    assert cache(file).find(replace(DISK, mount="/0"), 20 * GIB, MIB) is None


def test_a_cancelled_measurement_is_not_kept(tmp_path: Path) -> None:
    cache(tmp_path / "speeds.json").keep(DISK, replace(SPEED, has_ended=False))
    assert not (tmp_path / "speeds.json").exists()


def test_a_drive_is_measured_at_the_first_use_and_known_at_the_second(tmp_path: Path, model: Path) -> None:
    kept = StorageCache(tmp_path / "speeds.json")
    first = known_or_measured(kept, DISK, quick(model), lambda: False)
    assert first.has_ended
    assert known_or_measured(kept, DISK, quick(model), lambda: True) == first


def test_a_drive_is_measured_even_where_nothing_can_be_kept(tmp_path: Path, model: Path) -> None:
    nowhere = StorageCache(tmp_path / "no folder" / "speeds.json")
    assert known_or_measured(nowhere, DISK, quick(model), lambda: False).has_ended


@given(content=st.binary(max_size=200) | st.sampled_from([b"[{}]", b"[[]]", b"{}", b"[1e400]", b"null"]))
def test_a_damaged_file_holds_nothing(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged-speeds.json"
    file.write_bytes(content)
    assert cache(file).find(DISK, 20 * GIB, MIB) is None
