"""Rows seen before come back without opening the file, and never when anything has changed."""

import os
import sqlite3
from pathlib import Path

import pytest

from app.library import summary_cache
from app.library.scan import ModelSummary, ScanReport, scan_folders
from app.library.summary_cache import SummaryCache
from tests.builders import moe_model, write_gguf, write_shards


def scan(folder: Path, file: Path) -> tuple[list[ModelSummary], ScanReport]:
    rows: list[ModelSummary] = []
    with SummaryCache(file) as cache:
        report = scan_folders([folder], cache, rows.append, lambda: False)
    return rows, report


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "Modelle ☃"
    write_shards(folder, "Big", *moe_model("qwen3moe", layers=3), (10, 20))
    write_gguf(folder / "Small.gguf", *moe_model("qwen3moe", layers=1))
    return folder


def test_the_second_scan_opens_nothing_and_says_the_same(models: Path, tmp_path: Path) -> None:
    first, cold = scan(models, tmp_path / "cache")
    second, warm = scan(models, tmp_path / "cache")
    assert first == second
    assert (cold.from_cache, warm.from_cache) == (0, 2)


@pytest.mark.parametrize("change", ["touched", "longer", "gone"])
def test_a_change_of_any_part_is_seen(models: Path, tmp_path: Path, change: str) -> None:
    scan(models, tmp_path / "cache")
    part = models / "Big-00002-of-00003.gguf"
    if change == "touched":
        os.utime(part, ns=(1, 1))
    elif change == "longer":
        part.write_bytes(part.read_bytes() + bytes(64))
    else:
        part.unlink()
    rows, report = scan(models, tmp_path / "cache")
    assert report.from_cache == 1
    assert rows[0].loadable is (change != "gone")


@pytest.mark.parametrize("content", [b"", b"no database" * 400, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_made_anew(models: Path, tmp_path: Path, content: bytes) -> None:
    cache = tmp_path / "cache"
    cache.write_bytes(content)
    scan(models, cache)
    assert scan(models, cache)[1].from_cache == 2


def test_a_file_damaged_in_its_middle_is_made_anew(models: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    scan(models, cache)
    whole = bytearray(cache.read_bytes())
    whole[4096:] = b"\xff" * (len(whole) - 4096)
    cache.write_bytes(whole)
    assert len(scan(models, cache)[0]) == 2
    scan(models, cache)
    assert scan(models, cache)[1].from_cache == 2


def test_a_row_that_is_no_row_is_read_again(models: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    scan(models, cache)
    with sqlite3.connect(cache) as connection:
        connection.execute("UPDATE summaries SET rows = '[{}]'")
    connection.close()
    rows, report = scan(models, cache)
    assert (len(rows), report.from_cache) == (2, 0)


def test_rows_of_another_version_are_forgotten(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan(models, tmp_path / "cache")
    monkeypatch.setattr(summary_cache, "SUMMARY_VERSION", 99)
    assert scan(models, tmp_path / "cache")[1].from_cache == 0


def test_a_place_that_cannot_be_written_costs_the_cache_only(models: Path, tmp_path: Path) -> None:
    assert len(scan(models, tmp_path / "no folder" / "cache")[0]) == 2
    assert len(scan(models, tmp_path)[0]) == 2


def test_a_file_that_another_program_holds_costs_the_cache_only(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_cache, "_BUSY_SECONDS", 0.01)
    scan(models, tmp_path / "cache")
    holder = sqlite3.connect(tmp_path / "cache", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert len(scan(models, tmp_path / "cache")[0]) == 2
    finally:
        holder.execute("ROLLBACK")
        holder.close()


def test_the_rows_asked_for_last_are_kept(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan(models, tmp_path / "cache")
    monkeypatch.setattr(summary_cache, "ROWS_MAX", 1)
    (models / "Small.gguf").rename(tmp_path / "Small.gguf")
    scan(models, tmp_path / "cache")
    monkeypatch.setattr(summary_cache, "ROWS_MAX", 5000)
    (tmp_path / "Small.gguf").rename(models / "Small.gguf")
    assert scan(models, tmp_path / "cache")[1].from_cache == 1
