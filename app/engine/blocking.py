"""The engine for callers that wait: the command line."""

import contextlib
import queue
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from app.engine.protocol import (
    ChatMessage,
    Checked,
    Event,
    Failed,
    Finished,
    Hello,
    Loaded,
    PromptProgress,
    Token,
)  # fmt: skip
from app.engine.session import (
    EngineSession,
    SessionEvent,
    SessionLimits,
    SessionState,
    SessionStateError,
    StateChanged,
)
from app.engine.spec import EngineSpec
from app.findings import Finding, FindingError
from app.options import EngineOptions, SamplingOptions

AnswerEvent = PromptProgress | Token | Finished | Failed

_NO_REQUEST = 0
_POLL_SECONDS = 0.2
"""Waiting in slices lets Ctrl-C through on Windows."""


class GivenUpError(Exception):
    """Nobody waits for the answer any more."""


class BlockingEngine:
    """One engine, one caller's thread. Leaving the `with` block ends its processes."""

    def __init__(self, spec: EngineSpec, limits: SessionLimits | None = None) -> None:
        """Prepare; nothing is started."""
        self._events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
        self._session = EngineSession(spec, self._events.put, limits=limits)
        self._last_finding: Finding | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def hello(self) -> Hello | None:
        """What the engine said of itself; None before a load or check."""
        return self._session.hello

    @property
    def log_tail(self) -> tuple[str, ...]:
        """The last lines of the engine's log."""
        return self._session.log_tail

    def load(
        self, path: Path, options: EngineOptions, on_event: Callable[[Event], None] | None = None
    ) -> Loaded:
        """Load a model and wait for it. `on_event` sees `Hello` and `LoadProgress` meanwhile.

        Raises:
            FindingError: why it did not load.
        """
        self._session.load(path, options)
        loaded: Loaded | None = None
        for event in self._until_settled():
            if isinstance(event, Failed):
                raise FindingError(event.finding)
            if isinstance(event, Loaded):
                loaded = event
            elif on_event is not None:
                on_event(event)
        assert loaded is not None  # READY comes only after Loaded
        return loaded

    def check(
        self,
        path: Path,
        options: EngineOptions,
        is_cancelled: Callable[[], bool] = lambda: False,
        *,
        measures: bool = False,
    ) -> Checked:
        """Ask whether the engine takes the file, and with `measures` what it would compute in.

        Raises:
            FindingError: the engine cannot tell, or did not start.
            GivenUpError: cancelled; `close` ends the engine, wherever it is.
        """
        self._session.check(path, options, measures=measures)
        checked: Checked | None = None
        for event in self._until_settled(is_cancelled):
            if isinstance(event, Failed):
                raise FindingError(event.finding)
            if isinstance(event, Checked):
                checked = event
        if checked is None and is_cancelled():
            raise GivenUpError
        assert checked is not None  # IDLE without Failed comes only after Checked
        return checked

    def generate(self, messages: Sequence[ChatMessage], sampling: SamplingOptions) -> Iterator[AnswerEvent]:
        """Yield the answer as it comes; `Finished` or `Failed` is the last.

        A caller that stops early, also by Ctrl-C, cancels the answer; the engine is ready again then,
        or gone if it did not stop: the next answer fails with the reason.
        """
        try:
            self._session.generate(messages, sampling)
        except SessionStateError:
            yield Failed(self._why_it_is_gone(), _NO_REQUEST)
            return
        last: Finished | Failed | None = None
        events = self._until_settled()
        try:
            for event in events:
                if isinstance(event, Finished | Failed):
                    last = event
                elif isinstance(event, PromptProgress | Token):
                    yield event
        finally:
            if last is None:
                self.cancel()
                with contextlib.suppress(FindingError):
                    self._drain()
        if last is not None:
            yield last

    def cancel(self) -> None:
        """Stop what is running; callable from another thread or a signal handler."""
        self._session.cancel()

    def close(self) -> None:
        """End the engine's processes; harmless twice."""
        self._session.close()

    def _until_settled(self, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Yield events until the session waits for the next request again, or nobody waits for them."""
        while not is_cancelled():
            try:
                event = self._events.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            self._note(event)
            if not isinstance(event, StateChanged):
                yield event
            elif event.state in _SETTLED:
                return

    def _why_it_is_gone(self) -> Finding:
        """Return why no model is loaded any more.

        Raises:
            SessionStateError: none ever was.
        """
        while not self._events.empty():
            self._note(self._events.get())
        if self._last_finding is None:
            raise SessionStateError("generate before load")
        return self._last_finding

    def _note(self, event: SessionEvent) -> None:
        if isinstance(event, StateChanged) and event.finding is not None:
            self._last_finding = event.finding

    def _drain(self) -> None:
        for _ in self._until_settled():
            pass


_SETTLED = (SessionState.IDLE, SessionState.READY, SessionState.FAILED, SessionState.CLOSED)
