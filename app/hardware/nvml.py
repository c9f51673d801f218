"""NVIDIA driver library -> GpuSource. The only importer of `pynvml` (package nvidia-ml-py)."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, Final

from app.hardware.facts import DriverInfo, GpuInfo, GpuSample
from app.hardware.nvml_answers import Answers, calls_named, field_of, number, pair, text
from app.hardware.nvml_cards import Cards, Device, Handles, is_cut_up
from app.hardware.ports import SourceError

_log = logging.getLogger(__name__)

UNNAMED: Final = "NVIDIA GPU"
RESTART_SECONDS: Final = 10.0
"""How often a driver with a lost card is started anew, without which it never finds the card again."""

_VENDOR_ID: Final = 0x10DE
_MEGAHERTZ: Final = 1_000_000
_MOST_CUDA: Final = 99_990
_PLAUSIBLE_CELSIUS: Final = range(1, 150)
"""Cards without a sensor answer 0 or 255."""


def _itself(library: Any) -> Any:
    return library


class NvmlSource:
    """The NVIDIA cards of this machine. Any thread; each call blocks for some driver calls.

    nvidia-ml-py looks for the library at its full path: System32 first on Windows, then the
    driver's own folder.
    """

    def __init__(
        self,
        library: Any = None,
        *,
        process_ids: Callable[[], Collection[int]] = tuple,
        clock: Callable[[], float] = time.monotonic,
        watched: Callable[[Any], Any] = _itself,
    ) -> None:
        """Start nothing yet.

        Args:
            library: Stands in for the `pynvml` module.
            process_ids: The engine's processes, whose memory on each card is read beside the whole.
            watched: Returns what to use in place of the library, which keeps its raw answers.
        """
        self._library = library
        self._watched = watched
        self._process_ids = process_ids
        self._clock = clock
        self._is_started = False
        self._starting = threading.Lock()
        self._restarted = clock()
        self._answers = Answers()
        self._cards = Cards(self._answers)
        self._seen: dict[int, GpuInfo] = {}

    def driver(self) -> DriverInfo:
        """Return the driver's version and the highest CUDA it runs (not the toolkit's).

        Raises:
            SourceError: `library-missing`, `driver-not-loaded`, `version-mismatch` or `start-failed`.
        """
        nvml = self._started()
        version = self._answers.value(nvml, None, "driver version", nvml.nvmlSystemGetDriverVersion)
        calls = calls_named(nvml, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
        cuda = number(self._answers.value(nvml, None, "cuda version", *calls), _MOST_CUDA)
        return DriverInfo(text(version), (cuda // 1000, cuda % 1000 // 10) if cuda else None)

    def gpus(self) -> tuple[GpuInfo, ...]:
        """Return the cards in NVML's order, which is that of the PCI bus; instances instead of one cut up.

        A card that was there before and is lost stays where it was.

        Raises:
            SourceError: as `driver`.
        """
        nvml = self._started()
        try:
            listed = self._cards.list_anew(nvml)
        except nvml.NVMLError as reason:
            raise SourceError("start-failed", str(reason)) from reason
        return tuple(
            self._info(nvml, index, device) if is_there else self._silent(index, device, is_lost=True)
            for index, (device, is_there) in enumerate(listed)
        )

    def read(self, index: int) -> GpuSample:
        """Read card `index` once. Where only memory v1 exists, `vram_used_bytes` counts the driver's reserve.

        Raises:
            SourceError: as `driver`.
        """
        if index in self._answers.lost:
            self._start_anew()
        nvml = self._started()
        self._answers.lost.discard(index)
        handles = self._cards.handles(nvml, index)
        if handles is None:
            return GpuSample(index, is_lost=index in self._answers.lost)
        sample = self._sample(nvml, index, handles)
        return replace(sample, is_lost=index in self._answers.lost)

    def close(self) -> None:
        """Let go of the driver; a later call starts it again. One that hangs while starting is left alone."""
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._is_started:
                self._is_started = False
                self._library.nvmlShutdown()
        except self._library.NVMLError as reason:
            _log.info("NVML did not shut down: %s", reason)
        finally:
            self._starting.release()

    def _started(self) -> Any:
        with self._starting:
            if not self._is_started:
                self._library = self._library or self._watched(_import_library())
                _start(self._library)
                self._is_started = True
            return self._library

    def _start_anew(self) -> None:
        now = self._clock()
        if now - self._restarted >= RESTART_SECONDS:
            self._restarted = now
            self.close()

    def _info(self, nvml: Any, index: int, device: Device) -> GpuInfo:
        self._answers.lost.discard(index)
        handles = self._cards.handles(nvml, index)
        if handles is None:  # lost or forbidden: it is there all the same
            return self._silent(index, device, is_lost=index in self._answers.lost)

        def ask(field: str, function: str, handle: Any = handles.board) -> Any:
            return self._answers.value(nvml, index, field, lambda: getattr(nvml, function)(handle))

        memory = self._memory(nvml, index, handles)
        total = field_of(memory, "total")
        display = number(ask("display", "nvmlDeviceGetDisplayActive"))
        pci = ask("pci", "nvmlDeviceGetPciInfo")
        device_id = field_of(pci, "pciDeviceId")
        self._seen[index] = GpuInfo(
            index,
            name=text(ask("name", "nvmlDeviceGetName", handles.own)) or UNNAMED,
            vendor="nvidia",
            uuid=text(ask("uuid", "nvmlDeviceGetUUID", handles.own)),
            pci_bus_id=text(getattr(pci, "busId", None)),
            vram_total_bytes=total,
            vram_free_bytes=_part(field_of(memory, "free"), total),
            compute_capability=pair(ask("compute capability", "nvmlDeviceGetCudaComputeCapability")),
            drives_display=None if display is None else bool(display),
            # boards that share the CPU's RAM (GB10, Jetson) have no memory of their own to report
            is_integrated=None if total is None else False,
            source="nvml",
            vendor_id=_VENDOR_ID,
            device_id=None if device_id is None else device_id >> 16,  # the maker's number is the low half
            mig_mode=device.instance is not None or is_cut_up(nvml, handles.board),
            is_lost=index in self._answers.lost,
        )
        return self._seen[index]

    def _silent(self, index: int, device: Device, *, is_lost: bool) -> GpuInfo:
        seen = self._seen.get(index) or GpuInfo(index, UNNAMED, "nvidia", device.uuid, source="nvml")
        return replace(seen, vram_free_bytes=None, is_lost=is_lost)

    def _sample(self, nvml: Any, index: int, handles: Handles) -> GpuSample:
        board = handles.board

        def ask(field: str, *functions: str) -> Any:
            calls = [lambda call=call: call(board) for call in calls_named(nvml, *functions)]
            return self._answers.value(nvml, index, field, *calls)

        memory = self._memory(nvml, index, handles)
        rates = ask("utilization", "nvmlDeviceGetUtilizationRates")
        clock = number(
            self._answers.value(
                nvml, index, "clock", lambda: nvml.nvmlDeviceGetClockInfo(board, nvml.NVML_CLOCK_SM)
            )
        )
        fan = number(ask("fan", "nvmlDeviceGetFanSpeed"))
        limits = ("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit")
        return GpuSample(
            index,
            vram_used_bytes=field_of(memory, "used"),
            vram_total_bytes=field_of(memory, "total"),
            temperature_celsius=self._temperature(nvml, index, board),
            power_milliwatts=number(ask("power", "nvmlDeviceGetPowerUsage")),
            utilization_percent=number(getattr(rates, "gpu", None), 100),
            power_limit_milliwatts=number(ask("power limit", *limits)),
            fan_percent=None if fan is None else min(100, fan),  # what was asked for: some ask for more
            core_clock_hertz=None if clock is None else clock * _MEGAHERTZ,
            process_dedicated_bytes=self._engine_bytes(nvml, index, handles.own),
        )

    def _memory(self, nvml: Any, index: int, handles: Handles) -> Any:
        return self._answers.value(
            nvml,
            index,
            "memory",
            lambda: nvml.nvmlDeviceGetMemoryInfo(handles.own, version=nvml.nvmlMemory_v2),
            lambda: nvml.nvmlDeviceGetMemoryInfo(handles.own),
        )

    def _temperature(self, nvml: Any, index: int, board: Any) -> int | None:
        # the second is the older name, gone in CUDA 14
        calls = calls_named(nvml, "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
        sensor = nvml.NVML_TEMPERATURE_GPU
        asked = [lambda call=call: call(board, sensor) for call in calls]
        celsius = number(self._answers.value(nvml, index, "temperature", *asked))
        return celsius if celsius in _PLAUSIBLE_CELSIUS else None

    def _engine_bytes(self, nvml: Any, index: int, handle: Any) -> int | None:
        """Return what our engines hold; None where the driver does not tell, as on Windows' desktops."""
        engines = self._process_ids()
        if not engines:
            return None
        held: dict[int, int] = {}
        # the second lists those that draw, Vulkan engines among them
        for function in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            calls = [partial(call, handle) for call in calls_named(nvml, function)]
            listed = self._answers.value(nvml, index, "processes", *calls)
            if not isinstance(listed, list | tuple):
                return None
            for process in listed:
                pid, size = field_of(process, "pid"), field_of(process, "usedGpuMemory")
                if pid is None or pid not in engines:
                    continue
                if size is None:
                    return None
                held[pid] = max(size, held.get(pid, 0))
        return sum(held.values())


def _part(value: int | None, total: int | None) -> int | None:
    """Return a part of a whole; None when it is more than that."""
    return None if value is None or total is None or value > total else value


def _import_library() -> Any:
    try:
        import pynvml
    except ImportError as reason:
        raise SourceError("library-missing", str(reason)) from reason
    return pynvml


def _start(nvml: Any) -> None:
    words = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: "library-missing",
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver-not-loaded",
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "version-mismatch",
    }
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as reason:
        raise SourceError(words.get(reason.value, "start-failed"), str(reason)) from reason
