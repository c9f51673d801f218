"""The window's program: makes every part, wires them, runs. The only place that knows all of them."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app import __version__
from app.paths import APP_NAME, data_folder, logs_folder
from app.ui.crash import CrashReporter
from app.ui.program import Program, system_ports
from app.ui.session_end import SessionEnd
from app.ui.single_instance import Handover, SingleInstance
from app.ui.window_log import WindowLog

DESKTOP_FILE: Final = "moxie"
EXIT_HANDED_OVER: Final = 0


def main(arguments: Sequence[str]) -> int:
    """Show the window, or bring forward the one there is, and return the exit status.

    Args:
        arguments: Nothing, or the path of a model to open.
    """
    application = make_application()
    instance = SingleInstance(data_folder())
    if not instance.claim(_handover(arguments)):
        return EXIT_HANDED_OVER
    log = WindowLog(logs_folder())
    log.install()
    crashes = CrashReporter(logs_folder())
    crashes.install()
    end = SessionEnd(application)
    program = Program(application, replace(system_ports(), log_lines=log.lines))
    crashes.reported.connect(program.show_crash)
    instance.handed_over.connect(program.open_handover)
    end.saving.connect(program.save)
    end.sleeping.connect(program.rest)
    end.ending.connect(program.close)
    program.closed.connect(application.quit)
    program.show(Path(arguments[0]) if arguments else None)
    QTimer.singleShot(0, end.watch_sleep)
    status = application.exec()
    program.close()
    end.close()
    instance.release()
    crashes.uninstall()
    log.uninstall()
    return status


def make_application() -> QApplication:
    """Return the application object: sharp at any scale, known to the desktop by name."""
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    _set_windows_identity()
    application = QApplication([APP_NAME.lower()])
    application.setApplicationName(APP_NAME)
    application.setApplicationDisplayName(APP_NAME)
    application.setApplicationVersion(__version__)
    application.setDesktopFileName(DESKTOP_FILE)
    application.setQuitOnLastWindowClosed(True)
    return application


def _handover(arguments: Sequence[str]) -> Handover:
    path = os.path.abspath(arguments[0]) if arguments else None  # noqa: PTH100  # keeps `..` and links as they are
    return Handover(path, os.environ.get("XDG_ACTIVATION_TOKEN"))


def _set_windows_identity() -> None:
    """Give the task bar its own group and icon instead of Python's."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID("Moxie.Window")
