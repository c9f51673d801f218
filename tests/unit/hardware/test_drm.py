"""DrmSource on written /sys trees; file names and units from the kernel's documentation of each driver."""

import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.drm import DrmSource, gfx_name
from app.hardware.facts import GpuSample

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="names of PCI devices are no file names there"
)

GIB = 1024**3

AMD_CARD = {
    "vendor": "0x1002\n",
    "device": "0x744c\n",
    "uevent": "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n",
    "power/runtime_status": "active\n",
    "mem_info_vram_total": f"{24 * GIB}\n",
    "mem_info_vram_used": f"{2 * GIB}\n",
    "mem_info_gtt_total": f"{16 * GIB}\n",
    "mem_info_gtt_used": f"{GIB // 4}\n",
    "gpu_busy_percent": "37\n",
    "hwmon/hwmon3/name": "amdgpu\n",
    "hwmon/hwmon3/temp1_input": "51000\n",
    "hwmon/hwmon3/temp1_label": "edge\n",
    "hwmon/hwmon3/temp2_input": "68000\n",
    "hwmon/hwmon3/temp2_label": "junction\n",
    "hwmon/hwmon3/power1_average": "45000000\n",
    "hwmon/hwmon3/power1_cap": "339000000\n",
    "hwmon/hwmon3/fan1_input": "812\n",
    "hwmon/hwmon3/pwm1": "51\n",
    "hwmon/hwmon3/freq1_input": "2371000000\n",
}

STRIX_HALO = {
    "vendor": "0x1002\n",
    "device": "0x1586\n",
    "uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c5:00.0\n",
    "power/runtime_status": "active\n",
    "mem_info_vram_total": f"{4 * GIB}\n",
    "mem_info_vram_used": f"{GIB}\n",
    "mem_info_gtt_total": f"{62 * GIB}\n",
    "mem_info_gtt_used": f"{2 * GIB}\n",
    "gpu_busy_percent": "0\n",
    "pp_dpm_sclk": "0: 600Mhz *\n1: 1100Mhz \n2: 2900Mhz \n",
    "hwmon/hwmon5/name": "amdgpu\n",
    "hwmon/hwmon5/temp1_input": "44000\n",
    "hwmon/hwmon5/temp1_label": "edge\n",
    "hwmon/hwmon5/power1_input": "8042000\n",
}

ARC_ON_XE = {
    "vendor": "0x8086\n",
    "device": "0xe20b\n",
    "uevent": "DRIVER=xe\nPCI_SLOT_NAME=0000:04:00.0\n",
    "power/runtime_status": "active\n",
    "tile0/physical_vram_size_bytes": f"{12 * GIB:#x}\n",
    "tile0/gt0/freq0/act_freq": "2400\n",
    "hwmon/hwmon2/name": "xe\n",
    "hwmon/hwmon2/temp2_input": "55000\n",
    "hwmon/hwmon2/temp2_label": "pkg\n",
    "hwmon/hwmon2/temp3_input": "62000\n",
    "hwmon/hwmon2/temp3_label": "vram\n",
    "hwmon/hwmon2/energy1_input": "1000000000\n",
    "hwmon/hwmon2/power1_max": "0\n",
    "hwmon/hwmon2/fan1_input": "1450\n",
}

INTEL_CHIP = {
    "vendor": "0x8086\n",
    "device": "0x46a6\n",
    "uevent": "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n",
    "power/runtime_status": "active\n",
}

NVIDIA_LAPTOP = {
    "vendor": "0x10de\n",
    "device": "0x28e0\n",
    "uevent": "DRIVER=nvidia\nPCI_SLOT_NAME=0000:01:00.0\n",
    "power/runtime_status": "suspended\n",
}

KFD_NODE = "simd_count 80\ngfx_target_version 110501\nlocation_id 50432\ndomain 0\n"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sys"


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def add_card(root: Path, number: int, device: Mapping[str, str], **connectors: str) -> Path:
    card = root / "class" / "drm" / f"card{number}"
    write(card / "device", device)
    for name, state in connectors.items():
        write(card.parent / f"card{number}-{name}", {"status": f"{state}\n"})
    return card


def metrics(version: int) -> bytes:
    return struct.pack("<HBB", 120, version, 3) + bytes(116)


def source(root: Path, clock: Clock | None = None) -> DrmSource:
    return DrmSource(root, processes=root.parent / "proc", clock=clock or Clock())


