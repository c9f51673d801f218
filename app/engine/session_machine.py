"""The machine behind a session: its worker's start, states, patience and end."""

import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from app.engine.client import WorkerClient, worker_command
from app.engine.comparison import gpu_findings, option_findings
from app.engine.protocol import (
    Cancel,
    Checked,
    CheckModel,
    Event,
    Failed,
    Finished,
    Hello,
    Loaded,
    LoadModel,
    LoadProgress,
    PromptProgress,
    Token,
)  # fmt: skip
from app.engine.session_end import CANCELLED_CODES, engine_failed, lost_worker, silent, timed_out
from app.engine.session_state import (
    SessionEvent,
    SessionLimits,
    SessionState,
    SessionStateError,
    StateChanged,
)
from app.engine.spec import EngineSpec
from app.engine.watchdog import Watchdog
from app.engine.worker_log import WorkerLog
from app.findings import Finding, FindingCode, error


class SessionMachine:
    """States of one engine. What has a client as its argument does nothing for one that was let go."""

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
        self._watchdog = Watchdog(self._lock)
        self._end_finding: Finding | None = None
        self._request_id = 0
        self._is_cancelling = False
        self._hello: Hello | None = None
        self._loaded: Loaded | None = None

    @property
    def log_tail(self) -> tuple[str, ...]:
        """The last lines of the newest worker's log; readable after its end."""
        return self._log.tail if self._log else ()

    # start

    def _begin(self, job: LoadModel | CheckModel) -> None:
        with self._lock:
            if self._state is SessionState.CLOSED:
                raise SessionStateError("the session is closed")
            self._interrupt()
            self._job = job
            self._end_finding = self._hello = self._loaded = None
            self._is_cancelling = False
            self._enter(SessionState.STARTING)
            self._starter = threading.Thread(
                target=self._start_worker, args=(job, self._starter), name="engine-start", daemon=True
            )
            self._starter.start()

    def _interrupt(self) -> None:
        """Let the running worker say nothing more, and end what it was asked for."""
        self._watchdog.stop()
        if self._client is not None:
            self._retired, self._client = self._client, None
        if self._state is SessionState.GENERATING:
            self._listener(Finished(self._request_id, "cancelled"))
        elif self._state in (SessionState.STARTING, SessionState.LOADING):
            self._listener(Failed(error(FindingCode.LOAD_CANCELLED)))

    def _start_worker(self, job: LoadModel | CheckModel, before: threading.Thread | None) -> None:
        try:
            if before is not None:
                before.join()
            self._end_workers()  # its memory is free before the next model asks for some
            if self._job is job:
                self._connect(job)
        except Exception as reason:  # noqa: BLE001  # thread entry: a start that fails must not look like one that goes on
            self._fail_start(job, reason)

    def _connect(self, job: LoadModel | CheckModel) -> None:
        self._log = WorkerLog()
        client = WorkerClient(worker_command(self._spec, self._argv), self._log, self)
        with self._lock:
            is_wanted = self._job is job and self._end_finding is None
            if self._job is job:
                self._client = client
                seconds = self._limits.hello_seconds
                self._watchdog.after(seconds, partial(self._give_up, client, timed_out(seconds, "start")))
            else:
                self._retired = client
        client.listen()
        if not is_wanted:
            client.kill()

    def _fail_start(self, job: LoadModel | CheckModel, reason: Exception) -> None:
        with self._lock:
            if self._log is not None:
                self._log.add_text(traceback.format_exc())
                self._log.close()
            if self._job is job and self._state is SessionState.STARTING:
                if self._client is not None:
                    self._client.kill()
                    self._retired, self._client = self._client, None
                detail = str(reason) or type(reason).__name__
                self._fail(self._end_finding or engine_failed(self._spec.name, detail))

    # patience

    def _watch_silence(self, client: WorkerClient) -> None:
        def give_up() -> None:
            assert self._job is not None  # a worker has one
            self._give_up(client, silent(seconds, self._state, self._job.options))

        seconds = self._limits.silent_seconds
        self._watchdog.on_silence(seconds, client.activity, give_up)

    def _ask_to_stop(self, seconds: float, finding: Finding) -> None:
        client = self._client
        if client is None or self._is_cancelling:  # asking again gives no more time
            return
        self._is_cancelling = True
        client.send(Cancel())
        self._watchdog.after(seconds, partial(self._give_up, client, finding))

    def _give_up(self, client: WorkerClient, finding: Finding) -> None:
        if client is self._client:
            self._end_finding = finding
            client.kill()
            self._watchdog.after(self._limits.kill_seconds, partial(self._go_on_without, client, finding))

    def _go_on_without(self, client: WorkerClient, finding: Finding) -> None:
        """Settle although the killed worker is still there: it hangs in a driver or on a dead drive."""
        if client is self._client:
            self._retired, self._client = client, None
            self._fail(finding)

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
            if client is not self._client:
                return
            self._client = None
            if self._end_finding is not None:
                self._fail(self._end_finding)
            elif client.failure is not None:
                self._fail(engine_failed(self._spec.name, client.failure))
            else:
                options = self._job.options if self._job is not None else None
                self._fail(lost_worker(return_code, self.log_tail, self._state, options))

    def _take(self, client: WorkerClient, event: Event) -> None:
        self._watchdog.heard()
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
                if self._end_finding is None:  # else its worker is being killed; `on_exit` tells
                    self._watchdog.stop()
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
        self._listener(hello)
        if client is not self._client or self._end_finding is not None:
            return  # the listener thought better of it
        client.send(self._job)  # before anyone hears of it: what they ask for then comes after it
        self._watch_silence(client)
        self._enter(SessionState.LOADING)

    def _take_loaded(self, client: WorkerClient, loaded: Loaded) -> None:
        if self._job is None or self._hello is None or self._end_finding is not None:
            client.kill()  # cancelled too late for the engine, not for the person; `on_exit` tells
            return
        self._watchdog.stop()
        options = self._job.options
        ours = (*gpu_findings(options, self._hello), *option_findings(options, loaded.applied))
        self._loaded = replace(loaded, findings=(*loaded.findings, *ours))
        self._listener(self._loaded)
        self._enter(SessionState.READY)

    def _enter(self, state: SessionState, finding: Finding | None = None) -> None:
        self._state = state
        self._listener(StateChanged(state, finding))

    def _fail(self, finding: Finding) -> None:
        self._watchdog.stop()
        self._loaded = None
        is_cancelled = finding.code in CANCELLED_CODES
        if self._state is SessionState.GENERATING:
            number = self._request_id
            self._listener(Finished(number, "cancelled") if is_cancelled else Failed(finding, number))
        elif self._state in (SessionState.STARTING, SessionState.LOADING):
            self._listener(Failed(finding))
        is_load = finding.code is FindingCode.LOAD_CANCELLED
        self._enter(SessionState.IDLE if is_load else SessionState.FAILED, finding)
