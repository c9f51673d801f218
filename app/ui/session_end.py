"""The end of the session and sleep: told early enough to save and to let the engine go."""

import signal
import socket
import sys
from types import FrameType
from typing import Final

from PySide6.QtCore import (
    QAbstractNativeEventFilter,
    QByteArray,
    QCoreApplication,
    QObject,
    QSocketNotifier,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication

_WM_POWERBROADCAST: Final = 0x0218
_PBT_APMSUSPEND: Final = 0x0004
_LOGIND: Final = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")


class SessionEnd(QObject):
    """Watches for the end. GUI thread; keep it as long as the application.

    Signals:
        saving: the session may end, or go on after all; whoever listens saves before returning.
        ending: the program ends.
        sleeping: the PC goes to sleep.
    """

    saving = Signal()
    ending = Signal()
    sleeping = Signal()

    def __init__(self, application: QGuiApplication) -> None:
        super().__init__(application)
        self._application = application
        application.commitDataRequest.connect(self.saving)
        application.aboutToQuit.connect(self.ending)
        self._signals = _UnixSignals(self) if sys.platform != "win32" else None
        self._power = _PowerEvents(self) if sys.platform == "win32" else None

    def watch_sleep(self) -> None:
        """Listen for sleep; after the first paint, for on Linux it asks the system bus.

        Linux: logind's signal comes as the PC goes down; without a delay lock of our own the time it leaves
        is short, so what listens does little. Where there is no logind, nothing is told.
        """
        if self._power is not None:
            self._application.installNativeEventFilter(self._power)
        elif sys.platform == "linux":
            from PySide6.QtDBus import QDBusConnection

            bus = QDBusConnection.systemBus()
            if bus.isConnected():
                bus.connect(*_LOGIND, "PrepareForSleep", self, b"1_on_prepare_for_sleep(bool)")

    def close(self) -> None:
        """Give signals back. Twice is harmless."""
        if self._signals is not None:
            self._signals.close()
        if self._power is not None:
            self._application.removeNativeEventFilter(self._power)

    @Slot(bool)
    def _on_prepare_for_sleep(self, is_starting: bool) -> None:
        if is_starting:
            self.sleeping.emit()


class _UnixSignals:
    """SIGTERM, SIGINT and SIGHUP end the event loop: Python alone would see them only at the next event."""

    def __init__(self, parent: QObject) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self._notifier = QSocketNotifier(self._near.fileno(), QSocketNotifier.Type.Read, parent)
        self._notifier.activated.connect(self._on_activated)
        self._wakeup = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, _only_wake_up) for number in _signals_that_end()}

    def close(self) -> None:
        if self._near.fileno() < 0:
            return
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        self._notifier.setEnabled(False)
        self._near.close()
        self._far.close()

    def _on_activated(self) -> None:
        numbers = self._near.recv(64)
        if any(number in self._handlers for number in numbers):
            QCoreApplication.quit()


class _PowerEvents(QAbstractNativeEventFilter):
    """WM_POWERBROADCAST (winuser.h); every top-level window gets it."""

    def __init__(self, owner: SessionEnd) -> None:
        super().__init__()
        self._owner = owner

    def nativeEventFilter(
        self,
        eventType: QByteArray | bytes | bytearray | memoryview,  # noqa: ARG002  # Qt's signature
        message: int,
    ) -> object:
        if sys.platform == "win32":
            from ctypes import wintypes

            event = wintypes.MSG.from_address(int(message))
            if event.message == _WM_POWERBROADCAST and event.wParam == _PBT_APMSUSPEND:
                self._owner.sleeping.emit()
        return False, 0


def _signals_that_end() -> tuple[signal.Signals, ...]:
    if sys.platform == "win32":
        return ()
    return signal.SIGTERM, signal.SIGINT, signal.SIGHUP


def _only_wake_up(number: int, frame: FrameType | None) -> None:
    """Do nothing: that a handler exists lets the number through the wake-up descriptor."""
