"""The log of a worker, in memory and on disk."""

import os
from pathlib import Path

from app.engine.worker_log import FILE_LIMIT_BYTES, FILES_KEPT, TAIL_LINES, WorkerLog


def test_lines_are_kept_in_memory_and_in_a_file(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path)
    log.add("first\r\n")
    log.add("zweite 行\n")
    log.close()
    log.add("after the end")
    assert log.tail == ("first", "zweite 行", "after the end")
    assert log.path is not None
    assert log.path.read_text(encoding="utf-8") == "first\nzweite 行\n"


def test_memory_and_file_are_bounded(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path)
    for number in range(TAIL_LINES + 10):
        log.add(f"{number} " + "x" * 100_000)
    log.close()
    assert len(log.tail) == TAIL_LINES
    assert log.tail[0].startswith("10 ")
    assert log.path is not None
    assert FILE_LIMIT_BYTES <= log.path.stat().st_size < FILE_LIMIT_BYTES + 10_000


def test_old_logs_are_deleted(tmp_path: Path) -> None:
    for number in range(FILES_KEPT + 5):
        old = tmp_path / f"engine-{number}.log"
        old.touch()
        os.utime(old, (number, number))
    log = WorkerLog(tmp_path)
    log.add("a line")
    log.close()
    names = {log.name for log in tmp_path.iterdir()}
    assert len(names) == FILES_KEPT
    assert f"engine-{FILES_KEPT + 4}.log" in names


def test_a_log_with_nothing_in_it_is_deleted_when_it_is_closed(tmp_path: Path) -> None:
    WorkerLog(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_without_a_logs_folder_there_is_still_a_log(data_home: Path) -> None:
    data_home.mkdir()
    (data_home / "logs").touch()
    log = WorkerLog()
    log.add("still here")
    assert (log.tail, log.path) == (("still here",), None)


def test_a_line_cannot_steer_a_terminal(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path)
    log.add("\x1b[31mred\x1b[0m\tand\x07 魔匣\r\n")
    log.close()
    assert log.tail == ("red and 魔匣",)
    assert log.path is not None
    assert log.path.read_text(encoding="utf-8") == "red and 魔匣\n"


def test_a_folder_that_is_not_there_costs_only_the_file(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path / "no such folder")
    log.add("still here")
    assert log.tail == ("still here",)
    assert log.path is None
