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
        self._lock = threading.RLock()  # held while the listener runs, so that events keep their order
        self._starter: threading.Thread | None = None
        self._state = SessionState.IDLE
        self._job: LoadModel | CheckModel | None = None
        self._client: WorkerClient | None = None
        self._retired: WorkerClient | None = None
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
            self._request_id += 1
            request_id, client = self._request_id, self._client
            self._enter(SessionState.GENERATING)
            client.send(Generate(request_id, tuple(messages), sampling))
        return request_id

    def cancel(self) -> None:
        """Stop what is running; a load that does not give up soon loses its worker."""
        with self._lock:
            is_load = self._state in (SessionState.STARTING, SessionState.LOADING)
            if is_load:
                self._end_finding = error(FindingCode.LOAD_CANCELLED)
            if self._client is None:
                return
            if self._state is SessionState.STARTING:
                self._client.kill()
            elif is_load or self._state is SessionState.GENERATING:
                self._client.send(Cancel())
            if self._state is SessionState.LOADING:
                self._watch(self._client, self._limits.cancel_load_seconds, error(FindingCode.LOAD_CANCELLED))

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

    # start

    def _begin(self, job: LoadModel | CheckModel) -> None:
        with self._lock:
            if self._state is SessionState.CLOSED:
                raise SessionStateError("the session is closed")
            self._interrupt()
            self._job = job
            self._end_finding = self._hello = self._loaded = None
            self._enter(SessionState.STARTING)
            self._starter = threading.Thread(
                target=self._start_worker, args=(job, self._starter), name="engine-start", daemon=True
            )
            self._starter.start()

    def _interrupt(self) -> None:
        """Let the running worker say nothing more, and end what it was asked for."""
        self._stop_watching()
        if self._client is not None:
            self._retired, self._client = self._client, None
        if self._state is SessionState.GENERATING:
            self._listener(Finished(self._request_id, "cancelled"))
        elif self._state in (SessionState.STARTING, SessionState.LOADING):
            self._listener(Failed(error(FindingCode.LOAD_CANCELLED)))

    def _start_worker(self, job: LoadModel | CheckModel, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        self._end_workers()  # its memory is free before the next model asks for some
        if self._job is not job:
            return
        self._log = WorkerLog(paths.logs_folder())
        try:
            client = WorkerClient(worker_command(self._spec, self._argv), self._log, self)
        except OSError as reason:
            self._log.close()
            with self._lock:
                if self._job is job:
                    self._fail(
                        error(FindingCode.ENGINE_START_FAILED, engine=self._spec.name, detail=str(reason))
                    )
            return
        with self._lock:
            is_wanted = self._job is job and self._end_finding is None
            if self._job is job:
                self._client = client
                self._watch(client, self._limits.hello_seconds, self._timed_out())
            else:
                self._retired = client
        client.listen()
        if not is_wanted:
            client.kill()

    def _timed_out(self) -> Finding:
        return error(FindingCode.ENGINE_TIMED_OUT, seconds=self._limits.hello_seconds, during="start")

    def _watch(self, client: WorkerClient, seconds: float, finding: Finding) -> None:
        self._stop_watching()
        self._timer = threading.Timer(seconds, self._give_up, (client, finding))
        self._timer.daemon = True
        self._timer.start()

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self, client: WorkerClient, finding: Finding) -> None:
        with self._lock:
            if client is self._client and self._state in (SessionState.STARTING, SessionState.LOADING):
                self._end_finding = finding
                client.kill()

    def _end_workers(self) -> None:
        with self._lock:
            clients = (self._retired, self._client)
            self._retired = self._client = None
        for client in clients:
            if client is not None:
                client.close(self._limits.close_seconds)

    # what the worker says (WorkerListener)

    def on_event(self, client: WorkerClient, event: Event) -> None:
        """Take one event of a worker; an old worker's are dropped."""
        ends_worker = isinstance(event, Checked) or (isinstance(event, Failed) and event.request_id is None)
        if ends_worker and client is self._client:
            client.close(self._limits.close_seconds)  # waits: not under the lock
        with self._lock:
            if client is self._client:
                self._take(client, event)

    def on_exit(self, client: WorkerClient, return_code: int) -> None:
        """Take the end of a worker nobody sent away."""
        with self._lock:
            if client is self._client:
                self._client = None
                during = _DURING.get(self._state, "idle")
                self._fail(self._end_finding or explain_exit(return_code, self.log_tail, during))

    def _take(self, client: WorkerClient, event: Event) -> None:
        match event:
            case Hello():
                self._greet(client, event)
            case Loaded():
                self._take_loaded(client, event)
            case Checked():
                self._client = None
                self._listener(event)
                self._enter(SessionState.IDLE)
            case Failed(request_id=None):
                self._client = None
                self._fail(event.finding)
            case Finished() | Failed():
                self._listener(event)
                self._enter(SessionState.READY)
            case LoadProgress() | PromptProgress() | Token():
                self._listener(event)
            case _:
                assert_never(event)

    def _greet(self, client: WorkerClient, hello: Hello) -> None:
        self._hello = hello
        if self._job is None or self._end_finding is not None:
            return  # cancelled; its worker is being killed
        self._stop_watching()
        self._listener(hello)
        self._enter(SessionState.LOADING)
        client.send(self._job)

    def _take_loaded(self, client: WorkerClient, loaded: Loaded) -> None:
        if self._job is None or self._hello is None or self._end_finding is not None:
            client.kill()  # cancelled too late for the engine, not for the person; `on_exit` tells
            return
        self._stop_watching()
        options = self._job.options
        ours = (*gpu_findings(options, self._hello), *option_findings(options, loaded.applied))
        self._loaded = replace(loaded, findings=(*loaded.findings, *ours))
        self._listener(self._loaded)
        self._enter(SessionState.READY)

    def _enter(self, state: SessionState, finding: Finding | None = None) -> None:
        self._state = state
        self._listener(StateChanged(state, finding))

    def _fail(self, finding: Finding) -> None:
        self._stop_watching()
        self._loaded = None
        if self._state is SessionState.GENERATING:
            self._listener(Failed(finding, self._request_id))
        elif self._state in (SessionState.STARTING, SessionState.LOADING):
            self._listener(Failed(finding))
        cancelled = finding.code is FindingCode.LOAD_CANCELLED
        self._enter(SessionState.IDLE if cancelled else SessionState.FAILED, finding)


_DURING = {
    SessionState.STARTING: "start",
    SessionState.LOADING: "load",
    SessionState.GENERATING: "generate",
}
