"""The words a session speaks: its states, its events, its patience."""

from dataclasses import dataclass
from enum import StrEnum

from app.engine.protocol import Event
from app.findings import Finding


class SessionState(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    STARTING = "starting"
    LOADING = "loading"
    READY = "ready"
    GENERATING = "generating"
    FAILED = "failed"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The session is in `state` now; `finding` says why when it failed or a load was cancelled."""

    state: SessionState
    finding: Finding | None = None


SessionEvent = Event | StateChanged


class SessionStateError(RuntimeError):
    """The session is in no state to do what was asked."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long a session waits.

    Attributes:
        hello_seconds: For a new worker's first line; a cold disk and a virus scanner fit in.
        silent_seconds: For any sign of life of a load, a check or an answer: an event, or else the
            worker or a child of it using the processor or the disk. An idle wait is for another
            machine, which computes a batch of 512 tokens meanwhile: 240 s are 2 tokens per second.
        cancel_load_seconds: For a load to give up by itself; then its worker is killed.
        cancel_answer_seconds: For an answer to end by itself; then its worker is killed, and the model
            has to be loaded again. CPU batches stop within 0.1 s; a batch on a GPU runs to its end.
        close_seconds: For a worker to end by itself; then it is killed.
        kill_seconds: For a killed worker to be gone; then the session goes on without it.
    """

    hello_seconds: float = 120.0
    silent_seconds: float = 240.0
    cancel_load_seconds: float = 1.5
    cancel_answer_seconds: float = 5.0
    close_seconds: float = 3.0
    kill_seconds: float = 2.0
