"""A listener that remembers, so that tests wait for what they expect instead of sleeping."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

from app.engine.protocol import Token
from app.engine.session import SessionEvent, SessionState, StateChanged

EventType = TypeVar("EventType")

DEADLINE_SECONDS = 20.0


class SessionRecorder:
    """Collects what a session tells; waiting fails after `DEADLINE_SECONDS` with all that came."""

    def __init__(self) -> None:
        self.events: list[SessionEvent] = []
        self._changed = threading.Condition()

    def __call__(self, event: SessionEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    @property
    def states(self) -> list[SessionState]:
        return [event.state for event in list(self.events) if isinstance(event, StateChanged)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in list(self.events) if isinstance(event, Token))

    def of(self, kind: type[EventType]) -> list[EventType]:
        return [event for event in list(self.events) if isinstance(event, kind)]

    def wait_for(self, kind: type[EventType], count: int = 1) -> EventType:
        self.wait_until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]

    def wait_for_state(self, state: SessionState, count: int = 1) -> StateChanged:
        self.wait_until(lambda: self.states.count(state) >= count)
        return [e for e in self.of(StateChanged) if e.state is state][count - 1]

    def wait_until(self, is_true: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(is_true, DEADLINE_SECONDS), self.events


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone_within(pids: list[int], seconds: float) -> bool:
    """Wait until none of the processes runs."""
    deadline = time.monotonic() + seconds
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    while time.monotonic() < deadline:
        processes = [process for process in processes if is_running(process.pid)]
        if not processes:
            return True
        psutil.wait_procs(processes, timeout=0.05)
    return False
