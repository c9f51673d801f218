"""The program ends in order when the system asks it to."""

import signal
import subprocess
import sys

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.paths import source_root
from app.ui.session_end import SessionEnd

ENDING_SIGNALS = [signal.SIGTERM, signal.SIGINT]
if sys.platform != "win32":
    ENDING_SIGNALS.append(signal.SIGHUP)

PROGRAM = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from app.ui.session_end import SessionEnd
application = QGuiApplication(sys.argv)
end = SessionEnd(application)
end.ending.connect(lambda: print("saved", flush=True))
QTimer.singleShot(0, lambda: print("running", flush=True))
status = application.exec()
end.close()
print("status", status, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_ends_an_idle_event_loop_in_order(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "-platform", "offscreen"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=source_root(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(number)
    assert process.communicate(timeout=10)[0] == "saved\nstatus 0\n"
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_handlers_are_given_back(qtbot: QtBot, qapp: QGuiApplication) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    end = SessionEnd(qapp)
    assert signal.getsignal(signal.SIGTERM) is not before[0]
    end.close()
    end.close()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_only_the_way_into_sleep_is_told(qtbot: QtBot, qapp: QGuiApplication) -> None:
    end = SessionEnd(qapp)
    told: list[bool] = []
    end.sleeping.connect(lambda: told.append(True))
    end._on_prepare_for_sleep(False)
    assert told == []
    end._on_prepare_for_sleep(True)
    assert told == [True]
    end.watch_sleep()  # a machine without a system bus tells nothing, and does not complain
    end.close()
