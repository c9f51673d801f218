"""A real window in a process of its own, which says what it does and does what it is told."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from app.paths import HOME_VARIABLE, resource_path, source_root
from app.settings import Settings, save_settings

TINY_MODEL = resource_path("selftest", "tiny-moe.gguf")
END_SECONDS = 15

_SCRIPT = """
import sys
from PySide6.QtCore import QTimer
from app.ui import application
from app.ui.model_view import ModelPhase
from app.ui.program import Program

question = sys.argv.pop(1)
show = Program.show

def tell(program, view, seen=set()):
    if view.phase not in seen:
        seen.add(view.phase)
        print(view.phase.value, view.path, flush=True)
        if question and view.phase is ModelPhase.PLANNED:
            QTimer.singleShot(0, program.model.load)
        if question and view.phase is ModelPhase.READY:
            QTimer.singleShot(0, lambda: program.chat.send(question))

def show_and_tell(program, path=None):
    program.model.view_changed.connect(lambda view: tell(program, view))
    program.chat.text_streamed.connect(lambda id, kind, text: print("text", text.strip(), flush=True))
    show(program, path)
    print("shown", flush=True)

Program.show = show_and_tell
sys.exit(application.main(sys.argv[1:]))
"""


class WindowProcess:
    """A window over the data folder `home`; ends with the `with`.

    Args:
        question: What is asked once the model of `arguments` is loaded; empty loads nothing.
    """

    def __init__(
        self, home: Path, arguments: Sequence[str] = (), *, question: str = "", engine: str = "echo"
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "settings.json").exists():
            save_settings(home / "settings.json", Settings(engine=engine, language="en"))
        environment = {
            **os.environ,
            HOME_VARIABLE: str(home),
            "QT_QPA_PLATFORM": "offscreen",
            "LC_ALL": "C.UTF-8",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, question, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=source_root(),
            env=environment,
        )
        self.said: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_for(self, start: str) -> str:
        """Read what it says until a line begins with `start`, and return that line."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if line.startswith(start):
                return self.said[-1]
        assert self.process.stderr is not None
        raise AssertionError((self.said, self.process.stderr.read()))

    def children(self) -> list[int]:
        """Return the process ids of its engine and whatever that started."""
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def end(self) -> tuple[int, str]:
        """Wait for its end; return exit status and what it complained about."""
        _, complaints = self.process.communicate(timeout=END_SECONDS)
        return self.process.returncode, complaints
