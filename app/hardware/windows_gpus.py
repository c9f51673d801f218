"""DXGI, performance counters and the graphics kernel -> GpuSource for any maker's cards on Windows."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from app.hardware.amd_targets import gfx_target_of
from app.hardware.d3dkmt import D3dkmt, KmtAdapter, KmtReading
from app.hardware.dxcore import Dxcore
from app.hardware.dxgi import DxgiAdapter, DxgiSource, nvidia_version
from app.hardware.facts import DriverInfo, GpuInfo, GpuSample
from app.hardware.pdh import AdapterUse, PdhCounters, PdhReading
from app.hardware.ports import SourceError
from app.hardware.raw_answers import RawAnswers
from app.hardware.windows_power import PowerStates
from app.hardware.windows_registry import (
    RegistryAdapter,
    RegistryReader,
    WindowsRegistry,
    counted,
    display_adapters,
    trusted_memory,
)

_log = logging.getLogger(__name__)
T = TypeVar("T")

UNNAMED: Final = "GPU"
NVIDIA: Final = 0x10DE
VENDORS: Final[Mapping[int, str]] = {NVIDIA: "nvidia", 0x1002: "amd", 0x1022: "amd", 0x8086: "intel"}

_SMALLEST_DISCRETE_BYTES: Final = 1024**3
"""Below this, only firmware sets memory aside: no card of that size can run any engine's build."""


@dataclass(frozen=True, slots=True)
class WindowsParts:
    """What the source asks. Nothing is loaded before it is asked."""

    dxgi: DxgiSource = field(default_factory=DxgiSource)
    dxcore: Dxcore = field(default_factory=Dxcore)
    kernel: D3dkmt = field(default_factory=D3dkmt)
    counters: PdhCounters = field(default_factory=PdhCounters)
    power: PowerStates = field(default_factory=PowerStates)
    registry: RegistryReader = field(default_factory=WindowsRegistry)


def watched_parts(raw: RawAnswers) -> WindowsParts:
    """Return the parts with what each answers kept."""
    own = WindowsParts()
    return WindowsParts(
        dxgi=raw.watched("dxgi", own.dxgi),
        dxcore=raw.watched("dxcore", own.dxcore),
        kernel=raw.watched("d3dkmt", own.kernel),
        counters=raw.watched("pdh", own.counters),
        registry=raw.watched("registry", own.registry),
    )


