"""Several sources as one: each card once, NVML's fields first, and a hung source costs its own only."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.findings import FindingCode, note, warning
from app.hardware.all_gpus import AllGpus
from app.hardware.detect import Detection, detect
from app.hardware.facts import DriverInfo, GpuInfo, GpuSample
from app.hardware.ports import SourceError
from app.hardware.sampler import RELIST_SECONDS, TelemetrySampler
from tests.fakes import FAKE_HOST, GIB, FakeGpuSource, FakeHostSource

NVIDIA = GpuInfo(
    0,
    "NVIDIA GeForce RTX 4090",
    "nvidia",
    uuid="GPU-aaaa",
    pci_bus_id="00000000:01:00.0",
    vram_total_bytes=24 * GIB,
    vram_free_bytes=23 * GIB,
    is_integrated=False,
    source="nvml",
    vendor_id=0x10DE,
    device_id=0x2684,
)
SAME_BY_BUS = GpuInfo(
    1,
    "NVIDIA GPU 10de:2684",
    "nvidia",
    pci_bus_id="0000:01:00.0",
    drives_display=True,
    is_asleep=False,
    source="drm",
    vendor_id=0x10DE,
    device_id=0x2684,
)
SAME_BY_KIND = replace(
    SAME_BY_BUS, index=0, pci_bus_id=None, luid="0x00000000_0x0000C0DE", shared_total_bytes=16 * GIB
)
CHIP = GpuInfo(
    0,
    "AMD GPU 1002:164e",
    "amd",
    pci_bus_id="0000:0f:00.0",
    is_integrated=True,
    source="drm",
    vendor_id=0x1002,
    device_id=0x164E,
)
DRIVER = DriverInfo("560.35", (12, 6))


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_one_card_of_two_sources_is_one_and_the_firsts_values_win() -> None:
    both = AllGpus({"nvml": FakeGpuSource([NVIDIA], DRIVER), "drm": FakeGpuSource([CHIP, SAME_BY_BUS])})
    cards = both.gpus()
    assert cards == (replace(NVIDIA, drives_display=True, is_asleep=False), replace(CHIP, index=1))
    assert both.driver() == DRIVER


def test_cards_without_a_place_on_the_bus_are_matched_one_to_one_by_kind() -> None:
    twins = (NVIDIA, replace(NVIDIA, index=1, uuid="GPU-bbbb", pci_bus_id="00000000:02:00.0"))
    windows = (SAME_BY_KIND, replace(SAME_BY_KIND, index=1, luid="0x00000000_0x0000BEEF"))
    cards = AllGpus({"nvml": FakeGpuSource(twins), "windows": FakeGpuSource(windows)}).gpus()
    assert [(card.uuid, card.luid) for card in cards] == [
        ("GPU-aaaa", "0x00000000_0x0000C0DE"),
        ("GPU-bbbb", "0x00000000_0x0000BEEF"),
    ]
    assert {card.shared_total_bytes for card in cards} == {16 * GIB}


def test_cards_on_two_places_of_the_bus_are_two_though_they_look_alike() -> None:
    other = replace(SAME_BY_BUS, pci_bus_id="0000:02:00.0")
    assert len(AllGpus({"nvml": FakeGpuSource([NVIDIA]), "drm": FakeGpuSource([other])}).gpus()) == 2


def test_instances_of_a_card_stay_apart_and_the_whole_card_is_not_listed_beside_them() -> None:
    instances = [
        replace(NVIDIA, index=i, uuid=f"MIG-{i}", vram_total_bytes=16 * GIB, mig_mode=True) for i in (0, 1)
    ]
    cards = AllGpus({"nvml": FakeGpuSource(instances), "drm": FakeGpuSource([SAME_BY_BUS])}).gpus()
    assert [(card.index, card.uuid, card.drives_display) for card in cards] == [
        (0, "MIG-0", True),
        (1, "MIG-1", True),
    ]


def test_a_card_keeps_its_index_whichever_source_answers_first() -> None:
    nvml, drm = FakeGpuSource([NVIDIA], DRIVER), FakeGpuSource([CHIP, SAME_BY_BUS])
    nvml.error = SourceError("driver-not-loaded")
    both = AllGpus({"nvml": nvml, "drm": drm})
    assert [card.vendor for card in both.gpus()] == ["amd", "nvidia"]
    nvml.error = None
    assert [(card.index, card.vendor) for card in both.gpus()] == [(1, "nvidia"), (0, "amd")]


def test_a_reading_is_filled_from_every_source_that_knows_the_card() -> None:
    nvml, windows = FakeGpuSource([NVIDIA]), FakeGpuSource([SAME_BY_KIND])
    nvml.samples[0] = GpuSample(0, vram_used_bytes=GIB, temperature_celsius=50)
    windows.samples[0] = GpuSample(0, vram_used_bytes=2 * GIB, process_shared_bytes=300)
    both = AllGpus({"nvml": nvml, "windows": windows})
    both.gpus()
    assert both.read(0) == GpuSample(0, vram_used_bytes=GIB, temperature_celsius=50, process_shared_bytes=300)
    assert both.read(7) == GpuSample(7)


def test_a_source_that_hangs_while_it_is_read_costs_its_own_values(hang: threading.Event) -> None:
    nvml, windows = FakeGpuSource([NVIDIA]), FakeGpuSource([SAME_BY_KIND])
    windows.samples[0] = GpuSample(0, shared_used_bytes=300)
    both = AllGpus({"nvml": nvml, "windows": windows}, read_timeout_seconds=0.1)
    both.gpus()
    nvml.hang = hang
    started = time.monotonic()
    assert {both.read(0) for _ in range(20)} == {GpuSample(0, shared_used_bytes=300)}
    assert time.monotonic() - started < 2.0


class Sleeper(FakeGpuSource):
    """A source that knows that its cards sleep."""

    def is_asleep(self, index: int) -> bool:
        return True


def test_a_card_that_sleeps_is_not_asked_about() -> None:
    nvml = FakeGpuSource([NVIDIA])
    both = AllGpus({"nvml": nvml, "drm": Sleeper([SAME_BY_BUS])})
    both.gpus()
    nvml.error = AssertionError("it would have been woken")
    assert both.read(0) == GpuSample(0)


def test_without_any_answer_the_first_refusal_is_the_reason() -> None:
    nvml, drm = FakeGpuSource(), FakeGpuSource()
    nvml.error, drm.error = SourceError("driver-not-loaded"), SourceError("other")
    both = AllGpus({"nvml": nvml, "drm": drm})
    for question in (both.gpus, both.driver):
        with pytest.raises(SourceError) as failure:
            question()
        assert failure.value.reason == "driver-not-loaded"


def test_a_hung_source_costs_its_cards_and_is_named(hang: threading.Event) -> None:
    nvml, drm = FakeGpuSource([NVIDIA], DRIVER), FakeGpuSource([CHIP, SAME_BY_BUS])
    nvml.hang = hang
    facts = detect(AllGpus({"nvml": nvml, "drm": drm}), FakeHostSource(), probe_timeout_seconds=0.2)
    assert [gpu.source for gpu in facts.gpus] == ["drm", "drm"]
    assert facts.findings == tuple(
        warning(FindingCode.PROBE_TIMED_OUT, probe=name, seconds=0.2) for name in ("driver", "nvml")
    )


def test_what_hung_at_first_fills_in_later_and_every_card_keeps_its_index(hang: threading.Event) -> None:
    nvml, drm = FakeGpuSource([NVIDIA], DRIVER), FakeGpuSource([SAME_BY_BUS])
    nvml.hang = hang
    detection = Detection(AllGpus({"nvml": nvml, "drm": drm}), FakeHostSource())
    first = detection.facts(0.1)
    hang.set()
    second = detection.facts(10.0)
    assert [(gpu.index, gpu.vram_total_bytes) for gpu in first.gpus] == [(0, None)]
    assert [(gpu.index, gpu.vram_total_bytes) for gpu in second.gpus] == [(0, 24 * GIB)]
    assert second.findings == ()


def test_with_every_probe_hanging_the_facts_are_there_within_two_seconds(hang: threading.Event) -> None:
    nvml, drm, host = FakeGpuSource(), FakeGpuSource(), FakeHostSource()
    nvml.hang = drm.hang = host.hang = hang
    answering = FakeGpuSource([CHIP])
    started = time.monotonic()
    everything = AllGpus({"nvml": nvml, "drm": drm, "windows": answering})
    facts = Detection(everything, host).facts(1.0)
    assert time.monotonic() - started < 2.0
    assert [gpu.name for gpu in facts.gpus] == [CHIP.name]
    hung = [finding.values["probe"] for finding in facts.findings]
    assert hung == ["host", "driver", "nvml", "drm"]


def test_a_machine_of_another_maker_hears_nothing_of_nvidias_driver() -> None:
    nvml = FakeGpuSource()
    nvml.error = SourceError("library-missing")
    facts = detect(AllGpus({"nvml": nvml, "drm": FakeGpuSource([CHIP])}), FakeHostSource())
    assert (facts.host, facts.findings) == (FAKE_HOST, ())


def test_an_nvidia_card_that_only_others_see_lacks_its_driver() -> None:
    nvml = FakeGpuSource()
    nvml.error = SourceError("library-missing")
    facts = detect(AllGpus({"nvml": nvml, "drm": FakeGpuSource([SAME_BY_BUS])}), FakeHostSource())
    assert facts.findings == (warning(FindingCode.NVIDIA_CARD_WITHOUT_DRIVER, gpu="NVIDIA GPU 10de:2684"),)


def test_a_machine_without_any_card_says_so_once() -> None:
    nvml = FakeGpuSource()
    nvml.error = SourceError("library-missing")
    facts = detect(AllGpus({"nvml": nvml, "drm": FakeGpuSource()}), FakeHostSource())
    assert facts.findings == (note(FindingCode.NVIDIA_DRIVER_MISSING), note(FindingCode.GPU_NOT_FOUND))


def test_a_card_that_is_plugged_in_later_is_charted_within_a_minute() -> None:
    moment = [0.0]
    drm = FakeGpuSource([CHIP])
    nvml = FakeGpuSource()
    nvml.error = SourceError("driver-not-loaded")
    sampler = TelemetrySampler(
        AllGpus({"nvml": nvml, "drm": drm}),
        FakeHostSource(),
        lambda sample: None,
        clock=lambda: moment[0],
        read_timeout_seconds=5.0,
    )
    assert [gpu.index for gpu in sampler.read_once().gpus] == [0]
    nvml.error, nvml_card = None, FakeGpuSource([NVIDIA])
    nvml.gpus = nvml_card.gpus  # type: ignore[method-assign]  # its driver works now
    moment[0] += RELIST_SECONDS
    deadline = time.monotonic() + 10.0
    while len(sampler.read_once().gpus) < 2:
        assert time.monotonic() < deadline