def test_an_amd_card_is_described_in_full(root: Path) -> None:
    card = add_card(root, 1, AMD_CARD, DP="connected", HDMI="disconnected")
    write(card / "device", {"gpu_metrics": metrics(1), "product_name": "Radeon PRO W7900\n"})
    node = root / "class" / "kfd" / "kfd" / "topology" / "nodes"
    write(node / "0", {"properties": "simd_count 0\ngfx_target_version 0\nlocation_id 0\n"})
    write(node / "1", {"properties": "gfx_target_version 110000\nlocation_id 768\ndomain 0\n"})
    (gpu,) = source(root).gpus()
    assert (gpu.index, gpu.name, gpu.vendor, gpu.source) == (0, "Radeon PRO W7900", "amd", "drm")
    assert (gpu.pci_bus_id, gpu.vendor_id, gpu.device_id) == ("0000:03:00.0", 0x1002, 0x744C)
    assert (gpu.vram_total_bytes, gpu.vram_free_bytes) == (24 * GIB, 22 * GIB)
    assert (gpu.shared_total_bytes, gpu.shared_free_bytes) == (16 * GIB, 16 * GIB - GIB // 4)
    assert (gpu.is_integrated, gpu.drives_display, gpu.is_asleep) == (False, True, False)
    assert gpu.gfx_target == "gfx1100"


def test_an_amd_card_gives_every_sensor_in_our_units(root: Path) -> None:
    add_card(root, 0, AMD_CARD)
    assert source(root).read(0) == GpuSample(
        0,
        vram_used_bytes=2 * GIB,
        vram_total_bytes=24 * GIB,
        temperature_celsius=51,
        power_milliwatts=45_000,
        utilization_percent=37,
        shared_used_bytes=GIB // 4,
        power_limit_milliwatts=339_000,
        fan_percent=20,
        fan_rpm=812,
        core_clock_hertz=2_371_000_000,
    )


def test_a_processors_gpu_is_integrated_and_its_two_memories_stay_apart(root: Path) -> None:
    card = add_card(root, 0, STRIX_HALO)
    write(card / "device", {"gpu_metrics": metrics(3)})
    write(root / "class" / "kfd" / "kfd" / "topology" / "nodes" / "1", {"properties": KFD_NODE})
    (gpu,) = source(root).gpus()
    assert (gpu.is_integrated, gpu.gfx_target, gpu.name) == (True, "gfx1151", "AMD GPU 1002:1586")
    assert (gpu.vram_total_bytes, gpu.shared_total_bytes) == (4 * GIB, 62 * GIB)
    sample = source(root).read(0)
    assert (sample.power_milliwatts, sample.core_clock_hertz) == (8_042, 600_000_000)


def test_without_kfd_the_target_comes_from_the_version_of_the_graphics_block(root: Path) -> None:
    card = add_card(root, 0, AMD_CARD)
    block = {"major": "11\n", "minor": "0\n", "revision": "2\n"}
    write(card / "device" / "ip_discovery" / "die" / "0" / "GC" / "0", block)
    assert source(root).gpus()[0].gfx_target == "gfx1102"


@pytest.mark.parametrize(
    ("number", "name"), [(110501, "gfx1151"), (90010, "gfx90a"), (100300, "gfx1030"), (90402, "gfx942")]
)
def test_kfds_number_is_amds_name(number: int, name: str) -> None:
    assert gfx_name(number) == name


def test_power_of_an_intel_card_is_the_energy_between_two_readings(root: Path) -> None:
    card = add_card(root, 0, ARC_ON_XE)
    clock = Clock()
    cards = source(root, clock)
    first = cards.read(0)
    assert (first.power_milliwatts, first.power_limit_milliwatts) == (None, None)
    assert (first.temperature_celsius, first.fan_rpm, first.core_clock_hertz) == (55, 1450, 2_400_000_000)
    assert first.vram_total_bytes == 12 * GIB
    clock.now += 2.0
    write(card / "device" / "hwmon" / "hwmon2", {"energy1_input": "1090000000\n"})
    assert cards.read(0).power_milliwatts == 45_000
    write(card / "device" / "hwmon" / "hwmon2", {"energy1_input": "5\n"})  # the counter began anew
    clock.now += 2.0
    assert cards.read(0).power_milliwatts is None


def test_intels_chip_is_integrated_and_tells_no_memory(root: Path) -> None:
    card = add_card(root, 0, INTEL_CHIP)
    write(card, {"gt_act_freq_mhz": "0\n"})
    (gpu,) = source(root).gpus()
    assert (gpu.is_integrated, gpu.vram_total_bytes, gpu.shared_total_bytes) == (True, None, None)
    assert source(root).read(0) == GpuSample(0, core_clock_hertz=0)


def test_an_intel_card_with_its_makers_driver_tells_its_memory(root: Path) -> None:
    device = ARC_ON_XE | {"uevent": "DRIVER=i915\nPCI_SLOT_NAME=0000:04:00.0\n"}
    del device["tile0/physical_vram_size_bytes"]
    card = add_card(root, 0, device)
    write(card, {"lmem_total_bytes": f"{16 * GIB}\n", "lmem_avail_bytes": f"{15 * GIB}\n"})
    (gpu,) = source(root).gpus()
    assert (gpu.vram_total_bytes, gpu.vram_free_bytes, gpu.is_integrated) == (16 * GIB, 15 * GIB, False)


def test_a_sleeping_card_is_named_and_its_driver_is_not_asked(root: Path) -> None:
    card = add_card(root, 0, AMD_CARD | {"power/runtime_status": "suspended\n"})
    awaking = ("mem_info_vram_total", "mem_info_vram_used", "gpu_busy_percent", "gpu_metrics")
    for name in awaking:  # whoever opens one of these waits for ever
        (card / "device" / name).unlink(missing_ok=True)
        if sys.platform != "win32":
            os.mkfifo(card / "device" / name)
    (gpu,) = source(root).gpus()
    assert (gpu.is_asleep, gpu.vram_total_bytes, gpu.name) == (True, None, "AMD GPU 1002:744c")
    assert source(root).read(0) == GpuSample(0)


def test_a_sleeping_nvidia_card_has_the_name_its_driver_keeps(root: Path) -> None:
    add_card(root, 1, NVIDIA_LAPTOP)
    told = "Model: \t\t NVIDIA GeForce RTX 4060 Laptop GPU\nIRQ:   \t\t 166\n"
    write(root.parent / "proc" / "driver" / "nvidia" / "gpus" / "0000:01:00.0", {"information": told})
    (gpu,) = source(root).gpus()
    assert (gpu.name, gpu.is_asleep) == ("NVIDIA GeForce RTX 4060 Laptop GPU", True)


def test_cards_come_in_the_order_of_the_bus_and_screens_of_servers_are_no_gpus(root: Path) -> None:
    add_card(root, 0, AMD_CARD)
    add_card(root, 1, NVIDIA_LAPTOP)
    add_card(root, 2, INTEL_CHIP)
    add_card(root, 3, {"vendor": "0x1a03\n", "uevent": "PCI_SLOT_NAME=0000:02:00.0\n"})
    add_card(root, 4, {"vendor": "0x1af4\n", "uevent": "DRIVER=virtio-pci\n"})
    assert [gpu.vendor for gpu in source(root).gpus()] == ["intel", "nvidia", "amd"]


def test_a_system_without_drm_has_no_cards(root: Path) -> None:
    assert source(root).gpus() == ()
    assert source(root).read(0) == GpuSample(0)
    assert source(root).driver() is None  # type: ignore[func-returns-value]  # that it names none is the point


def test_a_value_that_cannot_be_read_is_none_and_the_others_stay(root: Path) -> None:
    add_card(root, 0, {name: text for name, text in AMD_CARD.items() if "power1_average" not in name})
    sample = source(root).read(0)
    assert sample.power_milliwatts is None
    assert sample.temperature_celsius == 51


@given(st.dictionaries(st.sampled_from(sorted(AMD_CARD)), st.binary(max_size=40)))
def test_whatever_the_files_hold_the_source_answers(
    tmp_path_factory: pytest.TempPathFactory, odd: dict[str, bytes]
) -> None:
    root = tmp_path_factory.mktemp("odd") / "sys"
    card = add_card(root, 0, AMD_CARD)
    write(card / "device", odd)
    for gpu in source(root).gpus():
        sample = source(root).read(gpu.index)
        assert sample.utilization_percent is None or 0 <= sample.utilization_percent <= 100