class WindowsGpuSource:
    """The cards of a Windows machine in DXGI's order. Any thread; no call is cheap."""

    def __init__(
        self, parts: WindowsParts | None = None, *, process_ids: Callable[[], Collection[int]] = tuple
    ) -> None:
        """Ask nothing yet.

        Args:
            process_ids: The engine's processes, whose memory on each card is read beside the whole.
        """
        self._parts = parts or WindowsParts()
        self._process_ids = process_ids
        self._lock = threading.Lock()
        self._adapters: tuple[DxgiAdapter, ...] | None = None
        self._places: dict[str, str] = {}
        self._logged: set[str] = set()

    def driver(self) -> DriverInfo | None:
        """Return None: each card has its driver's version, and the one that runs CUDA is NVML's to name."""
        return None

    def gpus(self) -> tuple[GpuInfo, ...]:
        """Return the cards; those of the registry where DXGI does not start, as without a desktop.

        Raises:
            SourceError: this is no Windows that has DXGI.
        """
        try:
            adapters = self._list()
        except SourceError as reason:
            entries = display_adapters(self._parts.registry)
            if not entries and reason.reason != "start-failed":
                raise
            # where neither knows a card there is none: DXGI does not start without any
            self._log_once(f"no DXGI ({reason}); the registry lists {len(entries)}")
            return tuple(_from_registry(i, entry) for i, entry in enumerate(entries))
        reading = self._counted()
        return tuple(self._info(i, adapter, reading) for i, adapter in enumerate(adapters))

    def read(self, index: int) -> GpuSample:
        """Read card `index` once; a field that nothing answers is None.

        Raises:
            SourceError: DXGI does not start.
        """
        with self._lock:
            known = self._adapters
        adapters = self._list() if known is None else known
        if not 0 <= index < len(adapters):
            return GpuSample(index)
        adapter = adapters[index]
        reading = self._counted()
        use = reading.adapters.get(adapter.luid, AdapterUse())
        kernel = self._parts.kernel
        sensors = KmtReading()
        if not self.is_asleep(index):
            sensors = self._asked("sensors", lambda: kernel.read(adapter.luid), sensors)
        pids = self._process_ids()
        own, shared = reading.process_memory(adapter.luid, pids) if pids else (None, None)
        load = use.utilization_percent
        return GpuSample(
            index,
            vram_used_bytes=use.dedicated_bytes,
            vram_total_bytes=counted(adapter.dedicated_bytes),
            temperature_celsius=sensors.temperature_celsius,
            utilization_percent=None if load is None else round(load),
            shared_used_bytes=use.shared_bytes,
            power_percent=sensors.power_percent,
            fan_rpm=sensors.fan_rpm,
            process_dedicated_bytes=own,
            process_shared_bytes=shared,
        )

    def is_asleep(self, index: int) -> bool:
        """Return whether card `index`, of those listed last, is powered down; no driver is asked."""
        with self._lock:
            known = self._adapters or ()
            place = self._places.get(known[index].luid) if 0 <= index < len(known) else None
        return place is not None and self._sleeps(place) is True

    def close(self) -> None:
        """End the query of counters; the next reading opens it again."""
        self._parts.counters.close()

    def _list(self) -> tuple[DxgiAdapter, ...]:
        adapters = self._parts.dxgi.adapters()
        with self._lock:
            self._adapters = adapters
        return adapters

    def _counted(self) -> PdhReading:
        return self._asked("performance counters", self._parts.counters.read, PdhReading())

    def _sleeps(self, place: str) -> bool | None:
        return self._asked("power state", lambda: self._parts.power.is_asleep(place), None)

    def _asked(self, what: str, ask: Callable[[], T], nothing: T) -> T:
        """Return an answer; `nothing` where one part fails in any way: the others still tell their fields."""
        try:
            return ask()
        except Exception as reason:  # noqa: BLE001  # a driver's fault comes in any shape
            self._log_once(f"no {what}: {reason!r}")
            return nothing

    def _info(self, index: int, adapter: DxgiAdapter, reading: PdhReading) -> GpuInfo:
        parts = self._parts
        kernel = self._asked("kernel's answer", lambda: parts.kernel.adapter(adapter.luid), KmtAdapter())
        stated = self._asked("DXCore", lambda: parts.dxcore.is_integrated(adapter.luid), None)
        total, shared = counted(adapter.dedicated_bytes), counted(adapter.shared_bytes)
        place = kernel.pci_bus_id
        if place is not None:
            with self._lock:
                self._places[adapter.luid] = place
        use = reading.adapters.get(adapter.luid, AdapterUse())
        return GpuInfo(
            index,
            name=adapter.name or UNNAMED,
            vendor=VENDORS.get(adapter.vendor_id),
            pci_bus_id=place,
            vram_total_bytes=total,
            vram_free_bytes=_left(total, use.dedicated_bytes),
            drives_display=adapter.drives_display,
            is_integrated=is_integrated(adapter, kernel, stated),
            shared_total_bytes=shared,
            shared_free_bytes=_left(shared, use.shared_bytes),
            source="dxgi",
            luid=adapter.luid,
            vendor_id=adapter.vendor_id,
            device_id=adapter.device_id,
            gfx_target=gfx_target_of(adapter.vendor_id, adapter.device_id),
            driver_version=driver_version(adapter.vendor_id, adapter.driver_version),
            is_asleep=None if place is None else self._sleeps(place),
        )

    def _log_once(self, what: str) -> None:
        if what not in self._logged:
            self._logged.add(what)
            _log.info("GPUs of Windows: %s", what)


def is_integrated(adapter: DxgiAdapter, kernel: KmtAdapter, stated: bool | None) -> bool | None:
    """Return whether a card shares the processor's RAM, by the first that knows.

    Args:
        stated: DXCore's word, which is the driver's.
    """
    if stated is not None:
        return stated
    if kernel.is_hybrid_integrated:
        return True
    if kernel.is_hybrid_discrete:
        return False
    if adapter.dedicated_bytes < _SMALLEST_DISCRETE_BYTES:
        return True
    return False if adapter.vendor_id == NVIDIA else None


def engine_free_bytes(gpu: GpuInfo) -> int | None:
    """Return what llama.cpp on Windows would call free on this card.

    Of a card of its own: its memory that nobody uses. Of one that shares the RAM: that and the unused
    part of what it may share (ggml, `ggml_dxgi_pdh_get_gpu_memory`).
    """
    if not gpu.is_integrated:
        return gpu.vram_free_bytes
    if gpu.vram_free_bytes is None or gpu.shared_free_bytes is None:
        return None
    return gpu.vram_free_bytes + gpu.shared_free_bytes


def driver_version(vendor_id: int | None, version: str | None) -> str | None:
    """Return a driver's version as its maker writes it, where Windows' number holds that."""
    if vendor_id == NVIDIA and version is not None:
        return nvidia_version(version) or version
    return version


def _from_registry(index: int, entry: RegistryAdapter) -> GpuInfo:
    return GpuInfo(
        index,
        name=entry.name or UNNAMED,
        vendor=VENDORS.get(entry.vendor_id or 0),
        vram_total_bytes=trusted_memory(entry.memory_bytes),
        source="registry",
        vendor_id=entry.vendor_id,
        device_id=entry.device_id,
        gfx_target=gfx_target_of(entry.vendor_id, entry.device_id),
        driver_version=driver_version(entry.vendor_id, entry.driver_version),
    )


def _left(total: int | None, used: int | None) -> int | None:
    return None if total is None or used is None else max(0, total - used)
