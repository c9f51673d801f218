"""A window in a process of its own, which says when it has come how far; for the benches of starting."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from app.paths import HOME_VARIABLE, source_root

_SCRIPT: Final = """
import sys, threading, time

def tell(name):
    print(name, time.time(), time.process_time(), flush=True)

tell("python")
from PySide6.QtCore import QEvent, QObject, QTimer
from app.hardware.host import PsutilHostSource
from app.ui import application
from app.ui.program import Ports, Program
from tests.fakes import FakeGpuSource

tell("imported")
hang_seconds = float(sys.argv.pop(1))

class FirstPaint(QObject):
    def __init__(self, window):
        super().__init__(window)
        self.is_told = False
        window.installEventFilter(self)

    def eventFilter(self, window, event):
        if event.type() is QEvent.Type.Paint and not self.is_told:
            self.is_told = True
            QTimer.singleShot(0, lambda: tell("painted"))
        return False

def tell_hardware(facts):
    said = [name for name, value in (("host", facts.host), ("driver", facts.driver)) if value is not None]
    codes = ",".join(finding.code.value for finding in facts.findings)
    QTimer.singleShot(0, lambda: tell(f"hardware {'+'.join(said) or '-'} {codes or '-'}"))

class HungSource(FakeGpuSource):
    def _misbehave(self):
        time.sleep(hang_seconds)

show = Program.show

def show_and_tell(program, path=None):
    tell("built")
    program.first_paint = FirstPaint(program.window)
    program.machine.hardware_changed.connect(tell_hardware)
    show(program, path)
    tell("shown")

Program.show = show_and_tell
if hang_seconds:
    application.system_ports = lambda: Ports(HungSource(), PsutilHostSource())
sys.exit(application.main(sys.argv[1:]))
"""
"""Nothing in the program itself tells of a paint: this watches it from beside it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the start was, and when.

    Attributes:
        seconds: Since the process was asked for.
        cpu_seconds: Processor time of the process by then.
    """

    name: str
    seconds: float
    cpu_seconds: float


class StartingWindow:
    """A window without a screen, over an empty data folder; ends with the `with`.

    Args:
        hang_seconds: How long each question to the graphics driver takes; 0 asks the real one.
        flags: Arguments of the interpreter.
    """

    def __init__(self, hang_seconds: float = 0.0, flags: Sequence[str] = ()) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="moxie-", ignore_cleanup_errors=True)
        environment = start_environment(Path(self._home.name)) | {"QT_QPA_PLATFORM": "offscreen"}
        self._began = time.time()
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-c", _SCRIPT, str(hang_seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if flags else subprocess.DEVNULL,
            encoding="utf-8",
            cwd=source_root(),
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        self._home.cleanup()

    def marks_until(self, name: str) -> list[Mark]:
        """Read what it tells until it tells `name`; its words may go on behind that."""
        assert self._process.stdout is not None
        marks: list[Mark] = []
        for line in self._process.stdout:
            told, at, cpu = line.rsplit(maxsplit=2)
            marks.append(Mark(told, float(at) - self._began, float(cpu)))
            if told.startswith(name):
                return marks
        raise RuntimeError(f"the window ended before it told {name!r}: {marks}")

    def end(self) -> str:
        """End it; return what it complained about."""
        self._process.kill()
        return self._process.communicate()[1] or ""


def start_environment(home: Path) -> dict[str, str]:
    """Return the environment of a window of its own: nothing of this person's, English."""
    return {**os.environ, HOME_VARIABLE: str(home), "LC_ALL": "C.UTF-8"}


def load_average() -> str:
    """Say how busy the machine is: what is measured on a busy one is no measurement."""
    return f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average unknown"
