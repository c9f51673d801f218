"""TelemetrySampler: one sample per tick, whatever the drivers do."""

import logging
import queue
import threading
import time
from collections.abc import Iterator

import pytest

from app.hardware.facts import GpuInfo, GpuSample, HostSample, Sample
from app.hardware.ports import SourceError
from app.hardware.sampler import TelemetrySampler
from tests.fakes import GIB, FakeGpuSource, FakeHostSource

DEADLINE_SECONDS = 10.0
CARDS = (GpuInfo(0, "A card"), GpuInfo(1, "Another"))
READING = GpuSample(1, vram_used_bytes=GIB, temperature_celsius=60)


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def ignore(sample: Sample) -> None:
    """Take a sample and do nothing."""


def sampler_of(
    gpus: FakeGpuSource, host: FakeHostSource | None = None, read_timeout_seconds: float = 5.0
) -> TelemetrySampler:
    return TelemetrySampler(
        gpus,
        host or FakeHostSource(),
        ignore,
        clock=lambda: 42.0,
        read_timeout_seconds=read_timeout_seconds,
    )


def test_one_reading_holds_the_moment_the_host_and_every_card() -> None:
    gpus = FakeGpuSource(CARDS)
    gpus.samples[1] = READING
    host = FakeHostSource(sample=HostSample(cpu_percent=7.0))
    sample = sampler_of(gpus, host).read_once()
    assert sample == Sample(42.0, HostSample(cpu_percent=7.0), (GpuSample(0), READING))


def test_an_unreadable_sensor_is_none_and_not_zero_in_a_sample() -> None:
    gpus = FakeGpuSource(CARDS)
    gpus.samples[1] = READING
    assert sampler_of(gpus).read_once().gpus[1].power_milliwatts is None


def test_a_failing_card_reads_all_none_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    gpus = FakeGpuSource(CARDS)
    sampler = sampler_of(gpus)
    sampler.read_once()
    gpus.error = SourceError("start-failed", "GPU is lost")
    with caplog.at_level(logging.WARNING):
        samples = [sampler.read_once() for _ in range(4)]
    assert {sample.gpus for sample in samples} == {(GpuSample(0), GpuSample(1))}
    assert len(caplog.records) == len(CARDS)


def test_a_card_that_recovers_is_read_again() -> None:
    gpus = FakeGpuSource(CARDS)
    gpus.samples[1] = READING
    sampler = sampler_of(gpus)
    sampler.read_once()
    gpus.error = SourceError("start-failed")
    assert sampler.read_once().gpus[1] == GpuSample(1)
    gpus.error = None
    assert sampler.read_once().gpus[1] == READING


def test_a_hung_card_costs_one_time_limit_once_and_is_not_asked_again(hang: threading.Event) -> None:
    gpus = FakeGpuSource(CARDS)
    sampler = sampler_of(gpus, read_timeout_seconds=0.2)
    sampler.read_once()
    gpus.hang = hang
    started = time.monotonic()
    samples = [sampler.read_once() for _ in range(50)]
    assert time.monotonic() - started < 2.0
    assert all(sample.host is not None for sample in samples)
    assert {sample.gpus for sample in samples} == {(GpuSample(0), GpuSample(1))}
    waiting = [t for t in threading.enumerate() if t.name.startswith("probe-gpu ")]
    assert len(waiting) == len(CARDS)


def test_a_driver_that_lists_its_cards_late_is_charted_once_it_does(hang: threading.Event) -> None:
    gpus = FakeGpuSource(CARDS)
    gpus.hang = hang
    sampler = sampler_of(gpus, read_timeout_seconds=0.05)
    assert sampler.read_once().gpus == ()
    hang.set()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (sample := sampler.read_once()).gpus:
        assert time.monotonic() < deadline
    assert [gpu.index for gpu in sample.gpus] == [0, 1]


def test_without_a_driver_the_host_is_sampled_alone(caplog: pytest.LogCaptureFixture) -> None:
    gpus = FakeGpuSource()
    gpus.error = SourceError("library-missing")
    sampler = sampler_of(gpus)
    with caplog.at_level(logging.INFO):
        samples = [sampler.read_once() for _ in range(3)]
    assert all(sample.gpus == () and sample.host is not None for sample in samples)
    assert [record.levelno for record in caplog.records] == [logging.INFO]


def test_a_failing_host_is_none_and_the_cards_stay() -> None:
    host = FakeHostSource()
    host.error = OSError("no counters")
    sample = sampler_of(FakeGpuSource(CARDS), host).read_once()
    assert sample.host is None
    assert len(sample.gpus) == len(CARDS)


def test_samples_come_on_one_daemon_thread_until_stop_and_never_after() -> None:
    taken: queue.Queue[tuple[Sample, threading.Thread]] = queue.Queue()
    sampler = TelemetrySampler(
        FakeGpuSource(CARDS),
        FakeHostSource(),
        lambda sample: taken.put((sample, threading.current_thread())),
        interval_seconds=0.001,
    )
    sampler.start()
    sampler.start()
    seen = [taken.get(timeout=DEADLINE_SECONDS) for _ in range(5)]
    sampler.stop()
    threads = {thread for _, thread in seen}
    assert len(threads) == 1
    assert all(thread.daemon and not thread.is_alive() for thread in threads)
    moments = [sample.monotonic_seconds for sample, _ in seen]
    assert moments == sorted(moments)


def test_a_sampler_starts_again_after_stop() -> None:
    taken: queue.Queue[Sample] = queue.Queue()
    sampler = TelemetrySampler(FakeGpuSource(), FakeHostSource(), taken.put, interval_seconds=0.001)
    for _ in range(2):
        sampler.start()
        taken.get(timeout=DEADLINE_SECONDS)
        sampler.stop()


def test_a_listener_that_fails_once_gets_the_next_sample(caplog: pytest.LogCaptureFixture) -> None:
    taken: queue.Queue[Sample] = queue.Queue()
    calls = 0

    def listener(sample: Sample) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("the chart is closed")
        taken.put(sample)

    sampler = TelemetrySampler(FakeGpuSource(), FakeHostSource(), listener, interval_seconds=0.001)
    sampler.start()
    taken.get(timeout=DEADLINE_SECONDS)
    sampler.stop()
    assert "a sample was lost" in caplog.text


def test_stop_may_be_called_by_the_listener_itself() -> None:
    stopped = threading.Event()

    def listener(sample: Sample) -> None:
        sampler.stop()
        stopped.set()

    sampler = TelemetrySampler(FakeGpuSource(), FakeHostSource(), listener, interval_seconds=0.001)
    sampler.start()
    assert stopped.wait(DEADLINE_SECONDS)
