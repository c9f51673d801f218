"""One engine as the program sees it: states, requests, and a cause for every failure."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from app import paths
from app.engine.client import WorkerClient, worker_command
from app.engine.comparison import gpu_findings, option_findings
from app.engine.log_reader import explain_exit
from app.engine.protocol import (
    Cancel,
    ChatMessage,
    Checked,
    CheckModel,
    Event,
    Failed,
    Finished,
    Generate,
    Hello,
    Loaded,
    LoadModel,
    LoadProgress,
    PromptProgress,
    Token,
)  # fmt: skip
from app.engine.session_state import SessionEvent as SessionEvent
from app.engine.session_state import SessionLimits as SessionLimits
from app.engine.session_state import SessionState as SessionState
from app.engine.session_state import SessionStateError as SessionStateError
from app.engine.session_state import StateChanged as StateChanged
from app.engine.spec import EngineSpec
from app.engine.worker_log import WorkerLog
from app.findings import Finding, FindingCode, error
from app.options import EngineOptions, SamplingOptions


class EngineSession:
    """Runs one model in a worker process, a fresh one for every load.

    Methods return at once, except `close`. The listener is called from the caller's thread for states
    a call causes, else from `engine-events`; it must be quick and must not block. An answer's last
    event comes before the `StateChanged` that allows the next request.
    """

    def __init__(
        self,
        spec: EngineSpec,
        listener: Callable[[SessionEvent], None],
        *,
        limits: SessionLimits | None = None,
        argv: Sequence[str] | None = None,
    ) -> None:
        """Prepare a session; nothing is started.

        Args:
            argv: Command line of the worker; None for this program's own.
        """
        self._spec = spec
        self._listener = listener
        self._limits = limits or SessionLimits()
        self._argv = argv
        self._lock = threading.Lock()
        self._start_lock = threading.Lock()
        self._state = SessionState.IDLE
        self._job: LoadModel | CheckModel | None = None
        self._client: WorkerClient | None = None
        self._log: WorkerLog | None = None
        self._timer: threading.Timer | None = None
        self._end_finding: Finding | None = None
        self._request_id = 0
        self._hello: Hello | None = None
        self._loaded: Loaded | None = None

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

    @property
    def log_tail(self) -> tuple[str, ...]:
        """The last lines of the newest worker's log; readable after its end."""
        return self._log.tail if self._log else ()

    def load(self, path: Path, options: EngineOptions) -> None:
        """Load a model; what ran before ends first.

        Raises:
            SessionStateError: the session is closed.
        """
        self._begin(LoadModel(os.path.abspath(path), options))  # noqa: PTH100  # keeps `..` and links as they are

    def check(self, path: Path, options: EngineOptions) -> None:
        """Ask whether the engine takes the file; what ran before ends first. `Checked` or `Failed` answers.

        Raises:
            SessionStateError: the session is closed.
        """
        self._begin(CheckModel(os.path.abspath(path), options))  # noqa: PTH100  # as above

    def generate(self, messages: Sequence[ChatMessage], sampling: SamplingOptions) -> int:
        """Ask for an answer and return its request id.

        Raises:
            SessionStateError: no model is ready, or it is answering.
        """
        with self._lock:
            if self._state is not SessionState.READY or self._client is None:
                raise SessionStateError(f"generate while {self._state}")
            self._state = SessionState.GENERATING
            self._request_id += 1
            request_id, client = self._request_id, self._client
        self._listener(StateChanged(SessionState.GENERATING))
        client.send(Generate(request_id, tuple(messages), sampling))
        return request_id

    def cancel(self) -> None:
        """Stop what is running; a load that does not give up soon loses its worker."""
        with self._lock:
            state, client = self._state, self._client
            if state in (SessionState.STARTING, SessionState.LOADING):
                self._end_finding = error(FindingCode.LOAD_CANCELLED)
        if client is None:
            return
        if state is SessionState.STARTING:
            client.kill()
        elif state is SessionState.LOADING:
            client.send(Cancel())
            self._watch(client, self._limits.cancel_load_seconds, error(FindingCode.LOAD_CANCELLED))
        elif state is SessionState.GENERATING:
            client.send(Cancel())

    def close(self) -> None:
        """End everything; worker and its children are gone on return. Twice is harmless."""
        with self._lock:
            if self._state is SessionState.CLOSED:
                return
            interrupted = self._interrupted()
            self._job = None
            self._state = SessionState.CLOSED
        with self._start_lock:
            self._end_worker()
        self._tell(*interrupted, StateChanged(SessionState.CLOSED))

    # start

    def _begin(self, job: LoadModel | CheckModel) -> None:
        with self._lock:
            if self._state is SessionState.CLOSED:
                raise SessionStateError("the session is closed")
            interrupted = self._interrupted()
            self._job = job
            self._state = SessionState.STARTING
            self._end_finding = self._hello = self._loaded = None
        self._tell(*interrupted, StateChanged(SessionState.STARTING))
        threading.Thread(target=self._start_worker, args=(job,), name="engine-start", daemon=True).start()

    def _interrupted(self) -> tuple[Event, ...]:
        if self._state is SessionState.GENERATING:
            return (Finished(self._request_id, "cancelled"),)
        if self._state in (SessionState.STARTING, SessionState.LOADING):
            return (Failed(error(FindingCode.LOAD_CANCELLED)),)
        return ()

    def _start_worker(self, job: LoadModel | CheckModel) -> None:
        with self._start_lock:
            self._end_worker()
            if self._job is not job:
                return
            self._log = WorkerLog(paths.logs_folder())
            try:
                client = WorkerClient(worker_command(self._spec, self._argv), self._log, self)
            except OSError as reason:
                self._log.close()
                self._fail(error(FindingCode.ENGINE_START_FAILED, engine=self._spec.name, detail=str(reason)))
                return
            with self._lock:
                self._client = client
                is_unwanted = self._job is not job or self._end_finding is not None
            self._watch(client, self._limits.hello_seconds, self._timed_out("start"))
            client.listen()
            if is_unwanted:
                client.kill()

    def _timed_out(self, during: str) -> Finding:
        return error(FindingCode.ENGINE_TIMED_OUT, seconds=self._limits.hello_seconds, during=during)

    def _watch(self, client: WorkerClient, seconds: float, finding: Finding) -> None:
        self._stop_watching()
        self._timer = threading.Timer(seconds, self._give_up, (client, finding))
        self._timer.daemon = True
        self._timer.start()

    def _stop_watching(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _give_up(self, client: WorkerClient, finding: Finding) -> None:
        with self._lock:
            if client is not self._client or self._state not in (SessionState.STARTING, SessionState.LOADING):
                return
            self._end_finding = finding
        client.kill()

    def _end_worker(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        self._stop_watching()
        if client is not None:
            client.close(self._limits.close_seconds)

    # what the worker says (WorkerListener)

    def on_event(self, client: WorkerClient, event: Event) -> None:
        """Take one event of a worker; an old worker's are dropped."""
        if client is not self._client:
            return
        match event:
            case Hello():
                self._greet(client, event)
            case Loaded():
                self._take_loaded(event)
            case Checked():
                self._tell(event)
                self._end_worker()
                self._enter(SessionState.IDLE)
            case Failed(request_id=None):
                self._end_worker()
                self._fail(event.finding)
            case Finished() | Failed():
                self._tell(event)
                self._enter(SessionState.READY)
            case LoadProgress() | PromptProgress() | Token():
                self._tell(event)
            case _:
                assert_never(event)

    def on_exit(self, client: WorkerClient, return_code: int) -> None:
        """Take the end of a worker nobody sent away."""
        with self._lock:
            if client is not self._client:
                return
            self._client = None
            finding = self._end_finding
            during = _DURING.get(self._state, "idle")
        self._stop_watching()
        self._fail(finding or explain_exit(return_code, self.log_tail, during))

    def _greet(self, client: WorkerClient, hello: Hello) -> None:
        with self._lock:
            job = self._job
            self._hello = hello
            if job is None or self._end_finding is not None:
                return  # cancelled; its worker is being killed
            self._state = SessionState.LOADING
        self._stop_watching()
        self._tell(hello, StateChanged(SessionState.LOADING))
        client.send(job)

    def _take_loaded(self, loaded: Loaded) -> None:
        self._stop_watching()
        with self._lock:
            finding = self._end_finding
        if finding is not None:  # cancelled too late for the engine, not for the person
            self._end_worker()
            self._fail(finding)
            return
        self._loaded = self._compared(loaded)
        self._tell(self._loaded)
        self._enter(SessionState.READY)

    def _compared(self, loaded: Loaded) -> Loaded:
        job, hello = self._job, self._hello
        if job is None or hello is None:
            return loaded
        ours = (*gpu_findings(job.options, hello), *option_findings(job.options, loaded.applied))
        return replace(loaded, findings=(*loaded.findings, *ours))

    def _enter(self, state: SessionState) -> None:
        with self._lock:
            if self._state is SessionState.CLOSED:
                return
            self._state = state
        self._tell(StateChanged(state))

    def _fail(self, finding: Finding) -> None:
        with self._lock:
            state, request_id = self._state, self._request_id
            if state is SessionState.CLOSED:
                return
            cancelled = finding.code is FindingCode.LOAD_CANCELLED
            self._state = SessionState.IDLE if cancelled else SessionState.FAILED
            after, self._loaded = self._state, None
        if state is SessionState.GENERATING:
            self._tell(Failed(finding, request_id))
        elif state in (SessionState.STARTING, SessionState.LOADING):
            self._tell(Failed(finding))
        self._tell(StateChanged(after, finding))

    def _tell(self, *events: SessionEvent) -> None:
        for event in events:
            self._listener(event)


_DURING = {
    SessionState.STARTING: "start",
    SessionState.LOADING: "load",
    SessionState.GENERATING: "generate",
}
