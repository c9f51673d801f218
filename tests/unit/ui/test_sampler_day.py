"""A day at one sample per second on a clock of the test: flat memory, and gaps for sleep and clock steps."""

import gc
import threading
from collections.abc import Callable

import numpy as np
import psutil
import pytest

from app.hardware.facts import GpuInfo, GpuSample, HostSample, Sample
from app.hardware.sampler import RELIST_SECONDS, TelemetrySampler
from app.ui.views.monitor_history import Curve, MonitorHistory
from tests.fakes import GIB, FakeGpuSource, FakeHostSource

HOUR = 3600
MOST_GROWTH_BYTES = 5 * 1024**2
LARGEST_READ_PER_SECOND = 50_000_000


class Day:
    """A machine, its sampler and what the monitor remembers, on clocks that a test moves.

    Attributes:
        seconds: Of the clock that stands in a sleep, as Linux' does. wall_seconds: Of the other.
    """

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.wall_seconds = 1_800_000_000.0
        self.gpus = FakeGpuSource([GpuInfo(0, "A card"), GpuInfo(1, "Another")])
        self.host = FakeHostSource()
        self.history = MonitorHistory(lambda: self.seconds, lambda: self.wall_seconds)
        self.sampler = TelemetrySampler(
            self.gpus, self.host, self.history.add_sample, clock=lambda: self.seconds
        )
        self._read_bytes = 0

    def pass_second(self, tick: int) -> None:
        """Let a second pass and take a sample, in which all eight series move."""
        self.seconds += 1.0
        self.wall_seconds += 1.0
        self._read_bytes += tick * 7919 % LARGEST_READ_PER_SECOND
        self.host.sample = HostSample(tick % 100, tick % GIB, GIB, self._read_bytes)
        for i in (0, 1):
            heat = 40 + tick % 40
            self.gpus.samples[i] = GpuSample(i, tick % GIB, GIB, heat, 1000 * heat, tick % 100)
        if tick % 40 == 0:
            self.history.set_speed(None, is_prefill=True)
            self.history.add_event("note", "ui.event.reply", {"tokens": tick})
        elif tick % 40 > 5:
            self.history.set_speed(float(tick % 30), is_prefill=False)
        self.history.add_sample(self.sampler.read_once())

    def disk_rates(self) -> list[float]:
        """Return the rates in the ring, gaps left out."""
        rates = self.history.ring.values(Curve.DISK)
        return [float(rate) for rate in rates[np.isfinite(rates)]]


def test_a_day_takes_the_memory_of_its_first_hour() -> None:
    day = Day()
    process = psutil.Process()
    for tick in range(HOUR):
        day.pass_second(tick)
    gc.collect()
    before = process.memory_info().rss
    for tick in range(HOUR, 24 * HOUR):
        day.pass_second(tick)
    gc.collect()
    assert process.memory_info().rss - before <= MOST_GROWTH_BYTES
    assert threading.active_count() < 20
    assert day.history.now_seconds == pytest.approx(1000 + 24 * HOUR)


def sleep_on_linux(day: Day) -> None:
    day.wall_seconds += 5 * HOUR


def sleep_on_windows(day: Day) -> None:
    day.seconds += 5 * HOUR
    day.wall_seconds += 5 * HOUR


def clock_set_forward(day: Day) -> None:
    day.wall_seconds += 40


def clock_set_back(day: Day) -> None:
    day.wall_seconds -= 2 * HOUR


def own_clock_stepped_back(day: Day) -> None:
    day.seconds -= 600


@pytest.mark.parametrize(
    "happens",
    [sleep_on_linux, sleep_on_windows, clock_set_forward, clock_set_back, own_clock_stepped_back],
)
@pytest.mark.parametrize("read_meanwhile", [0, 60 * GIB])
def test_a_sleep_or_a_clock_step_leaves_one_gap_and_no_spike(
    happens: Callable[[Day], None], read_meanwhile: int
) -> None:
    day = Day()
    for tick in range(60):
        day.pass_second(tick)
    happens(day)
    day._read_bytes += read_meanwhile
    for tick in range(60, 120):
        day.pass_second(tick)
    rates = day.disk_rates()
    assert len(rates) == 118  # none at the very first sample, none across the gap
    assert 0 <= min(rates) <= max(rates) <= LARGEST_READ_PER_SECOND
    ram = day.history.ring.values(Curve.RAM)
    assert np.isnan(ram).sum() == 1  # the line is broken once
    assert (np.diff(day.history.ring.times) >= 0).all()


def test_counters_that_begin_again_after_hibernation_give_no_negative_rate() -> None:
    day = Day()
    for tick in range(20):
        day.pass_second(tick)
    day._read_bytes = 0
    for tick in range(20, 40):
        day.pass_second(tick)
    assert min(day.disk_rates()) >= 0


class CountedGpus(FakeGpuSource):
    """Notes at which time its driver was asked."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__([GpuInfo(0, "A card")])
        self.asked: list[float] = []
        self._clock = clock

    def gpus(self) -> tuple[GpuInfo, ...]:
        self.asked.append(self._clock())
        return super().gpus()

    def read(self, index: int) -> GpuSample:
        self.asked.append(self._clock())
        return super().read(index)


class FakeWait(threading.Event):
    """Moves a clock on by as long as it was told to wait, and stops the sampler in the end."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self.seconds = 0.0
        self.waits: list[float] = []
        self._left = waits
        self.stop: Callable[[], None] = lambda: None

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds += timeout
        self.waits.append(timeout)
        self._left -= 1
        if self._left == 0:
            self.stop()
        return False


def test_a_sampler_told_to_be_slow_asks_the_driver_no_more_often_not_even_to_list_cards() -> None:
    waits = FakeWait(200)
    gpus = CountedGpus(lambda: waits.seconds)
    taken: list[Sample] = []
    sampler = TelemetrySampler(
        gpus, FakeHostSource(), taken.append, clock=lambda: waits.seconds, interval_seconds=30.0
    )
    done = threading.Event()

    def stop() -> None:
        sampler._stopping.set()
        done.set()

    waits.stop = stop
    sampler._woken = waits
    sampler.start()
    assert done.wait(30.0)
    sampler.stop()
    moments = sorted(set(gpus.asked))
    assert len(taken) == 200
    assert len(moments) == 200
    assert min(np.diff(moments)) >= 30.0
    assert RELIST_SECONDS % 30.0 == 0
