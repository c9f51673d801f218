"""What the monitor remembers: samples as curves on one time axis, reading times, events. No Qt."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from app.hardware.facts import GpuSample, HostSample, Sample
from app.ui.charts.ring import Ring

SHOWN_SECONDS: Final = 120.0
CAPACITY: Final = 512
"""Two minutes at 2 Hz are 240 rows; the rest is for gaps and quicker sources."""

_EVENTS_KEPT: Final = 100
_READING_SPANS_KEPT: Final = 100
_LARGEST_CLOCK_DRIFT_SECONDS: Final = 3.0
"""The two clocks of a machine that is awake drift by milliseconds; in a sleep one of them may stand."""


class Curve(StrEnum):
    """The values there are."""

    VRAM = "vram_used_bytes"
    TEMPERATURE = "temperature_celsius"
    POWER = "power_watts"
    SPEED = "tokens_per_second"
    DISK = "disk_read_bytes_per_second"
    RAM = "ram_used_bytes"
    CPU = "cpu_percent"


@dataclass(frozen=True, slots=True)
class MonitorEvent:
    """Something that happened, for a mark in the charts and a line below them.

    Attributes:
        kind: `note`, `warning` or `error`.
        seconds: On the time axis of the charts.
        wall_seconds: Since the epoch, for the time of day.
        text_key: In the catalogues, filled with `values`.
    """

    kind: str
    seconds: float
    wall_seconds: float
    text_key: str
    values: Mapping[str, object] = field(default_factory=dict)


class MonitorHistory:
    """Takes samples, speeds and events as they come and puts them on one time axis.

    Samples carry times of the sampler's clock, the rest happens "now": the difference to the own clock is
    taken from the last sample.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self.ring = Ring(tuple(Curve), CAPACITY)
        self.events: deque[MonitorEvent] = deque(maxlen=_EVENTS_KEPT)
        self.vram_total_bytes: int | None = None
        self.ram_total_bytes: int | None = None
        self.gpu_count = 0
        self.prompt_speed: float | None = None
        self._clock = clock
        self._wall_clock = wall_clock
        self._axis_ahead_seconds = 0.0
        self._clock_drift_seconds: float | None = None
        self._speed: float | None = None
        self._speed_until_sample: float | None = None
        self._reading: deque[tuple[float, float]] = deque(maxlen=_READING_SPANS_KEPT)
        self._reading_since: float | None = None
        self._disk_read: tuple[float, int] | None = None

    @property
    def now_seconds(self) -> float:
        """This moment on the time axis."""
        return self._clock() + self._axis_ahead_seconds

    @property
    def is_reading_prompt(self) -> bool:
        """The model reads a prompt now."""
        return self._reading_since is not None

    def add_sample(self, sample: Sample) -> None:
        """Add one reading of the machine, with the speed of that moment."""
        self._look_for_sleep()
        host = sample.host or HostSample()
        row: dict[str, float | None] = dict(self._gpu_values(sample.gpus))
        row[Curve.DISK] = self._disk_rate(sample.monotonic_seconds, host.disk_read_bytes)
        row[Curve.RAM] = host.ram_used_bytes
        row[Curve.CPU] = host.cpu_percent
        row[Curve.SPEED] = self._speed if self._speed is not None else self._speed_until_sample
        self._speed_until_sample = None
        if host.ram_used_bytes is not None and host.ram_available_bytes is not None:
            self.ram_total_bytes = host.ram_used_bytes + host.ram_available_bytes
        placed = self.ring.append(sample.monotonic_seconds, row)
        self._axis_ahead_seconds = placed - self._clock()

    def set_speed(self, tokens_per_second: float | None, *, is_prefill: bool) -> None:
        """Take the speed of this moment; of reading the prompt it is no part of the curve.

        An answer shorter than a tick still gets its point: the last speed waits for the next sample.
        """
        self.prompt_speed = tokens_per_second if is_prefill else None
        if is_prefill and self._reading_since is None:
            self._reading_since = self.now_seconds
        elif not is_prefill and self._reading_since is not None:
            self._reading.append((self._reading_since, self.now_seconds))
            self._reading_since = None
        if is_prefill:
            tokens_per_second = None
        if tokens_per_second is not None:
            self._speed_until_sample = tokens_per_second
        self._speed = tokens_per_second

    def add_event(self, kind: str, text_key: str, values: Mapping[str, object]) -> None:
        """Note that something happened now."""
        self.events.append(MonitorEvent(kind, self.now_seconds, self._wall_clock(), text_key, dict(values)))

    def reading_spans(self) -> tuple[tuple[float, float], ...]:
        """Return from when to when prompts were read, the one being read now included."""
        running = () if self._reading_since is None else ((self._reading_since, self.now_seconds),)
        return (*self._reading, *running)

    def _look_for_sleep(self) -> None:
        drift = self._wall_clock() - self._clock()
        before, self._clock_drift_seconds = self._clock_drift_seconds, drift
        if before is not None and abs(drift - before) > _LARGEST_CLOCK_DRIFT_SECONDS:
            self.ring.break_line()
            self._disk_read = None

    def _gpu_values(self, gpus: tuple[GpuSample, ...]) -> dict[str, float | None]:
        """Return the cards together: memory and power added up, the hottest core."""
        self.gpu_count = len(gpus)
        totals = [gpu.vram_total_bytes for gpu in gpus if gpu.vram_total_bytes is not None]
        if totals:
            self.vram_total_bytes = sum(totals)
        used = [gpu.vram_used_bytes for gpu in gpus if gpu.vram_used_bytes is not None]
        heat = [gpu.temperature_celsius for gpu in gpus if gpu.temperature_celsius is not None]
        power = [gpu.power_milliwatts for gpu in gpus if gpu.power_milliwatts is not None]
        return {
            Curve.VRAM: sum(used) if used else None,
            Curve.TEMPERATURE: max(heat, default=None),
            Curve.POWER: sum(power) / 1000 if power else None,
        }

    def _disk_rate(self, seconds: float, read_bytes: int | None) -> float | None:
        """Return bytes per second since the last count; None across a gap or a counter that began again."""
        before = self._disk_read
        self._disk_read = None if read_bytes is None else (seconds, read_bytes)
        if before is None or read_bytes is None:
            return None
        passed = seconds - before[0]
        if not 0 < passed <= self.ring.longest_step_seconds or read_bytes < before[1]:
            return None
        return (read_bytes - before[1]) / passed
