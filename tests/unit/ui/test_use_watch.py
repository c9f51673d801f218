"""A driver that moves a model to RAM while it answers is told, once. The rest of case H13."""

from app.findings import FindingCode
from app.hardware.facts import GpuInfo, GpuSample, Sample
from app.ui.controllers.use_watch import UseWatch

GIB = 1024**3
CARD = GpuInfo(0, "A card", "nvidia", vram_total_bytes=8 * GIB)


def sample(used: int, shared: int | None = None) -> Sample:
    return Sample(1.0, None, (GpuSample(0, used, 8 * GIB, process_shared_bytes=shared),))


def test_a_spill_is_told_once_however_long_it_lasts() -> None:
    watch = UseWatch()
    assert watch.add_sample(sample(7 * GIB, 100), [CARD]) == ()
    (finding,) = watch.add_sample(sample(7 * GIB, GIB + 100), [CARD])
    assert (finding.code, finding.values["shared_bytes"]) == (FindingCode.VRAM_SPILLED, GIB)
    assert watch.add_sample(sample(7 * GIB, 2 * GIB), [CARD]) == ()
    assert UseWatch().add_sample(sample(7 * GIB, 2 * GIB), [CARD]) == ()  # of another load


def test_a_full_card_is_told_only_when_the_speed_fell() -> None:
    watch = UseWatch()
    full = sample(int(7.9 * GIB))
    watch.add_speed(40.0)
    assert watch.add_sample(full, [CARD]) == ()
    watch.add_speed(30.0)
    assert watch.add_sample(full, [CARD]) == ()
    watch.add_speed(4.0)
    (finding,) = watch.add_sample(full, [CARD])
    assert finding.code is FindingCode.VRAM_FULL_SLOW
    assert (finding.values["before"], finding.values["now"]) == (40.0, 4.0)


def test_a_card_without_a_reading_or_not_used_is_left_out() -> None:
    watch = UseWatch()
    assert watch.add_sample(Sample(1.0, None), [CARD]) == ()
    assert watch.add_sample(sample(7 * GIB, 0), []) == ()
