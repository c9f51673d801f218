"""WindowsGpuSource: cards of any maker from recorded answers, each field on its own."""

import ctypes
import sys
import threading
from collections.abc import Mapping, Sequence

import pytest

from app.hardware import pdh
from app.hardware.d3dkmt import D3dkmt
from app.hardware.dxcore import Dxcore
from app.hardware.dxgi import DxgiSource
from app.hardware.facts import GpuInfo, GpuSample
from app.hardware.pdh import PdhCounters
from app.hardware.ports import SourceError
from app.hardware.windows_gpus import WindowsGpuSource, WindowsParts, engine_free_bytes
from app.hardware.windows_power import PowerStates
from app.hardware.windows_registry import DISPLAY_CLASS
from tests.windows_answers import (
    Card,
    FakeCounters,
    FakeDevices,
    FakeDxcore,
    FakeDxgi,
    FakeKernel,
    FakeRegistry,
)

GIB = 1024**3
LUID = "0x00000000_0x0000D3F1"
RTX_4090 = Card(
    "NVIDIA GeForce RTX 4090",
    dedicated=24 * GIB,
    shared=32 * GIB,
    driver=31 << 48 | 15 << 16 | 5161,
    screens=1,
)
STRIX = Card("AMD Radeon(TM) 8060S Graphics", 0x1002, 0x1586, 8858370048, 12789481472, integrated=True)
USE = {
    pdh.ENGINE_USE: [(f"pid_7_luid_{LUID}_phys_0_eng_0_engtype_Cuda", 61.6)],
    pdh.DEDICATED_USE: [(f"luid_{LUID}_phys_0", 2.0 * GIB)],
    pdh.SHARED_USE: [(f"luid_{LUID}_phys_0", 1.0 * GIB)],
    pdh.PROCESS_DEDICATED: [(f"pid_7_luid_{LUID}_phys_0", 1.5 * GIB)],
    pdh.PROCESS_SHARED: [(f"pid_7_luid_{LUID}_phys_0", 0.5 * GIB)],
}


