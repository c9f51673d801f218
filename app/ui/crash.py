"""What nobody caught: kept in a log, told to the person, and the window lives on."""

import faulthandler
import logging
import platform
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler, qVersion

from app import __version__
from app.hardware.pseudonyms import text_without_personal_names
from app.ui.capped_file import append_capped, cap

LOG_NAME: Final = "crash.log"
NATIVE_LOG_NAME: Final = "crash-native.log"
REPORTS_LIMIT: Final = 20
"""Told to the person per run; a failing paint repeats itself for ever."""

_log = logging.getLogger(__name__)


class CrashReporter(QObject):
    """Takes over the hooks of interpreter, threads and Qt.

    Signals:
        reported: a report, `str`, ready to be copied. In the GUI thread, each cause once.
    """

    reported = Signal(str)

    def __init__(self, logs_folder: Path) -> None:
        super().__init__()
        self._log_file = logs_folder / LOG_NAME
        self._native_file = logs_folder / NATIVE_LOG_NAME
        self._native_log: IO[str] | None = None
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._undo: list[Callable[[], object]] = []

    def install(self) -> None:
        """Take over; what Python itself would print is still printed."""
        before = (sys.excepthook, threading.excepthook, sys.unraisablehook)
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        sys.unraisablehook = self._on_unraisable
        previous = qInstallMessageHandler(self._on_qt_message)
        self._undo = [lambda: _restore_hooks(*before), lambda: qInstallMessageHandler(previous)]
        try:
            cap(self._native_file)
            self._native_log = self._native_file.open("a", encoding="utf-8")
        except OSError as reason:
            _log.warning("no log of crashes in native code: %s", reason)
        else:
            faulthandler.enable(self._native_log)

    def uninstall(self) -> None:
        """Give the hooks back. Twice is harmless."""
        for undo in self._undo:
            undo()
        self._undo = []
        if self._native_log is not None:
            faulthandler.disable()
            self._native_log.close()
            self._native_log = None

    def report(self, what: str) -> None:
        """Keep and tell one failure. Any thread.

        Args:
            what: A traceback, or Qt's own words.
        """
        text = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {_versions()}\n{what.rstrip()}\n"
        with self._lock:
            is_new = what not in self._known and len(self._known) < REPORTS_LIMIT
            if not is_new:
                return
            self._known.add(what)
            try:
                append_capped(self._log_file, text)
            except OSError as reason:
                _log.warning("no crash log: %s", reason)
        self.reported.emit(text_without_personal_names(text))

    def _on_exception(
        self, kind: type[BaseException], reason: BaseException, trace: TracebackType | None
    ) -> None:
        _print("".join(traceback.format_exception(kind, reason, trace)))
        if issubclass(kind, Exception):  # not KeyboardInterrupt: that is a wish
            self.report("".join(traceback.format_exception(kind, reason, trace)))

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            where = args.thread.name if args.thread is not None else "?"
            _print(f"thread {where}\n{''.join(traceback.format_exception(args.exc_value))}")
            self.report(f"thread {where}\n{''.join(traceback.format_exception(args.exc_value))}")

    def _on_unraisable(self, args: "sys.UnraisableHookArgs") -> None:
        _print(f"{args.err_msg or 'ignored'} {args.object!r}\n{_trace(args)}")
        self.report(f"{args.err_msg or 'ignored'}\n{_trace(args)}")

    def _on_qt_message(self, kind: QtMsgType, context: QMessageLogContext, message: str) -> None:  # noqa: ARG002  # Qt's signature
        _print(f"{message}\n")
        if kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg):
            self.report(f"Qt: {message}")


def _versions() -> str:
    system = f"{platform.system()} {platform.release()}"
    return f"Moxie {__version__}, Python {platform.python_version()}, Qt {qVersion()}, {system}"


def _trace(args: "sys.UnraisableHookArgs") -> str:
    return "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))


def _print(text: str) -> None:
    if sys.stderr is not None:  # a frozen window has none
        sys.stderr.write(text)


def _restore_hooks(*before: object) -> None:
    sys.excepthook, threading.excepthook, sys.unraisablehook = before  # type: ignore[assignment]  # as they were
