"""NvmlSource against a stand-in for the `pynvml` module that fails in every way the real one does."""

import logging
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from app.hardware.facts import DriverInfo, GpuSample
from app.hardware.nvml import UNNAMED, NvmlSource
from app.hardware.ports import SourceError
from app.hardware.probe import Probe

MIB = 1024**2
DEADLINE_SECONDS = 10.0
NOT_AVAILABLE = 2**64 - 1


class FakeNvml:
    """The part of `pynvml` that NvmlSource uses, with two cards.

    Attributes:
        failures: Function name -> NVML error code it raises.
        answers: Function name -> what it returns instead.
    """

    NVMLError = pynvml.NVMLError
    NVML_ERROR_LIBRARY_NOT_FOUND = pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
    NVML_ERROR_DRIVER_NOT_LOADED = pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU
    nvmlMemory_v2 = pynvml.nvmlMemory_v2

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.answers: dict[str, Any] = {}
        self.has_memory_v2 = True
        self.starts = 0
        self.stops = 0

    def nvmlInit(self) -> None:
        self._answer("nvmlInit", None)
        self.starts += 1

    def nvmlShutdown(self) -> None:
        self.stops += 1
        self._answer("nvmlShutdown", None)

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Any:
        if version is not None and not self.has_memory_v2:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        used = 900 * MIB if version else 1300 * MIB
        memory = SimpleNamespace(total=8192 * MIB, free=6892 * MIB, used=used)
        return self._answer("nvmlDeviceGetMemoryInfo", memory)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        usual = {
            "nvmlSystemGetDriverVersion": "551.61",
            "nvmlSystemGetCudaDriverVersion_v2": 12040,
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceGetHandleByIndex": 7,
            "nvmlDeviceGetName": b"NVIDIA GeForce RTX 4060",
            "nvmlDeviceGetUUID": "GPU-aaaa",
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"00000000:01:00.0"),
            "nvmlDeviceGetCudaComputeCapability": (8, 9),
            "nvmlDeviceGetDisplayActive": 1,
            "nvmlDeviceGetTemperatureV": 51,
            "nvmlDeviceGetPowerUsage": 45_000,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37, memory=4),
        }
        if name not in usual:
            raise AttributeError(name)
        return lambda *args: self._answer(name, usual[name])

    def _answer(self, name: str, usual: Any) -> Any:
        if name in self.failures:
            raise pynvml.NVMLError(self.failures[name])
        return self.answers.get(name, usual)


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()


@pytest.fixture
def source(nvml: FakeNvml) -> NvmlSource:
    return NvmlSource(nvml)


def test_without_the_drivers_library_the_real_module_says_it_is_missing() -> None:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        with pytest.raises(SourceError) as failure:
            NvmlSource().gpus()
        assert failure.value.reason in ("library-missing", "driver-not-loaded")
    else:
        pynvml.nvmlShutdown()
        pytest.skip("this machine has an NVIDIA driver")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "library-missing"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "driver-not-loaded"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "version-mismatch"),
        (pynvml.NVML_ERROR_UNKNOWN, "start-failed"),
    ],
)
def test_a_driver_that_does_not_start_is_named_by_its_reason(
    nvml: FakeNvml, source: NvmlSource, code: int, reason: str
) -> None:
    nvml.failures["nvmlInit"] = code
    for question in (source.driver, source.gpus, lambda: source.read(0)):
        with pytest.raises(SourceError) as failure:
            question()
        assert failure.value.reason == reason


def test_a_python_without_the_module_has_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(SourceError) as failure:
        NvmlSource().driver()
    assert failure.value.reason == "library-missing"


