"""A question asked once per tick, of a driver that may hang."""

import logging
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from app.hardware.probe import Probe

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Reading(Generic[T]):
    """One question, asked again and again; while it hangs, it is not asked a second time."""

    def __init__(self, name: str, job: Callable[[], T]) -> None:
        """Ask nothing yet; `name` is what the log calls it."""
        self._name = name
        self._job = job
        self._probe: Probe[T] | None = None
        self._is_hung = False
        self._logged: set[str] = set()

    def ask(self) -> None:
        """Ask, unless the last question still hangs."""
        self._is_hung = self._probe is not None and self._probe.outcome(0).is_timed_out
        if not self._is_hung:
            self._probe = Probe(self._name, self._job)

    def answer(self, deadline: float) -> T | None:
        """Return the answer to the last `ask`; one that hung then is not waited for again."""
        if self._probe is None or self._is_hung:
            return None
        outcome = self._probe.outcome(deadline - time.monotonic())
        if outcome.is_timed_out:
            self._log_once("gives no answer in time")
        elif outcome.error is not None:
            self._log_once(f"failed: {outcome.error!r}")
        return outcome.value

    def _log_once(self, what: str) -> None:
        if what not in self._logged:
            self._logged.add(what)
            _log.warning("telemetry: %s %s", self._name, what)
