"""What nobody caught is logged, told once, and never names the person."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer, qCritical, qWarning
from pytestqt.qtbot import QtBot

from app.paths import source_root
from app.ui.capped_file import LOG_LIMIT_BYTES
from app.ui.crash import LOG_NAME, REPORTS_LIMIT, CrashReporter

NATIVE_CRASH = """
import faulthandler, sys
from pathlib import Path
from app.ui.crash import CrashReporter
CrashReporter(Path(sys.argv[1])).install()
faulthandler._sigsegv()
"""


@pytest.fixture
def reporter(qtbot: QtBot, tmp_path: Path) -> Iterator[CrashReporter]:
    hook = sys.excepthook
    reporter = CrashReporter(tmp_path)
    reporter.install()
    yield reporter
    reporter.uninstall()
    assert sys.excepthook is hook


def fail() -> None:
    raise ValueError("deliberate 故意")


@pytest.mark.qt_no_exception_capture
def test_an_error_in_a_slot_is_logged_and_told(qtbot: QtBot, reporter: CrashReporter, tmp_path: Path) -> None:
    with qtbot.waitSignal(reporter.reported) as told:
        QTimer.singleShot(0, fail)
    log = (tmp_path / LOG_NAME).read_text(encoding="utf-8")
    for text in (log, told.args[0]):
        assert "ValueError: deliberate 故意" in text
        assert "in fail" in text
        assert "Moxie" in text


@pytest.mark.qt_no_exception_capture
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_in_a_thread_arrives_in_the_gui_thread(qtbot: QtBot, reporter: CrashReporter) -> None:
    threads: list[threading.Thread] = []
    reporter.reported.connect(lambda: threads.append(threading.current_thread()))
    with qtbot.waitSignal(reporter.reported) as told:
        thread = threading.Thread(target=fail, name="telemetry")
        thread.start()
        thread.join()
    assert "thread telemetry" in told.args[0]
    assert threads == [threading.main_thread()]


@pytest.mark.qt_no_exception_capture
def test_the_same_error_is_told_once_and_different_ones_not_for_ever(reporter: CrashReporter) -> None:
    told: list[str] = []
    reporter.reported.connect(told.append)
    reporter.report("same")
    reporter.report("same")
    assert len(told) == 1
    for number in range(REPORTS_LIMIT * 2):
        reporter.report(f"other {number}")
    assert len(told) == REPORTS_LIMIT


@pytest.mark.qt_no_exception_capture
def test_ctrl_c_is_no_crash(reporter: CrashReporter, tmp_path: Path) -> None:
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert not (tmp_path / LOG_NAME).exists()


def test_a_report_names_neither_person_nor_home(
    reporter: CrashReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "zhangwei")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/zhangwei"))
    told: list[str] = []
    reporter.reported.connect(told.append)
    reporter.report("no file /home/zhangwei/models/a.gguf, C:\\Users\\Zhangwei\\b.gguf")
    assert "zhangwei" not in told[0].lower()
    assert "a.gguf" in told[0]
    assert "b.gguf" in told[0]


def test_the_log_stays_small(reporter: CrashReporter, tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_text("old line\n" * LOG_LIMIT_BYTES)
    reporter.report("the new one")
    log = (tmp_path / LOG_NAME).read_text()
    assert len(log) <= LOG_LIMIT_BYTES
    assert log.startswith("old line\n")
    assert log.endswith("the new one\n\n")


def test_a_log_that_cannot_be_written_does_not_hide_the_error(
    reporter: CrashReporter, tmp_path: Path
) -> None:
    (tmp_path / LOG_NAME).mkdir()
    told: list[str] = []
    reporter.reported.connect(told.append)
    reporter.report("kept")
    assert "kept" in told[0]


@pytest.mark.qt_no_exception_capture
@pytest.mark.parametrize(("say", "is_told"), [(qCritical, True), (qWarning, False)])
def test_what_qt_calls_critical_is_told(
    reporter: CrashReporter, say: object, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    reporter.reported.connect(told.append)
    assert callable(say)
    say("the driver is gone")
    assert bool(told) is is_told
    assert "the driver is gone" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="a signal")
def test_a_crash_in_native_code_leaves_the_python_frames(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NATIVE_CRASH, str(tmp_path)],
        cwd=source_root(),
        capture_output=True,
        check=False,
    )
    assert done.returncode < 0
    assert "Segmentation fault" in (tmp_path / "crash-native.log").read_text()
