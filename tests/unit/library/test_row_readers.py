"""Rows read side by side in limited children: the same rows, and no file costs more than itself."""

import sys
import threading
import time
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.library import scan as scan_module
from app.library.child_jobs import MODEL_ROWS
from app.library.group_rows import rows_of
from app.library.model_files import FileGroup, ModelFiles
from app.library.row_readers import ReadGroup, RowReaders
from app.library.scan import ModelSummary, scan_folders
from app.library.summary_cache import SummaryCache
from app.parsing.child import ChildLimits, LimitedChild
from tests.builders import moe_model, write_gguf, write_shards
from tests.models.broken import write_broken
from tests.models.tiny import TINY_ARCHITECTURES, write_tiny

COMMAND = (sys.executable, "-m", "tests.row_jobs")
LIMITS = ChildLimits(cpu_seconds=1, wall_seconds=30.0)


def new_child() -> LimitedChild:
    return LimitedChild(MODEL_ROWS, LIMITS, COMMAND)


def groups_below(folder: Path) -> list[FileGroup]:
    return list(ModelFiles(lambda: False).below(folder))


def write_named(folder: Path, *names: str) -> None:
    for name in names:
        write_gguf(folder / f"{name}.gguf", *moe_model("qwen3moe", layers=1))


def read_all(folder: Path, count: int = 1) -> dict[str, ReadGroup]:
    found: list[ReadGroup] = []
    with RowReaders(count, lambda: False, new_child) as readers:
        for group in groups_below(folder):
            found += readers.read(group)
        found += readers.rest()
    return {read.group.first.stem: read for read in found}


def test_rows_from_children_are_the_rows_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for architecture in list(TINY_ARCHITECTURES)[:6]:
        write_tiny(architecture, tmp_path / f"{architecture}.gguf")
    (tmp_path / "broken").mkdir()
    write_broken(tmp_path / "broken")
    write_shards(tmp_path, "模型 mit Lücke", *moe_model("qwen3moe", layers=3), (10, 20))
    here = {row for group in groups_below(tmp_path) for row in rows_of(group)}
    monkeypatch.setattr(scan_module, "ALONE", 5)
    monkeypatch.setattr(scan_module, "readers_here", lambda: 2)
    rows: list[ModelSummary] = []
    with SummaryCache(tmp_path / "cache") as cache:
        report = scan_folders([tmp_path], cache, rows.append, lambda: False)
        assert set(rows) == here
        assert (report.found, report.from_cache) == (len(rows), 0)
        again = scan_folders([tmp_path], cache, rows.append, lambda: False)
    assert again.found == report.found
    assert again.from_cache > 0.9 * again.found


@pytest.mark.parametrize("name", ["crash", "lie"])
def test_a_child_that_crashes_or_lies_costs_the_one_file(tmp_path: Path, name: str) -> None:
    write_named(tmp_path, "a", name, "z")
    found = read_all(tmp_path)
    (row,) = found[name].rows
    assert (row.codes, row.severity) == ((FindingCode.HEADER_UNREAD,), Severity.ERROR)
    assert row.size_bytes == (tmp_path / f"{name}.gguf").stat().st_size
    assert not found[name].is_lasting
    assert found["a"].rows[0].loadable and found["z"].rows[0].loadable


@pytest.mark.skipif(sys.platform != "linux", reason="a POSIX limit")
def test_a_file_that_takes_the_processor_without_end_costs_itself(tmp_path: Path) -> None:
    write_named(tmp_path, "a", "spin", "z")
    found = read_all(tmp_path, count=2)
    assert found["spin"].rows[0].codes == (FindingCode.HEADER_UNREAD,)
    assert found["a"].rows[0].loadable and found["z"].rows[0].loadable


def test_where_no_child_starts_files_are_read_here(tmp_path: Path) -> None:
    write_named(tmp_path, "a", "b")
    nowhere = [str(tmp_path / "no-such-program")]
    with RowReaders(2, lambda: False, lambda: LimitedChild(MODEL_ROWS, LIMITS, nowhere)) as readers:
        found = [read for group in groups_below(tmp_path) for read in readers.read(group)]
        found += readers.rest()
    assert sorted(read.group.first.stem for read in found) == ["a", "b"]
    assert all(read.rows[0].loadable and read.is_lasting for read in found)


def test_a_cancelled_reading_ends_at_once_whatever_the_children_do(tmp_path: Path) -> None:
    write_named(tmp_path, "a", "sleep")
    cancelled = threading.Event()
    with RowReaders(1, cancelled.is_set, new_child) as readers:
        for group in groups_below(tmp_path):
            list(readers.read(group))
        for read in readers.rest():  # the first is there: the child is at the second now
            assert read.group.first.stem == "a"
            cancelled.set()
        began = time.monotonic()
    assert time.monotonic() - began < 0.5
