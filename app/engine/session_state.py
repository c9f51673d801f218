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
        cancel_load_seconds: For a load to give up by itself; then its worker is killed.
        close_seconds: For a worker to end by itself; then it is killed.
    """

    hello_seconds: float = 120.0
    cancel_load_seconds: float = 1.5
    close_seconds: float = 3.0
