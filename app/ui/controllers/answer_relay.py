"""Passes on what the engine says of an answer: each answer has exactly one end, and a speed meanwhile."""

import time

from PySide6.QtCore import QObject, Signal

from app.engine.protocol import Failed, Finished, PromptProgress, Token
from app.findings import Finding
from app.ui.controllers.speed_meter import SpeedMeter


class AnswerRelay(QObject):
    """Between engine and chat, in the GUI thread.

    Signals:
        answer_event: `PromptProgress`, `Token`, and at last `Finished` or `Failed`.
        speed_changed: tokens per second or None, and whether it is the prompt that is being read.
    """

    answer_event = Signal(object)
    speed_changed = Signal(object, bool)

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._is_running = False
        self._meter = SpeedMeter(0.0)

    def begin(self) -> int:
        """Begin an answer and return its number."""
        self._number += 1
        self._is_running = True
        self._meter = SpeedMeter(time.monotonic())
        self.speed_changed.emit(None, True)
        return self._number

    def pass_on(self, event: PromptProgress | Token) -> None:
        """Take more of the answer."""
        self.answer_event.emit(event)
        speed = self._meter.feed(event, time.monotonic())
        if speed is not None:
            self.speed_changed.emit(speed.tokens_per_second, speed.is_prefill)

    def end(self, event: Finished | Failed) -> None:
        """Take the end; a second one is none."""
        if self._is_running:
            self._is_running = False
            self.answer_event.emit(event)
            self.speed_changed.emit(None, False)

    def refuse(self, number: int, failure: Finding | None) -> None:
        """End an answer that never began, since the engine went away first."""
        if number == self._number:
            self.end(Failed(failure, 0) if failure is not None else Finished(0, "cancelled"))
