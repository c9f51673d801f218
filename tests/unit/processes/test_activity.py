"""Who works and who waits, from what the system counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.processes.activity import Activity, descendants, group_activity, parse_stat, still_runs, was_busy
from app.processes.children import ChildProcess, ChildStreams, end_child, start_child

STAT = (
    "4242 (a) name (x)) S 17 4200 4200 0 -1 4194560 800 0 9 0 350 50 0 0 20 0 4 0 123456 1000 200 "
    "18446744073709551615\n"
)
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


def python(code: str) -> ChildProcess:
    streams = ChildStreams(subprocess.DEVNULL, subprocess.PIPE, subprocess.DEVNULL)
    return start_child([sys.executable, "-c", code], env=os.environ, streams=streams, die_with_parent=False)


def test_a_stat_line_is_read_past_a_name_with_brackets() -> None:
    stat = parse_stat(STAT)
    assert stat is not None
    assert (stat.pid, stat.parent, stat.group) == (4242, 17, 4200)
    assert (stat.major_faults, stat.cpu_ticks, stat.started_ticks) == (9, 400, 123456)


@given(st.text() | st.text(alphabet="() 0123456789-S\n"))
def test_any_text_is_a_stat_line_or_none(text: str) -> None:
    parse_stat(text)


@pytest.mark.parametrize(
    ("cpu_seconds", "io_bytes", "is_busy"),
    [(0.0, 0, False), (0.2, 100_000, False), (1.0, 0, True), (0.0, 2_000_000, True), (-1.0, 0, True)],
)
def test_a_share_of_a_core_or_a_slow_disk_counts_as_work(
    cpu_seconds: float, io_bytes: int, is_busy: bool
) -> None:
    before = Activity(5.0, 1000)
    assert was_busy(before, Activity(5.0 + cpu_seconds, 1000 + io_bytes), 10.0) is is_busy


@linux
def test_a_group_that_works_is_told_from_one_that_waits() -> None:
    for code, is_busy in (("while True: pass", True), ("import time; time.sleep(600)", False)):
        child = python(f"print(flush=True)\n{code}")
        assert child.stdout is not None
        with child.stdout as out:
            out.readline()
        before = group_activity(child.pid)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
        now = group_activity(child.pid)
        assert before is not None and now is not None
        assert was_busy(before, now, 0.5) is is_busy
        end_child(child)
        assert group_activity(child.pid) is None


def test_where_nobody_tells_there_is_no_activity(tmp_path: Path) -> None:
    assert group_activity(1, tmp_path) is None
    assert descendants(1, tmp_path) == []


def test_children_of_children_are_descendants_and_a_reused_number_is_another_process(tmp_path: Path) -> None:
    for pid, parent in ((1, 0), (10, 1), (11, 10), (12, 11), (20, 1)):
        (tmp_path / str(pid)).mkdir()
        words = STAT.rpartition(")")[2].split()
        words[1] = str(parent)
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (x) {' '.join(words)}")
    found = descendants(10, tmp_path)
    assert [stat.pid for stat in found] == [11, 12]
    assert still_runs(found[0], tmp_path)
    (tmp_path / "11" / "stat").write_text((tmp_path / "11" / "stat").read_text().replace("123456", "123457"))
    assert not still_runs(found[0], tmp_path)
