"""Linux' graphics cards of any maker -> GpuSource, from /sys alone: no library, no rights, nothing woken."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.hardware.amd_targets import gfx_target_of
from app.hardware.drm_sensors import (
    find_hwmon,
    read_core_clock,
    read_fan,
    read_memory,
    read_power,
    read_temperature,
    read_utilization,
)
from app.hardware.facts import GpuInfo, GpuSample
from app.hardware.sysfs import entries, read_bytes, read_number, read_text

VENDORS: Final[Mapping[int, str]] = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel"}
"""Makers of GPUs that run models; the drivers of servers' and virtual machines' screens are others."""

VENDOR_NAMES: Final[Mapping[str, str]] = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}

_CARD: Final = re.compile(r"card\d+")
_PCI_ADDRESS: Final = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)
_INTEL_INTEGRATED: Final = "0000:00:02.0"
_METRICS_OF_CARDS: Final = 1
_METRICS_OF_PROCESSORS: Final = (2, 3)
"""First number of the version of amdgpu's `gpu_metrics`: 1.x describes cards, 2.x and 3.x processors."""

_LIKELIEST_TARGETS: Final[Mapping[tuple[int | None, ...], str]] = {
    (10, 3, 0): "gfx1030",
    (10, 3, 2): "gfx1031",
    (10, 3, 4): "gfx1032",
    (11, 0, 0): "gfx1100",
    (11, 0, 1): "gfx1103",
    (11, 0, 2): "gfx1102",
    (11, 0, 3): "gfx1101",
    (11, 0, 4): "gfx1103",
    (11, 5, 0): "gfx1150",
    (11, 5, 1): "gfx1151",
    (11, 5, 2): "gfx1152",
    (11, 5, 3): "gfx1153",
    (12, 0, 0): "gfx1200",
    (12, 0, 1): "gfx1201",
}
"""Instruction set by the version of the graphics block (kernel: kfd_device.c), where KFD is not built in."""


@dataclass(frozen=True, slots=True)
class _Card:
    """One card.

    Attributes:
        folder: e.g. /sys/class/drm/card0.
        pci: e.g. `0000:03:00.0`.
    """

    folder: Path
    pci: str
    vendor: str
    vendor_id: int
    device_id: int | None

    @property
    def is_asleep(self) -> bool:
        """Powered down by the system. Asking this does not wake it, asking its driver does."""
        return read_text(self.folder / "device" / "power" / "runtime_status") == "suspended"


