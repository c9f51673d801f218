"""Samples, speeds and events on one time axis."""

import numpy as np
import pytest

from app.findings import FindingCode, note, warning
from app.hardware.facts import GpuSample, HostSample, Sample
from app.ui.views.monitor_history import Curve, MonitorHistory
from app.ui.views.monitor_strips import STRIPS, StripSpec, frame_of, has_source, reason_of, scale_of

GIB = 1024**3
MIB = 1024**2


class Clocks:
    """A machine's two clocks, moved by hand."""

    def __init__(self) -> None:
        self.monotonic = 50.0
        self.wall = 1_000_000.0

    def pass_time(self, seconds: float) -> None:
        self.monotonic += seconds
        self.wall += seconds


def history_with(clocks: Clocks) -> MonitorHistory:
    return MonitorHistory(lambda: clocks.monotonic, lambda: clocks.wall)


def spec(name: str) -> StripSpec:
    return next(strip for strip in STRIPS if strip.name == name)


def host(read_bytes: int | None = None, *, used: int | None = 8 * GIB) -> HostSample:
    return HostSample(25.0, used, None if used is None else 24 * GIB, read_bytes)


def test_curves_hold_what_the_samples_said() -> None:
    history = history_with(Clocks())
    gpu = GpuSample(0, 3 * GIB, 12 * GIB, 64, 112_500, 31)
    history.add_sample(Sample(7.0, host(), (gpu,)))
    expected = {
        Curve.VRAM: 3 * GIB,
        Curve.TEMPERATURE: 64,
        Curve.POWER: 112.5,
        Curve.RAM: 8 * GIB,
        Curve.CPU: 25,
    }
    assert {curve: history.ring.latest(curve) for curve in expected} == expected
    assert history.vram_total_bytes == 12 * GIB
    assert history.ram_total_bytes == 32 * GIB


def test_two_cards_are_added_up_and_the_hotter_one_counts() -> None:
    history = history_with(Clocks())
    history.add_sample(
        Sample(7.0, None, (GpuSample(0, GIB, 8 * GIB, 50, 30_000), GpuSample(1, GIB, 8 * GIB, 71, None)))
    )
    assert history.ring.latest(Curve.VRAM) == 2 * GIB
    assert history.ring.latest(Curve.TEMPERATURE) == 71
    assert history.ring.latest(Curve.POWER) == 30
    assert history.ring.latest(Curve.CPU) is None


def test_disk_reads_are_a_rate_between_two_counts() -> None:
    history = history_with(Clocks())
    for seconds, count in ((1.0, 0), (1.5, 50 * MIB), (3.5, 50 * MIB)):
        history.add_sample(Sample(seconds, host(count)))
    assert history.ring.values(Curve.DISK).tolist()[1:] == [100 * MIB, 0]
    assert np.isnan(history.ring.values(Curve.DISK)[0])


def test_a_counter_that_began_again_gives_no_rate() -> None:
    history = history_with(Clocks())
    for seconds, count in ((1.0, 9 * GIB), (2.0, 100), (3.0, 100 + MIB)):
        history.add_sample(Sample(seconds, host(count)))
    assert history.ring.value_at(1, Curve.DISK) is None
    assert history.ring.latest(Curve.DISK) == MIB


def test_a_sleep_leaves_a_gap_and_no_rate_across_it() -> None:
    clocks = Clocks()
    history = history_with(clocks)
    history.add_sample(Sample(1.0, host(0)))
    clocks.pass_time(1.0)
    clocks.wall += 3600  # asleep: only this clock went on
    history.add_sample(Sample(2.0, host(5 * GIB)))
    assert np.isnan(history.ring.values(Curve.CPU)[1])
    assert history.ring.latest(Curve.CPU) == 25
    assert history.ring.latest(Curve.DISK) is None


def test_reading_the_prompt_is_a_span_and_no_part_of_the_speed() -> None:
    clocks = Clocks()
    history = history_with(clocks)
    history.add_sample(Sample(100.0, host()))
    history.set_speed(400.0, is_prefill=True)
    clocks.pass_time(2.0)
    history.add_sample(Sample(102.0, host()))
    assert history.reading_spans() == ((100.0, 102.0),)
    assert history.ring.latest(Curve.SPEED) is None
    history.set_speed(31.5, is_prefill=False)
    history.add_sample(Sample(103.0, host()))
    assert history.ring.latest(Curve.SPEED) == 31.5
    assert not history.is_reading_prompt


def test_an_answer_shorter_than_a_tick_still_has_its_point() -> None:
    history = history_with(Clocks())
    history.set_speed(31.5, is_prefill=False)
    history.set_speed(None, is_prefill=False)
    history.add_sample(Sample(1.0, host()))
    history.add_sample(Sample(2.0, host()))
    assert history.ring.value_at(0, Curve.SPEED) == 31.5
    assert history.ring.value_at(1, Curve.SPEED) is None


def test_events_lie_on_the_axis_of_the_samples() -> None:
    clocks = Clocks()
    history = history_with(clocks)
    history.add_sample(Sample(9000.0, host()))
    clocks.pass_time(0.4)
    history.add_event("load", "ui.event.ready", {"name": "Qwen3"})
    assert history.events[0].seconds == pytest.approx(9000.4)
    assert history.events[0].wall_seconds == clocks.wall


def test_a_frame_has_every_curve_in_the_unit_of_its_scale() -> None:
    clocks = Clocks()
    history = history_with(clocks)
    for second in range(4):
        history.add_sample(Sample(float(second), host(second * 30 * MIB)))
        clocks.pass_time(1.0)
    frame = frame_of(spec("host"), history)
    assert frame.times.tolist() == [-4, -3, -2, -1]
    assert frame.lines[0].tolist() == [8.0] * 4
    assert [scale.highest_tick for scale in frame.scales] == [32, 100]
    assert frame_of(spec("disk"), history).lines[0].tolist()[1:] == [30.0] * 3
    assert scale_of(Curve.DISK, history).highest_tick == 30


def test_the_disk_strip_counts_in_gigabytes_when_the_disk_is_fast() -> None:
    history = history_with(Clocks())
    for second in range(3):
        history.add_sample(Sample(float(second), host(second * 3 * GIB)))
    assert frame_of(spec("disk"), history).lines[0].tolist()[1:] == [3.0, 3.0]


def test_a_strip_without_any_value_says_why() -> None:
    history = history_with(Clocks())
    assert has_source(spec("vram"), history)  # nothing is known before the first sample
    history.add_sample(Sample(1.0, host()))
    driver, gpu = note(FindingCode.NVIDIA_DRIVER_MISSING), note(FindingCode.GPU_NOT_FOUND)
    assert not has_source(spec("vram"), history)
    assert has_source(spec("speed"), history)
    assert reason_of(spec("vram"), (gpu, driver), history) == driver
    assert reason_of(spec("host"), (gpu, driver), history) is None


def test_a_host_that_does_not_answer_explains_its_own_strips_only() -> None:
    history = history_with(Clocks())
    history.add_sample(Sample(1.0, None))
    hung = warning(FindingCode.PROBE_TIMED_OUT, probe="host", seconds=5.0)
    assert reason_of(spec("disk"), (hung,), history) == hung
    assert reason_of(spec("gpu"), (hung,), history) is None
