"""TelemetrySampler: one thread, one Sample per tick, whatever the drivers do."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from app.hardware.facts import GpuInfo, GpuSample, Sample
from app.hardware.ports import GpuSource, HostSource, SourceError
from app.hardware.probe import Outcome, Probe
from app.hardware.reading import Reading

INTERVAL_SECONDS: Final = 1.0
READ_TIMEOUT_SECONDS: Final = 0.5
"""Time limit of one reading; a healthy one takes 1 to 20 ms."""

RELIST_SECONDS: Final = 60.0

_STOP_TIMEOUT_SECONDS: Final = 5.0

_NO_DRIVER: Final = "library-missing"
"""A machine without NVIDIA cards: nothing is wrong with it."""

_log = logging.getLogger(__name__)


class TelemetrySampler:
    """Reads all GPUs and the host once per tick. A hung or failing source costs its own fields only.

    `on_sample` is called on the sampler's thread and must be quick.
    """

    def __init__(
        self,
        gpu_source: GpuSource,
        host_source: HostSource,
        on_sample: Callable[[Sample], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        interval_seconds: float = INTERVAL_SECONDS,
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
    ) -> None:
        """Start nothing yet. Who made the sources closes them, after `stop`."""
        self._gpu_source = gpu_source
        self._on_sample = on_sample
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._timeout_seconds = read_timeout_seconds
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
        self._host = Reading("host", host_source.read)
        self._list: Probe[tuple[GpuInfo, ...]] | None = None
        self._listed = 0.0
        self._logged_error: str | None = None
        self._gpus: dict[int, Reading[GpuSample]] | None = None
        self._gpus_before: dict[int, Reading[GpuSample]] | None = None

    def read_once(self) -> Sample:
        """Read everything now, on the caller's thread. Not while the sampler runs."""
        moment = self._clock()
        readings = self._gpu_readings()
        # all are asked before any is waited for: together they take one time limit, not one each
        self._host.ask()
        for reading in readings.values():
            reading.ask()
        deadline = time.monotonic() + self._timeout_seconds
        host = self._host.answer(deadline)
        gpus = tuple(reading.answer(deadline) or GpuSample(index) for index, reading in readings.items())
        return Sample(moment, host, gpus)

    def start(self) -> None:
        """Begin to take samples; does nothing while running."""
        if self._thread is None:
            self._stopping = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stopping,), name="telemetry", daemon=True
            )
            self._thread.start()

    def set_interval(self, seconds: float) -> None:
        """Take the next sample now, and then one every so many seconds. Any thread."""
        if seconds != self._interval_seconds:
            self._interval_seconds = seconds
            self._woken.set()

    def stop(self) -> None:
        """End, and wait for the thread: no sample comes after this. Any thread."""
        self._stopping.set()
        self._woken.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_TIMEOUT_SECONDS)

    def _run(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                sample = self.read_once()
                if not stopping.is_set():
                    self._on_sample(sample)
            except Exception:  # noqa: BLE001 the entry of a thread: one bad listener must not end the chart
                _log.exception("a sample was lost")
            self._woken.wait(self._interval_seconds)
            self._woken.clear()

    def _gpu_readings(self) -> dict[int, Reading[GpuSample]]:
        """Return one reading per card: none while the driver has not listed them, or when it cannot.

        Cards are listed anew now and then: a driver that was slow or restarted, and cards that are plugged
        in, show up without a restart of ours.
        """
        is_first = self._list is None
        if is_first or (self._gpus is not None and self._clock() - self._listed >= RELIST_SECONDS):
            self._listed = self._clock()
            self._list, self._gpus_before = Probe("gpus", self._gpu_source.gpus), self._gpus
            self._gpus = None
        if self._gpus is None and self._list is not None:
            outcome = self._list.outcome(self._timeout_seconds if is_first else 0.0)
            if outcome.is_timed_out:
                return self._gpus_before or {}
            self._gpus = self._listed_readings(outcome)
        return self._gpus or {}

    def _listed_readings(self, outcome: Outcome[tuple[GpuInfo, ...]]) -> dict[int, Reading[GpuSample]]:
        before = self._gpus_before or {}
        if outcome.error is None:
            return {gpu.index: before.get(gpu.index) or self._gpu_reading(gpu) for gpu in outcome.value or ()}
        reason = outcome.error.reason if isinstance(outcome.error, SourceError) else None
        level = logging.INFO if reason == _NO_DRIVER else logging.WARNING
        if repr(outcome.error) != self._logged_error:
            self._logged_error = repr(outcome.error)
            _log.log(level, "telemetry: no GPUs listed: %r", outcome.error)
        return before

    def _gpu_reading(self, gpu: GpuInfo) -> Reading[GpuSample]:
        return Reading(f"gpu {gpu.index}", lambda: self._gpu_source.read(gpu.index))
