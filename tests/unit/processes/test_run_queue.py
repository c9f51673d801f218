"""Time in line for a processor, read from `/proc`."""

import os
import sys
from pathlib import Path

import pytest

from app.processes.run_queue import thread_times, undisturbed_share


def thread(proc: Path, tid: int, text: str) -> None:
    folder = proc / "7" / "task" / str(tid)
    folder.mkdir(parents=True)
    (folder / "schedstat").write_text(text)


def test_threads_are_read_and_what_is_no_count_is_left_out(tmp_path: Path) -> None:
    thread(tmp_path, 7, "2000000000 500000000 12\n")
    thread(tmp_path, 8, "what\n")
    thread(tmp_path, 9, "")
    assert thread_times({7, 99}, tmp_path) == {(7, 7): (2.0, 0.5)}


def test_time_in_line_is_taken_off_and_idle_threads_do_not_count() -> None:
    before = {(1, 1): (0.0, 0.0), (1, 2): (5.0, 5.0)}
    after = {(1, 1): (0.6, 0.4), (1, 2): (5.01, 5.01)}
    assert undisturbed_share(before, after, 1.0) == pytest.approx(0.6)


def test_two_threads_that_wait_for_each_other_lose_both_times() -> None:
    after = {(1, 1): (0.5, 0.5), (1, 2): (0.8, 0.2)}
    assert undisturbed_share({}, after, 1.0) == pytest.approx(0.4)


def test_where_nothing_is_known_nothing_is_taken_off() -> None:
    assert undisturbed_share({}, {}, 1.0) == 1.0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_this_process_has_run() -> None:
    assert max(ran for ran, _ in thread_times({os.getpid()}).values()) > 0