@pytest.mark.parametrize(
    ("version", "number", "cuda"),
    [
        ("536.67", 12020, (12, 2)),
        ("551.61", 12040, (12, 4)),
        (b"591.44", 13010, (13, 1)),
        ("999", 14100, (14, 10)),
    ],
)
def test_the_highest_cuda_is_read_from_the_drivers_number(
    nvml: FakeNvml, source: NvmlSource, version: str | bytes, number: int, cuda: tuple[int, int]
) -> None:
    nvml.answers = {"nvmlSystemGetDriverVersion": version, "nvmlSystemGetCudaDriverVersion_v2": number}
    text = version.decode() if isinstance(version, bytes) else version
    assert source.driver() == DriverInfo(text, cuda)


def test_a_driver_may_keep_its_version_to_itself(nvml: FakeNvml, source: NvmlSource) -> None:
    nvml.failures = {
        "nvmlSystemGetDriverVersion": pynvml.NVML_ERROR_NO_PERMISSION,
        "nvmlSystemGetCudaDriverVersion_v2": pynvml.NVML_ERROR_NOT_SUPPORTED,
    }
    assert source.driver() == DriverInfo(None, None)


def test_a_card_is_described_in_full(source: NvmlSource) -> None:
    card = source.gpus()[1]
    assert (card.index, card.name, card.uuid) == (1, "NVIDIA GeForce RTX 4060", "GPU-aaaa")
    assert (card.pci_bus_id, card.vram_total_bytes) == ("00000000:01:00.0", 8192 * MIB)
    assert (card.vram_free_bytes, card.compute_capability) == (6892 * MIB, (8, 9))
    assert (card.drives_display, card.is_integrated, card.vendor) == (True, False, "nvidia")


CARD_FIELDS = {
    "nvmlDeviceGetUUID": "uuid",
    "nvmlDeviceGetPciInfo": "pci_bus_id",
    "nvmlDeviceGetMemoryInfo": "vram_total_bytes",
    "nvmlDeviceGetCudaComputeCapability": "compute_capability",
    "nvmlDeviceGetDisplayActive": "drives_display",
}

UNREADABLE = [
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_UNKNOWN,
    pynvml.NVML_ERROR_GPU_IS_LOST,
]


@pytest.mark.parametrize("code", UNREADABLE)
@pytest.mark.parametrize("function", CARD_FIELDS)
def test_a_field_the_card_does_not_give_is_none_and_the_others_stay(
    nvml: FakeNvml, source: NvmlSource, function: str, code: int
) -> None:
    nvml.failures[function] = code
    card = source.gpus()[0]
    assert getattr(card, CARD_FIELDS[function]) is None
    others = set(CARD_FIELDS.values()) - {CARD_FIELDS[function]}
    assert all(getattr(card, name) is not None for name in others)


def test_a_card_that_cannot_be_opened_is_still_listed(nvml: FakeNvml, source: NvmlSource) -> None:
    nvml.failures["nvmlDeviceGetHandleByIndex"] = pynvml.NVML_ERROR_GPU_IS_LOST
    assert [(card.index, card.name) for card in source.gpus()] == [(0, UNNAMED), (1, UNNAMED)]
    assert source.read(0) == GpuSample(0)


FULL_SAMPLE = GpuSample(
    0,
    vram_used_bytes=900 * MIB,
    vram_total_bytes=8192 * MIB,
    temperature_celsius=51,
    power_milliwatts=45_000,
    utilization_percent=37,
)

SAMPLE_FIELDS = {
    "nvmlDeviceGetMemoryInfo": ("vram_used_bytes", "vram_total_bytes"),
    "nvmlDeviceGetTemperatureV": ("temperature_celsius",),
    "nvmlDeviceGetPowerUsage": ("power_milliwatts",),
    "nvmlDeviceGetUtilizationRates": ("utilization_percent",),
}


def test_a_healthy_card_gives_every_field(source: NvmlSource) -> None:
    assert source.read(0) == FULL_SAMPLE


@pytest.mark.parametrize("code", UNREADABLE)
@pytest.mark.parametrize("function", SAMPLE_FIELDS)
def test_an_unreadable_sensor_is_none_and_not_zero(
    nvml: FakeNvml, source: NvmlSource, function: str, code: int
) -> None:
    nvml.failures[function] = code
    sample = source.read(0)
    for name in GpuSample.__dataclass_fields__:
        expected = None if name in SAMPLE_FIELDS[function] else getattr(FULL_SAMPLE, name)
        assert getattr(sample, name) == expected