class Moments:
    """A clock that is a second later at each look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def source(
    cards: Sequence[Card],
    counters: Mapping[str, Sequence[tuple[str, float | None]]] = USE,
    kernel: FakeKernel | None = None,
    pids: Sequence[int] = (),
    devices: FakeDevices | None = None,
) -> WindowsGpuSource:
    parts = WindowsParts(
        DxgiSource(FakeDxgi(cards).create),
        Dxcore(FakeDxcore(cards).create),
        D3dkmt(kernel or FakeKernel()),
        PdhCounters(FakeCounters(counters), clock=Moments()),
        PowerStates(devices or FakeDevices({})),
        FakeRegistry(),
    )
    return WindowsGpuSource(parts, process_ids=lambda: pids)


def without_dxgi(registry: FakeRegistry, reason: str = "start-failed") -> WindowsGpuSource:
    def refuse() -> ctypes.c_void_p:
        raise SourceError(reason, "dxgi.dll")

    counters = PdhCounters(FakeCounters({}))
    return WindowsGpuSource(WindowsParts(DxgiSource(refuse), counters=counters, registry=registry))


def test_a_discrete_card_has_all_its_facts() -> None:
    assert source([RTX_4090], kernel=FakeKernel(address=(1, 0, 0), kind=1)).gpus() == (
        GpuInfo(
            0,
            "NVIDIA GeForce RTX 4090",
            vendor="nvidia",
            pci_bus_id="00000000:01:00.0",
            vram_total_bytes=24 * GIB,
            vram_free_bytes=22 * GIB,
            drives_display=True,
            is_integrated=False,
            shared_total_bytes=32 * GIB,
            shared_free_bytes=31 * GIB,
            source="dxgi",
            luid=LUID,
            vendor_id=0x10DE,
            device_id=0x2684,
            driver_version="551.61",
        ),
    )


def test_free_memory_of_a_discrete_card_leaves_the_shared_part_out() -> None:
    (gpu,) = source([RTX_4090]).gpus()
    assert engine_free_bytes(gpu) == 22 * GIB


def test_free_memory_of_an_integrated_card_is_both_unused_parts() -> None:
    (gpu,) = source([STRIX]).gpus()
    assert (gpu.vram_total_bytes, gpu.shared_total_bytes) == (8858370048, 12789481472)
    assert engine_free_bytes(gpu) == 8858370048 - 2 * GIB + 12789481472 - GIB


@pytest.mark.parametrize(
    ("dedicated", "shared", "gib"),
    [(8858370048, 12789481472, 8.25), (481296384, 16750372454, 0.45), (268435456, 0, 0.25)],
)
def test_memory_of_its_own_is_stated_apart_from_shared_memory(
    dedicated: int, shared: int, gib: float
) -> None:
    (gpu,) = source([Card("iGPU", 0x1002, 1, dedicated, shared)]).gpus()
    assert gpu.vram_total_bytes is not None
    assert round(gpu.vram_total_bytes / GIB, 2) == gib
    assert gpu.shared_total_bytes == shared


@pytest.mark.parametrize(
    ("card", "kind", "expected"),
    [
        (Card(dedicated=8 * GIB, vendor_id=0x1002, integrated=False), None, False),
        (Card(dedicated=8 * GIB, vendor_id=0x1002, integrated=True), 1 << 4, True),
        (Card(dedicated=8 * GIB, vendor_id=0x1002), 1 << 4, False),
        (Card(dedicated=8 * GIB, vendor_id=0x1002), 1 << 5, True),
        (Card(dedicated=8 * GIB, vendor_id=0x1002), None, None),
        (Card(dedicated=8 * GIB), None, False),
        (Card(dedicated=128 * 1024**2, vendor_id=0x8086), None, True),
    ],
)
def test_who_shares_memory_is_told_by_the_first_that_knows(
    card: Card, kind: int | None, expected: bool | None
) -> None:
    assert source([card], kernel=FakeKernel(kind=kind)).gpus()[0].is_integrated is expected


def test_an_unknown_maker_has_no_vendor_and_still_a_number() -> None:
    (gpu,) = source([Card("Adreno", 0x4D4F4351, 0x36334330)]).gpus()
    assert (gpu.vendor, gpu.vendor_id, gpu.vram_total_bytes) == (None, 0x4D4F4351, 0)


def test_readings_come_from_counters_and_the_kernel() -> None:
    gpus = source([RTX_4090], kernel=FakeKernel(fan=1200, power=500, temperature=655), pids=[7])
    gpus.gpus()
    assert gpus.read(0) == GpuSample(
        0,
        vram_used_bytes=2 * GIB,
        vram_total_bytes=24 * GIB,
        temperature_celsius=66,
        utilization_percent=62,
        shared_used_bytes=GIB,
        power_percent=50.0,
        fan_rpm=1200,
        process_dedicated_bytes=3 * GIB // 2,
        process_shared_bytes=GIB // 2,
    )


def test_without_counters_and_sensors_only_the_size_is_known() -> None:
    gpus = source([RTX_4090], counters={}, kernel=FakeKernel(has_performance=False))
    (gpu,) = gpus.gpus()
    assert (gpu.vram_free_bytes, gpu.shared_free_bytes, engine_free_bytes(gpu)) == (None, None, None)
    assert gpus.read(0) == GpuSample(0, vram_total_bytes=24 * GIB)


def test_reading_without_listing_lists_first_and_an_unknown_card_reads_nothing() -> None:
    gpus = source([RTX_4090])
    assert gpus.read(0).vram_total_bytes == 24 * GIB
    assert gpus.read(1) == GpuSample(1)


def test_a_sleeping_card_is_told_and_its_sensors_are_left_alone() -> None:
    devices = FakeDevices({(1, 0, 0): 4})
    kernel = FakeKernel(address=(1, 0, 0), temperature=500)
    gpus = source([RTX_4090], kernel=kernel, devices=devices)
    assert gpus.is_asleep(0) is False  # not listed yet, so nothing is known
    assert gpus.gpus()[0].is_asleep is True
    assert (gpus.is_asleep(0), gpus.is_asleep(1)) == (True, False)
    assert gpus.read(0).temperature_celsius is None
    devices.states[1, 0, 0] = 1
    assert gpus.is_asleep(0) is False
    assert gpus.read(0).temperature_celsius == 50


def test_a_machine_without_a_card_has_none() -> None:
    assert source([]).gpus() == ()


def test_two_cards_are_told_apart_by_their_luid() -> None:
    other = Card("AMD Radeon RX 7900 XTX", 0x1002, 0x744C, 24 * GIB, luid=0xE000)
    counters = {pdh.DEDICATED_USE: [(f"luid_{LUID}_phys_0", 1e9), ("luid_0x00000000_0x0000e000_phys_0", 3e9)]}
    gpus = source([RTX_4090, other], counters=counters)
    assert [gpus.read(i).vram_used_bytes for i in (0, 1)] == [1_000_000_000, 3_000_000_000]


def test_cards_may_be_read_from_two_threads() -> None:
    gpus = source([RTX_4090])
    samples: list[GpuSample] = []
    threads = [threading.Thread(target=lambda: samples.append(gpus.read(0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sample.vram_used_bytes for sample in samples] == [2 * GIB] * 8


def test_where_dxgi_does_not_start_the_registry_lists_the_cards() -> None:
    entry = {
        "DriverDesc": "NVIDIA GeForce GTX 1660",
        "MatchingDeviceId": r"PCI\VEN_10DE&DEV_2184",
        "DriverVersion": "31.0.15.3667",
        "HardwareInformation.qwMemorySize": 6 * GIB,
        "HardwareInformation.MemorySize": 4293918720,
    }
    (gpu,) = without_dxgi(FakeRegistry({rf"{DISPLAY_CLASS}\0000": entry})).gpus()
    assert (gpu.name, gpu.vendor, gpu.vram_total_bytes) == ("NVIDIA GeForce GTX 1660", "nvidia", 6 * GIB)
    assert (gpu.source, gpu.driver_version, gpu.vram_free_bytes) == ("registry", "536.67", None)


def test_where_dxgi_does_not_start_and_the_registry_knows_none_there_is_no_card() -> None:
    gpus = without_dxgi(FakeRegistry())
    assert gpus.gpus() == ()
    gpus.close()


def test_without_the_library_and_without_entries_it_is_the_library_that_is_missing() -> None:
    with pytest.raises(SourceError) as caught:
        without_dxgi(FakeRegistry(), "library-missing").gpus()
    assert caught.value.reason == "library-missing"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has the libraries")
def test_elsewhere_than_on_windows_there_is_no_such_source() -> None:
    with pytest.raises(SourceError):
        WindowsGpuSource().gpus()
