"""The whole window in this process, driven as a person does: keys, clicks, and waiting for what is shown."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import psutil
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.paths import settings_file
from app.settings import Settings, save_settings
from app.ui.model_view import ModelPhase, ModelView
from app.ui.program import Ports, Program
from app.ui.views.chat_items import MessageItem

WAIT_MS = 40_000
WORKER_FLAG = "--engine-worker"
QUIET_SECONDS = 0.4


class FakeDesktop:
    """Writes down what the window asks of the desktop; `chosen` answers the file dialog."""

    def __init__(self) -> None:
        self.chosen: Path | None = None
        self.folders: list[Path] = []
        self.links: list[str] = []
        self.copied: list[str] = []

    def choose_file(
        self, title: str, pattern: str, folder: Path | None, on_chosen: Callable[[Path], None]
    ) -> None:
        if self.chosen is not None:
            on_chosen(self.chosen)

    def choose_folder(self, title: str, folder: Path | None, on_chosen: Callable[[Path], None]) -> None:
        if self.chosen is not None:
            on_chosen(self.chosen)

    def open_folder(self, folder: Path) -> None:
        self.folders.append(folder)

    def open_link(self, address: str) -> None:
        self.links.append(address)

    def copy(self, text: str) -> None:
        self.copied.append(text)


class FakeInhibitor:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def hold(self) -> None:
        self.said.append("hold")

    def release(self) -> None:
        self.said.append("release")

    def close(self) -> None:
        self.said.append("close")


@dataclass
class WindowDriver:
    """One program and its window.

    Attributes:
        phases: All phases the model went through.
    """

    qtbot: QtBot
    program: Program
    phases: list[ModelPhase] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.program.model.view_changed.connect(self._on_view)

    @property
    def view(self) -> ModelView:
        return self.program.model.view

    @property
    def items(self) -> tuple[MessageItem, ...]:
        """What the chat view shows."""
        model = self.program.window.chat_place.chat_view.model
        return tuple(model.item(row) for row in range(model.rowCount()))

    @property
    def answer_text(self) -> str:
        """What the chat view shows of the newest answer; empty while the newest message is a question."""
        newest = self.items[-1:]
        return "" if not newest or newest[0].is_user else newest[0].text

    def show(self, path: Path | None = None) -> None:
        with self.qtbot.waitExposed(self.program.window):
            self.program.show(path)

    def wait_for(self, is_true: Callable[[], bool]) -> None:
        """Wait until something is so, and all views show it."""
        self.qtbot.waitUntil(is_true, timeout=WAIT_MS)
        self.qtbot.waitUntil(lambda: self.program.window.is_settled, timeout=WAIT_MS)

    def wait_for_phase(self, phase: ModelPhase) -> None:
        self.wait_for(lambda: self.view.phase in (phase, ModelPhase.FAILED))
        assert self.view.phase is phase, (self.view.failure, self.view.log_tail)

    def click(self, widget: QWidget) -> None:
        assert widget.isVisible()
        assert widget.isEnabled()
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def click_primary_of(self, view: QWidget) -> None:
        """Press the one primary button of a view."""
        found = cast("list[QPushButton]", view.findChildren(QPushButton))  # the stubs lose the type
        buttons = [button for button in found if button.isVisible() and button.property("kind") == "primary"]
        assert len(buttons) == 1
        self.click(buttons[0])

    def write(self, text: str) -> None:
        """Put a message into the box and press Enter."""
        box = self.program.window.chat_place.composer.box
        box.setFocus()
        box.insertPlainText(text)
        QTest.keyClick(box, Qt.Key.Key_Return)

    def wait_for_answer(self) -> MessageItem:
        """Wait until the newest message is a complete answer, and return it."""
        self.wait_for(
            lambda: bool(self.items) and not self.items[-1].is_user and not self.items[-1].is_streaming
        )
        self.wait_for(lambda: self.view.phase is not ModelPhase.GENERATING)
        return self.items[-1]

    def engines(self) -> list[psutil.Process]:
        """Return the engine workers of this process; a test's own servers are none."""
        children: list[psutil.Process] = psutil.Process().children()
        return [child for child in children if WORKER_FLAG in _arguments(child)]

    def close(self) -> None:
        self.program.window.close()
        QApplication.processEvents()

    def delete(self) -> None:
        """Let go of everything: what is left would be styled again by every later test."""
        self.program.close()
        self.program.window.allow_close()
        self.program.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def _on_view(self, view: ModelView) -> None:
        if not self.phases or self.phases[-1] is not view.phase:
            self.phases.append(view.phase)


def make_program(qapp: QApplication, ports: Ports, settings: Settings) -> Program:
    """Make a program with these settings; the data folder is the test's own."""
    save_settings(settings_file(), settings)
    return Program(qapp, ports)


def longest_turn(job: Callable[[], object]) -> float:
    """Do `job` and let the window live for a while; return what the longest turn of all took it.

    Counted is the time on a processor: what other programs take of a busy machine is not the window's.
    """
    started = time.thread_time()
    job()
    costs = [time.thread_time() - started]
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        started = time.thread_time()
        QApplication.processEvents()
        costs.append(time.thread_time() - started)
    return max(costs)


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it ended just now
        return []
