"""One question to a driver in a thread of its own: it may hang, whoever asked does not."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a probe ended.

    Attributes:
        value: The answer; None when there is none.
        error: What the job raised.
        is_timed_out: The job had not ended in time; its late answer is dropped.
    """

    value: T | None = None
    error: Exception | None = None
    is_timed_out: bool = False


class Probe(Generic[T]):
    """A job that runs since its probe was made. A daemon thread: a hung driver never keeps us alive."""

    def __init__(self, name: str, job: Callable[[], T], on_end: Callable[[], None] | None = None) -> None:
        """Start `job`; `name` is what findings and logs call it. `on_end` is called on the job's thread."""
        self.name = name
        self._on_end = on_end
        self._job = job
        self._outcome: Outcome[T] | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=f"probe-{name}", daemon=True).start()

    def outcome(self, timeout_seconds: float) -> Outcome[T]:
        """Wait for the end, at most this long. May be asked again."""
        self._ended.wait(max(0.0, timeout_seconds))
        return self._outcome or Outcome(is_timed_out=True)

    @property
    def has_ended(self) -> bool:
        """There is an outcome."""
        return self._ended.is_set()

    def _run(self) -> None:
        try:
            self._outcome = Outcome(value=self._job())
        except Exception as reason:  # noqa: BLE001 the entry of a thread: whoever asked judges the error
            _log.debug("probe %s failed", self.name, exc_info=True)
            self._outcome = Outcome(error=reason)
        self._ended.set()
        if self._on_end is not None:
            self._on_end()
