"""The PC does not fall asleep over an answer."""

import shutil
import sys
from typing import Final, Protocol

from PySide6.QtCore import QProcess

_WINDOWS_CONTINUOUS: Final = 0x80000000
_WINDOWS_SYSTEM_REQUIRED: Final = 0x00000001
_END_MS: Final = 300


class SleepInhibitor(Protocol):
    """Keeps the PC awake. Adapters: WindowsInhibitor, SystemdInhibitor, NoInhibitor; in tests a fake.

    GUI thread only: Windows counts the wish per thread and forgets it with the thread.
    """

    def hold(self) -> None:
        """Keep the PC awake from now on; the screen may go dark. Never fails: it is a courtesy."""
        ...

    def release(self) -> None:
        """Let it sleep again."""
        ...

    def close(self) -> None:
        """Leave nothing behind; may take a moment. Only after `release`."""
        ...


class KeepAwake:
    """Holds an inhibitor while there is work, once however often it is told."""

    def __init__(self, inhibitor: SleepInhibitor) -> None:
        self._inhibitor = inhibitor
        self._is_holding = False

    def set_working(self, *, is_working: bool) -> None:
        """Tell whether the PC works for the person."""
        if is_working != self._is_holding:
            self._is_holding = is_working
            if is_working:
                self._inhibitor.hold()
            else:
                self._inhibitor.release()

    def close(self) -> None:
        """Let the PC sleep, for good."""
        self.set_working(is_working=False)
        self._inhibitor.close()


class WindowsInhibitor:
    """`SetThreadExecutionState` (winbase.h) with ES_SYSTEM_REQUIRED."""

    def hold(self) -> None:
        """Ask Windows to stay awake for this thread."""
        _set_execution_state(_WINDOWS_CONTINUOUS | _WINDOWS_SYSTEM_REQUIRED)

    def release(self) -> None:
        """Take that back."""
        _set_execution_state(_WINDOWS_CONTINUOUS)

    def close(self) -> None:
        """Nothing is left."""


class SystemdInhibitor:
    """A child `systemd-inhibit` that lives as long as its stdin: nothing holds on when this program dies."""

    def __init__(self, program: str, reason: str) -> None:
        """Prepare; nothing is started.

        Args:
            reason: What the desktop tells a person who wants to suspend.
        """
        self._arguments = ["--what=idle:sleep", "--mode=block", "--who=Moxie", f"--why={reason}", "cat"]
        self._program = program
        self._process: QProcess | None = None
        self._ending: list[QProcess] = []

    def hold(self) -> None:
        """Start the child. One that ends at once, for want of logind, holds nothing."""
        process = QProcess()
        process.setStandardOutputFile(QProcess.nullDevice())
        process.setStandardErrorFile(QProcess.nullDevice())
        process.start(self._program, self._arguments)
        self._process = process

    def release(self) -> None:
        """Let the child go."""
        self._ending = [
            child for child in self._ending if child.state() is not QProcess.ProcessState.NotRunning
        ]
        if self._process is not None:
            self._process.closeWriteChannel()
            self._ending.append(self._process)
            self._process = None

    def close(self) -> None:
        """Wait for the children's end."""
        for child in self._ending:
            child.waitForFinished(_END_MS)
        self._ending = []


class NoInhibitor:
    """For systems that offer no way."""

    def hold(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def system_inhibitor(reason: str) -> SleepInhibitor:
    """Return what this system offers; `reason` is shown to a person who wants to suspend."""
    if sys.platform == "win32":
        return WindowsInhibitor()
    program = shutil.which("systemd-inhibit")
    return NoInhibitor() if program is None else SystemdInhibitor(program, reason)


def _set_execution_state(flags: int) -> None:
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.kernel32.SetThreadExecutionState(ctypes.c_uint32(flags))