def test_a_card_without_any_sensor_reads_all_none(nvml: FakeNvml, source: NvmlSource) -> None:
    nvml.failures = dict.fromkeys(SAMPLE_FIELDS, pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert source.read(0) == GpuSample(0)


@pytest.mark.parametrize("celsius", [0, 255, 2**32 - 1])
def test_a_temperature_no_card_can_have_is_no_temperature(
    nvml: FakeNvml, source: NvmlSource, celsius: int
) -> None:
    nvml.answers["nvmlDeviceGetTemperatureV"] = celsius
    assert source.read(0).temperature_celsius is None


@pytest.mark.parametrize("number", [NOT_AVAILABLE, 2**32 - 1, -1])
def test_the_drivers_number_for_not_available_is_none(
    nvml: FakeNvml, source: NvmlSource, number: int
) -> None:
    nvml.answers["nvmlDeviceGetPowerUsage"] = number
    nvml.answers["nvmlDeviceGetMemoryInfo"] = SimpleNamespace(total=number, free=number, used=number)
    sample = source.read(0)
    assert sample.power_milliwatts is None
    assert sample.vram_used_bytes is None
    assert source.gpus()[0].vram_total_bytes is None


def test_an_old_driver_is_asked_for_memory_the_old_way(nvml: FakeNvml, source: NvmlSource) -> None:
    nvml.has_memory_v2 = False
    assert source.read(0).vram_used_bytes == 1300 * MIB


def test_a_sensor_that_stays_silent_is_logged_once(
    nvml: FakeNvml, source: NvmlSource, caplog: pytest.LogCaptureFixture
) -> None:
    nvml.failures["nvmlDeviceGetPowerUsage"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            source.read(0)
    assert [record.getMessage() for record in caplog.records if "power" in record.getMessage()] == [
        "NVML gives no power for GPU 0: Not Supported"
    ]


def test_the_driver_starts_once_and_again_after_it_was_closed(nvml: FakeNvml, source: NvmlSource) -> None:
    source.driver()
    source.gpus()
    source.close()
    source.close()
    assert (nvml.starts, nvml.stops) == (1, 1)
    source.read(0)
    assert nvml.starts == 2


def test_closing_survives_a_driver_that_is_gone(nvml: FakeNvml, source: NvmlSource) -> None:
    source.driver()
    nvml.failures["nvmlShutdown"] = pynvml.NVML_ERROR_GPU_IS_LOST
    source.close()
    assert nvml.stops == 1


def test_closing_does_not_wait_for_a_driver_that_hangs_while_starting(nvml: FakeNvml) -> None:
    entered, may_end = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        may_end.wait()

    nvml.nvmlInit = hang  # type: ignore[method-assign]  # this driver hangs
    source = NvmlSource(nvml)
    probe = Probe("driver", source.driver)
    assert entered.wait(DEADLINE_SECONDS)
    closing = Probe("close", source.close)
    assert not closing.outcome(DEADLINE_SECONDS).is_timed_out
    may_end.set()
    assert not probe.outcome(DEADLINE_SECONDS).is_timed_out


def test_on_windows_the_library_is_looked_for_in_system32_first_and_by_full_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []

    def refuse(path: str) -> None:
        searched.append(path.replace("\\", "/"))
        raise OSError(path)

    monkeypatch.setattr(pynvml, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(pynvml, "CDLL", refuse)
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setenv("WINDIR", "C:/Windows")
    monkeypatch.setenv("ProgramFiles", "C:/Program Files")
    with pytest.raises(SourceError) as failure:
        NvmlSource().driver()
    assert failure.value.reason == "library-missing"
    assert searched == [
        "C:/Windows/System32/nvml.dll",
        "C:/Program Files/NVIDIA Corporation/NVSMI/nvml.dll",
    ]
