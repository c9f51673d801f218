"""Deadlines and limits on silence, without an engine."""

import threading
import time

from app.engine.watchdog import Watchdog
from app.processes.activity import Activity

IDLE = Activity(1.0, 0)
WAIT_SECONDS = 10.0


class Rig:
    """A watchdog, and whether it barked."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.dog = Watchdog(self.lock)
        self.barked = threading.Event()
        self.looks = 0

    def idle(self) -> Activity | None:
        self.looks += 1
        return IDLE

    def busy(self) -> Activity | None:
        self.looks += 1
        return Activity(float(self.looks), 0)

    def unknown(self) -> Activity | None:
        self.looks += 1
        return None

    def looked(self, times: int) -> bool:
        deadline = time.monotonic() + WAIT_SECONDS
        while self.looks < times and time.monotonic() < deadline:
            self.barked.wait(0.01)
        return self.looks >= times


def test_a_deadline_comes_whatever_is_heard() -> None:
    rig = Rig()
    with rig.lock:
        rig.dog.after(0.1, rig.barked.set)
        rig.dog.heard()
    assert rig.barked.wait(WAIT_SECONDS)


def test_what_was_stopped_never_comes() -> None:
    rig = Rig()
    with rig.lock:
        rig.dog.after(0.0, rig.barked.set)
        assert not rig.barked.wait(0.1)  # due, but it waits for the lock
        rig.dog.stop()
    assert not rig.barked.wait(0.1)


def test_silence_without_work_has_a_limit() -> None:
    rig = Rig()
    began = time.monotonic()
    with rig.lock:
        rig.dog.on_silence(0.2, rig.idle, rig.barked.set)
    assert rig.barked.wait(WAIT_SECONDS)
    assert time.monotonic() - began >= 0.2


def test_who_works_or_cannot_be_seen_working_may_be_silent() -> None:
    for name in ("busy", "unknown"):
        rig = Rig()
        with rig.lock:
            rig.dog.on_silence(0.2, getattr(rig, name), rig.barked.set)
        assert rig.looked(8)  # twice the limit
        assert not rig.barked.is_set()
        with rig.lock:
            rig.dog.stop()


def test_a_sign_of_life_starts_the_limit_anew() -> None:
    rig = Rig()
    with rig.lock:
        rig.dog.on_silence(0.4, rig.idle, rig.barked.set)
    for _ in range(20):
        with rig.lock:
            rig.dog.heard()
        assert not rig.barked.wait(0.05)
    assert rig.barked.wait(WAIT_SECONDS)
