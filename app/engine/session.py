"""One engine as the program sees it: states, requests, and a cause for every failure."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from app.engine.protocol import ChatMessage, CheckModel, Generate, Hello, Loaded, LoadModel
from app.engine.session_end import did_not_stop
from app.engine.session_machine import SessionMachine
from app.engine.session_state import SessionEvent as SessionEvent
from app.engine.session_state import SessionLimits as SessionLimits
from app.engine.session_state import SessionState as SessionState
from app.engine.session_state import SessionStateError as SessionStateError
from app.engine.session_state import StateChanged as StateChanged
from app.findings import FindingCode, error
from app.options import EngineOptions, SamplingOptions


class EngineSession(SessionMachine):
    """Runs one model in a worker process, a fresh one for every load.

    Methods return at once, except `close`. The listener is called from the caller's thread for states
    a call causes, else from `engine-events`; it must be quick and must not block. An answer's last
    event comes before the `StateChanged` that allows the next request.
    """

    @property
    def state(self) -> SessionState:
        """What the session is doing."""
        return self._state

    @property
    def hello(self) -> Hello | None:
        """What the engine said of itself; None before a worker has started."""
        return self._hello

    @property
    def loaded(self) -> Loaded | None:
        """What the engine said of the loaded model, our findings added; None while none is loaded."""
        return self._loaded

    def load(self, path: Path, options: EngineOptions) -> None:
        """Load a model; what ran before ends first.

        Raises:
            SessionStateError: the session is closed.
        """
        self._begin(LoadModel(os.path.abspath(path), options))  # noqa: PTH100  # keeps `..` and links as they are

    def check(self, path: Path, options: EngineOptions, *, measures: bool = False) -> None:
        """Ask whether the engine takes the file; what ran before ends first. `Checked` or `Failed` answers.

        Raises:
            SessionStateError: the session is closed.
        """
        self._begin(CheckModel(os.path.abspath(path), options, measures))  # noqa: PTH100  # as above

    def generate(self, messages: Sequence[ChatMessage], sampling: SamplingOptions) -> int:
        """Ask for an answer and return its request id.

        Raises:
            SessionStateError: no model is ready, or it is answering.
        """
        with self._lock:
            if self._state is not SessionState.READY or self._client is None:
                raise SessionStateError(f"generate while {self._state}")
            self._request_id += 1
            request_id, client = self._request_id, self._client
            command = Generate(request_id, tuple(messages), sampling)
            self._is_cancelling = False
            client.send(command)  # before anyone hears of it: what they ask for then comes after it
            self._watch_silence(client)
            self._enter(SessionState.GENERATING)
        return request_id

    def cancel(self) -> None:
        """Stop what is running; what does not stop in time loses its worker."""
        with self._lock:
            match self._state:
                case SessionState.STARTING:
                    self._end_finding = error(FindingCode.LOAD_CANCELLED)
                    if self._client is not None:
                        self._give_up(self._client, self._end_finding)
                case SessionState.LOADING:
                    self._end_finding = error(FindingCode.LOAD_CANCELLED)
                    self._ask_to_stop(self._limits.cancel_load_seconds, self._end_finding)
                case SessionState.GENERATING if self._end_finding is None:
                    seconds = self._limits.cancel_answer_seconds
                    self._ask_to_stop(seconds, did_not_stop(seconds))

    def close(self) -> None:
        """End everything; worker and its children are gone on return. Twice is harmless."""
        with self._lock:
            if self._state is SessionState.CLOSED:
                return
            self._interrupt()
            self._job = None
            self._state = SessionState.CLOSED
            starter = self._starter
        if starter is not None and starter is not threading.current_thread():
            starter.join(self._limits.close_seconds)
        self._end_workers()
        self._listener(StateChanged(SessionState.CLOSED))