class DrmSource:
    """The cards that Linux' own drivers know, in the order of the PCI bus. Any thread."""

    def __init__(
        self,
        root: Path = Path("/sys"),
        *,
        processes: Path = Path("/proc"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read nothing yet. `root` and `processes` are where /sys and /proc lie."""
        self._root = root
        self._processes = processes
        self._clock = clock
        self._energy: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def driver(self) -> None:
        """Return None: these drivers come with the kernel and have no version of their own."""

    def gpus(self) -> tuple[GpuInfo, ...]:
        """Return the cards; none where there is no /sys/class/drm. Those asleep say only who they are."""
        return tuple(self._info(index, card) for index, card in enumerate(self._cards()))

    def read(self, index: int) -> GpuSample:
        """Read card `index` once. One that sleeps, or is NVIDIA's, gives no value."""
        cards = self._cards()
        if not index < len(cards) or cards[index].vendor == "nvidia" or cards[index].is_asleep:
            return GpuSample(index)
        card = cards[index]
        hwmon = find_hwmon(card.folder)
        memory, power = read_memory(card.folder), read_power(hwmon)
        fan_percent, fan_rpm = read_fan(hwmon)
        milliwatts = power.milliwatts
        if power.energy_microjoules is not None:
            milliwatts = self._drawn_since(card.pci, power.energy_microjoules)
        return GpuSample(
            index,
            vram_used_bytes=memory.used_bytes,
            vram_total_bytes=memory.total_bytes,
            temperature_celsius=read_temperature(hwmon),
            power_milliwatts=milliwatts,
            utilization_percent=read_utilization(card.folder),
            shared_used_bytes=memory.shared_used_bytes,
            power_limit_milliwatts=power.limit_milliwatts,
            fan_percent=fan_percent,
            fan_rpm=fan_rpm,
            core_clock_hertz=read_core_clock(card.folder, hwmon),
        )

    def is_asleep(self, index: int) -> bool:
        """Return whether card `index` is powered down; no driver is asked."""
        cards = self._cards()
        return index < len(cards) and cards[index].is_asleep

    def close(self) -> None:
        """Nothing is held open."""

    def _cards(self) -> tuple[_Card, ...]:
        found = (
            _card(folder)
            for folder in entries(self._root / "class" / "drm", "card*")
            if _CARD.fullmatch(folder.name)
        )
        return tuple(sorted((card for card in found if card), key=lambda card: card.pci))

    def _info(self, index: int, card: _Card) -> GpuInfo:
        is_asleep = card.is_asleep
        told = GpuInfo(
            index,
            self._name(card),
            vendor=card.vendor,
            pci_bus_id=card.pci,
            drives_display=_drives_display(card.folder),
            is_integrated=None if is_asleep else _is_integrated(card),
            source="drm",
            vendor_id=card.vendor_id,
            device_id=card.device_id,
            gfx_target=self._gfx_target(card),
            is_asleep=is_asleep,
        )
        if is_asleep or card.vendor == "nvidia":
            return told
        memory = read_memory(card.folder)
        return replace(
            told,
            vram_total_bytes=memory.total_bytes,
            vram_free_bytes=memory.free_bytes,
            shared_total_bytes=memory.shared_total_bytes,
            shared_free_bytes=memory.shared_free_bytes,
        )

    def _name(self, card: _Card) -> str:
        product = read_text(card.folder / "device" / "product_name")
        if product:
            return product
        # NVIDIA's own driver keeps a list that can be read without waking anything
        told = read_text(self._processes / "driver" / "nvidia" / "gpus" / card.pci / "information") or ""
        model = re.search(r"^Model:\s*(\S.*?)\s*$", told, re.MULTILINE)
        if model:
            return model[1]
        device = "????" if card.device_id is None else f"{card.device_id:04x}"
        return f"{VENDOR_NAMES[card.vendor]} GPU {card.vendor_id:04x}:{device}"

    def _gfx_target(self, card: _Card) -> str | None:
        if card.vendor != "amd":
            return None
        nodes = self._root / "class" / "kfd" / "kfd" / "topology" / "nodes"
        for file in entries(nodes, "*/properties"):
            values = _properties(read_text(file) or "")
            if values.get("gfx_target_version") and _location(values) == card.pci.lower():
                return gfx_name(values["gfx_target_version"])
        block = card.folder / "device" / "ip_discovery" / "die" / "0" / "GC" / "0"
        version = tuple(read_number(block / part) for part in ("major", "minor", "revision"))
        return _LIKELIEST_TARGETS.get(version) or gfx_target_of(card.vendor_id, card.device_id)

    def _drawn_since(self, pci: str, energy_microjoules: int) -> int | None:
        """Return the mean power since the last reading in milliwatts; None for the first."""
        now = self._clock()
        with self._lock:
            before = self._energy.get(pci)
            self._energy[pci] = (now, energy_microjoules)
        if before is None or now <= before[0] or energy_microjoules < before[1]:
            return None
        return round((energy_microjoules - before[1]) / (now - before[0]) / 1000)


def gfx_name(target_version: int) -> str:
    """Return AMD's name of an instruction set from KFD's number: 110501 is gfx1151, 90010 is gfx90a."""
    major, minor, stepping = target_version // 10000, target_version // 100 % 100, target_version % 100
    return f"gfx{major}{minor:x}{stepping:x}"


def _card(folder: Path) -> _Card | None:
    device = folder / "device"
    vendor_id = read_number(device / "vendor")
    pci = _properties_of_event(read_text(device / "uevent") or "").get("PCI_SLOT_NAME", "")
    if vendor_id is None or vendor_id not in VENDORS or not _PCI_ADDRESS.fullmatch(pci):
        return None
    return _Card(folder, pci, VENDORS[vendor_id], vendor_id, read_number(device / "device"))


def _drives_display(folder: Path) -> bool | None:
    states = [read_text(file) for file in entries(folder.parent, f"{folder.name}-*/status")]
    return "connected" in states if states else None


def _is_integrated(card: _Card) -> bool | None:
    if card.vendor == "intel":
        return card.pci == _INTEL_INTEGRATED
    if card.vendor == "nvidia":
        return None
    metrics = read_bytes(card.folder / "device" / "gpu_metrics") or b""
    version = metrics[2] if len(metrics) > 2 else None  # after the size, 16 bits
    if version in _METRICS_OF_PROCESSORS:
        return True
    return False if version == _METRICS_OF_CARDS else None


def _properties_of_event(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, separator, value in pairs if separator}


def _properties(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _location(values: Mapping[str, int]) -> str:
    """Return KFD's location as a PCI address: bus, then device and function in the low byte."""
    place = values.get("location_id", 0)
    return f"{values.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
