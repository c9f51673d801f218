"""Work that would hold up the GUI thread, done elsewhere; its results come back through the bridge."""

import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from app.ui.bridge import Bridge

T = TypeVar("T")

OnError = Callable[[Exception], None]


class Tasks:
    """A thread per job: jobs are few, and a drive that hangs costs its own job only.

    The threads are daemons: none keeps the program alive.
    """

    def __init__(self, bridge: Bridge) -> None:
        """Start nothing yet. GUI thread."""
        self._bridge = bridge
        self._is_closed = False

    def run_in_background(
        self,
        job: Callable[[], T],
        on_done: Callable[[T], None] | None = None,
        on_error: OnError | None = None,
    ) -> None:
        """Run `job`, a function without Qt; then call `on_done` or `on_error` in the GUI thread.

        Without `on_error` what the job raises is raised in the GUI thread, where the program's own
        handler sees it.
        """
        threading.Thread(
            target=self._run, args=(job, on_done, on_error or _raise), name="tasks", daemon=True
        ).start()

    def post(self, deliver: Callable[[], None]) -> None:
        """Have `deliver` called in the GUI thread: what a job has so far. Any thread."""
        if not self._is_closed:
            self._bridge.post_job_end(partial(self._deliver, deliver))

    def close(self) -> None:
        """Deliver nothing any more. Jobs that run go on, unheard."""
        self._is_closed = True

    def _run(self, job: Callable[[], T], on_done: Callable[[T], None] | None, on_error: OnError) -> None:
        try:
            result = job()
        except Exception as reason:  # noqa: BLE001 the entry of a thread: whoever asked judges the error
            self.post(partial(on_error, reason))
        else:
            if on_done is not None:
                self.post(partial(on_done, result))

    def _deliver(self, deliver: Callable[[], None]) -> None:
        if not self._is_closed:
            deliver()


class SerialTasks(Tasks):
    """One thread for all jobs, in the order they were given: for a file that has one writer."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        """Start the thread, which waits for jobs."""
        super().__init__(bridge)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run_in_background(
        self,
        job: Callable[[], T],
        on_done: Callable[[T], None] | None = None,
        on_error: OnError | None = None,
    ) -> None:
        """Run `job` after all jobs given before it; otherwise as `Tasks.run_in_background`."""
        self._jobs.put(partial(self._run, job, on_done, on_error or _raise))

    def finish(self, timeout_seconds: float) -> bool:
        """Wait until all jobs are done and end the thread; say whether that came in time.

        Jobs given afterwards are not run, and nothing is delivered any more.
        """
        self._jobs.put(None)
        self._thread.join(timeout_seconds)
        self.close()
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _raise(reason: Exception) -> None:
    raise reason
