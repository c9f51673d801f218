"""The one engine of the window: at most one session at a time, and never a word of one that was let go."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from app.engine.protocol import ChatMessage, Failed, Finished, PromptProgress, Token
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent, SessionState, SessionStateError, StateChanged
from app.engine.spec import EngineSpec
from app.options import EngineOptions, SamplingOptions
from app.ui.bridge import Bridge, SessionNews
from app.ui.tasks import SerialTasks, Tasks

CLOSE_SECONDS: Final = 5.0

MakeSession = Callable[[EngineSpec, Callable[[SessionEvent], None]], EngineSession]


@dataclass(frozen=True, slots=True)
class _Ending:
    """A session that is being ended; `is_gone` is set once its processes are."""

    session: EngineSession
    is_gone: Event = field(default_factory=Event)

    def end(self) -> None:
        try:
            self.session.close()
        finally:
            self.is_gone.set()


class EngineHolder(QObject):
    """Starts and ends sessions, out of the GUI thread where that takes time.

    Signals:
        told: a `SessionEvent` of the session that runs; of one that is being ended, only how its answer ends.
    """

    told = Signal(object)

    def __init__(self, bridge: Bridge, tasks: Tasks, make_session: MakeSession) -> None:
        """Start nothing yet."""
        super().__init__()
        self._bridge = bridge
        self._tasks = tasks
        self._make_session = make_session
        self._requests = SerialTasks(bridge, "engine-requests")
        self._session: EngineSession | None = None
        self._number = 0
        self._ending: _Ending | None = None
        self._then: Callable[[], None] | None = None
        bridge.session_event.connect(self._on_news)

    @property
    def log_tail(self) -> tuple[str, ...]:
        """The last lines of the log of the session that runs."""
        return self._session.log_tail if self._session is not None else ()

    def when_free(self, then: Callable[[], None]) -> None:
        """End what runs, then call `then`: at once when nothing does. Only the last `then` counts."""
        self._then = then
        if self._session is not None:
            self._end()
        elif self._ending is None:
            self._call_then()

    def start(self, spec: EngineSpec, path: Path, options: EngineOptions) -> None:
        """Load a model. Only while nothing runs."""
        assert self._session is None and self._ending is None  # `when_free` came before
        self._number += 1
        self._session = self._make_session(spec, partial(self._bridge.post_session_event, self._number))
        self._session.load(path, options)

    def generate(
        self, messages: Sequence[ChatMessage], sampling: SamplingOptions, on_refused: Callable[[], None]
    ) -> None:
        """Ask for an answer; `on_refused` is called when the engine went away first."""
        session = self._session
        assert session is not None

        def refused(reason: Exception) -> None:
            if not isinstance(reason, SessionStateError):
                raise reason
            on_refused()

        self._requests.run_in_background(partial(session.generate, messages, sampling), None, refused)

    def cancel(self) -> None:
        """Stop the running answer, also one that was asked for a moment ago."""
        if self._session is not None:
            self._requests.run_in_background(self._session.cancel)

    def close(self) -> None:
        """End everything and wait until it is gone, `CLOSE_SECONDS` at most; nothing is told any more."""
        self._number += 1
        self._then = None
        self._requests.close()
        if self._session is not None:
            self._end()
        if self._ending is not None:
            self._ending.is_gone.wait(CLOSE_SECONDS)
        self._requests.finish(0.0)

    def _end(self) -> None:
        assert self._session is not None
        self._ending = _Ending(self._session)
        self._session = None
        self._tasks.run_in_background(self._ending.end, partial(self._on_ended, self._ending))

    def _on_ended(self, ending: _Ending, _result: None) -> None:
        if ending is self._ending:
            self._ending = None
            self._call_then()

    def _call_then(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            then()

    @Slot(object)
    def _on_news(self, news: SessionNews) -> None:
        if news.session != self._number:
            return
        event = news.event
        is_answer = isinstance(event, PromptProgress | Token | Finished) or (
            isinstance(event, Failed) and event.request_id is not None
        )
        if self._session is not None or is_answer:
            self.told.emit(event)
        if isinstance(event, StateChanged) and event.state is SessionState.FAILED and self._session:
            self._end()  # nothing runs any more; its threads and pipes go too
