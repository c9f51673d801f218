"""The program's own warnings are kept and told."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.ui.capped_file import LOG_LIMIT_BYTES
from app.ui.window_log import LINES_KEPT, LOG_NAME, WindowLog

_log = logging.getLogger("app.some.part")


@pytest.fixture
def log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[WindowLog]:
    log = WindowLog(tmp_path)
    log.install()
    yield log
    log.uninstall()


def test_a_warning_is_in_file_lines_and_console(
    log: WindowLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _log.warning("cannot read %s", "模型.gguf")
    _log.info("of no interest")
    kept = (tmp_path / LOG_NAME).read_text(encoding="utf-8").splitlines()
    assert kept == list(log.lines())
    assert len(kept) == 1
    assert kept[0].endswith("WARNING app.some.part: cannot read 模型.gguf")
    assert "cannot read 模型.gguf" in capsys.readouterr().err
    log.uninstall()
    _log.warning("nobody listens")
    assert len(log.lines()) == 1


def test_an_error_has_its_traceback(log: WindowLog) -> None:
    try:
        raise ValueError("deliberate")
    except ValueError:
        _log.exception("a sample was lost")
    assert log.lines()[-1] == "ValueError: deliberate"


def test_file_and_lines_are_bounded(log: WindowLog, tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_text("old line\n" * LOG_LIMIT_BYTES)
    for number in range(LINES_KEPT + 5):
        _log.warning("warning %d", number)
    assert (tmp_path / LOG_NAME).stat().st_size <= LOG_LIMIT_BYTES
    assert len(log.lines()) == LINES_KEPT
    assert log.lines()[-1].endswith(f"warning {LINES_KEPT + 4}")


def test_a_folder_that_is_gone_costs_the_file_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = WindowLog(tmp_path / "gone")
    log.install()
    _log.warning("still here")
    log.uninstall()
    assert log.lines()[-1].endswith("still here")
    assert capsys.readouterr().err == "still here\n"
