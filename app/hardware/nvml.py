"""NVIDIA driver library -> GpuSource. The only importer of `pynvml` (package nvidia-ml-py)."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from app.hardware.facts import DriverInfo, GpuInfo, GpuSample
from app.hardware.ports import SourceError

_log = logging.getLogger(__name__)

UNNAMED: Final = "NVIDIA GPU"

_NO_VALUE: Final = frozenset((2**32 - 1, 2**64 - 1))
"""NVML_VALUE_NOT_AVAILABLE as unsigned 32 and 64 bit."""

_PLAUSIBLE_CELSIUS: Final = range(1, 150)
"""Cards without a sensor answer 0 or 255."""


class NvmlSource:
    """The NVIDIA cards of this machine. Any thread; each call blocks for some driver calls.

    nvidia-ml-py looks for the library at its full path: System32 first on Windows, then the
    driver's own folder.
    """

    def __init__(self, library: Any = None) -> None:
        """Start nothing yet; `library` stands in for the `pynvml` module."""
        self._library = library
        self._is_started = False
        self._starting = threading.Lock()
        self._logged: set[tuple[int | None, str]] = set()

    def driver(self) -> DriverInfo:
        """Return the driver's version and the highest CUDA it runs (not the toolkit's).

        Raises:
            SourceError: `library-missing`, `driver-not-loaded`, `version-mismatch` or `start-failed`.
        """
        nvml = self._started()
        version = self._value(None, "driver version", nvml.nvmlSystemGetDriverVersion)
        calls = _calls(nvml, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
        cuda = _number(self._value(None, "cuda version", *calls))
        return DriverInfo(_text(version), (cuda // 1000, cuda % 1000 // 10) if cuda else None)

    def gpus(self) -> tuple[GpuInfo, ...]:
        """Return the cards in NVML's order, which is that of the PCI bus.

        Raises:
            SourceError: as `driver`.
        """
        nvml = self._started()
        try:
            count = nvml.nvmlDeviceGetCount()
        except nvml.NVMLError as reason:
            raise SourceError("start-failed", str(reason)) from reason
        return tuple(self._info(nvml, index) for index in range(count))

    def read(self, index: int) -> GpuSample:
        """Read card `index` once. Where only memory v1 exists, `vram_used_bytes` counts the driver's reserve.

        Raises:
            SourceError: as `driver`.
        """
        nvml = self._started()
        handle = self._handle(nvml, index)
        if handle is None:
            return GpuSample(index)
        memory = self._memory(nvml, index, handle)
        rates = self._value(index, "utilization", lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        power = self._value(index, "power", lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        return GpuSample(
            index,
            vram_used_bytes=_field(memory, "used"),
            vram_total_bytes=_field(memory, "total"),
            temperature_celsius=self._temperature(nvml, index, handle),
            power_milliwatts=_number(power),
            utilization_percent=_field(rates, "gpu"),
        )

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
                self._library = self._library or _import_library()
                _start(self._library)
                self._is_started = True
            return self._library

    def _handle(self, nvml: Any, index: int) -> Any:
        return self._value(index, "handle", lambda: nvml.nvmlDeviceGetHandleByIndex(index))

    def _info(self, nvml: Any, index: int) -> GpuInfo:
        handle = self._handle(nvml, index)
        if handle is None:  # lost or forbidden: it is there all the same
            return GpuInfo(index, UNNAMED, vendor="nvidia")

        def ask(field: str, function: str) -> Any:
            return self._value(index, field, lambda: getattr(nvml, function)(handle))

        memory = self._memory(nvml, index, handle)
        total = _field(memory, "total")
        capability = ask("compute capability", "nvmlDeviceGetCudaComputeCapability")
        display = ask("display", "nvmlDeviceGetDisplayActive")
        return GpuInfo(
            index,
            name=_text(ask("name", "nvmlDeviceGetName")) or UNNAMED,
            vendor="nvidia",
            uuid=_text(ask("uuid", "nvmlDeviceGetUUID")),
            pci_bus_id=_text(getattr(ask("pci", "nvmlDeviceGetPciInfo"), "busId", None)),
            vram_total_bytes=total,
            vram_free_bytes=_field(memory, "free"),
            compute_capability=None if capability is None else (int(capability[0]), int(capability[1])),
            drives_display=None if display is None else bool(display),
            # boards that share the CPU's RAM (GB10, Jetson) have no memory of their own to report
            is_integrated=None if total is None else False,
        )

    def _memory(self, nvml: Any, index: int, handle: Any) -> Any:
        return self._value(
            index,
            "memory",
            lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2),
            lambda: nvml.nvmlDeviceGetMemoryInfo(handle),
        )

    def _temperature(self, nvml: Any, index: int, handle: Any) -> int | None:
        # the second is the older name, gone in CUDA 14
        calls = _calls(nvml, "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
        sensor = nvml.NVML_TEMPERATURE_GPU
        asked = [lambda call=call: call(handle, sensor) for call in calls]
        celsius = _number(self._value(index, "temperature", *asked))
        return celsius if celsius in _PLAUSIBLE_CELSIUS else None

    def _value(self, index: int | None, field: str, *calls: Callable[[], Any]) -> Any:
        """Return the first call's answer that is one; None, and one log line ever, when none is."""
        reason: Exception | None = None
        for call in calls:
            try:
                return call()
            except (self._library.NVMLError, UnicodeDecodeError, AttributeError) as failure:
                # AttributeError: this nvidia-ml-py has no such function
                reason = failure
        if (index, field) not in self._logged:
            self._logged.add((index, field))
            _log.info("NVML gives no %s for GPU %s: %s", field, index, reason)
        return None


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


def _calls(nvml: Any, *names: str) -> Sequence[Callable[..., Any]]:
    return [getattr(nvml, name) for name in names if hasattr(nvml, name)]


def _text(value: str | bytes | None) -> str | None:
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    return text or None


def _field(record: Any, name: str) -> int | None:
    return _number(getattr(record, name, None))


def _number(value: Any) -> int | None:
    """Return a count; None for NVML's ways to say "not available"."""
    if value is None or value < 0 or value in _NO_VALUE:
        return None
    return int(value)
