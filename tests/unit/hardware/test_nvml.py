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
from app.hardware.nvml import RESTART_SECONDS, UNNAMED, NvmlSource
from app.hardware.ports import SourceError
from app.hardware.probe import Probe

MIB = 1024**2
DEADLINE_SECONDS = 10.0
NOT_AVAILABLE = 2**64 - 1


CARD_UUIDS = ("GPU-aaaa", "GPU-bbbb")


class FakeNvml:
    """The part of `pynvml` that NvmlSource uses, with two cards; a handle is a card's number.

    Attributes:
        failures: Function name -> NVML error code it raises.
        answers: Function name -> what it returns instead.
        present: Numbers of the cards on the bus.
    """

    NVMLError = pynvml.NVMLError
    NVML_ERROR_LIBRARY_NOT_FOUND = pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
    NVML_ERROR_DRIVER_NOT_LOADED = pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
    NVML_ERROR_GPU_IS_LOST = pynvml.NVML_ERROR_GPU_IS_LOST
    NVML_ERROR_NOT_FOUND = pynvml.NVML_ERROR_NOT_FOUND
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM
    nvmlMemory_v2 = pynvml.nvmlMemory_v2

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.answers: dict[str, Any] = {}
        self.present = [0, 1]
        self.has_memory_v2 = True
        self.starts = 0
        self.stops = 0

    def nvmlInit(self) -> None:
        self._answer("nvmlInit", None)
        self.starts += 1

    def nvmlShutdown(self) -> None:
        self.stops += 1
        self._answer("nvmlShutdown", None)

    def nvmlDeviceGetCount(self) -> Any:
        return self._answer("nvmlDeviceGetCount", len(self.present))

    def nvmlDeviceGetHandleByIndex(self, number: int) -> Any:
        return self._answer("nvmlDeviceGetHandleByIndex", self.present[number])

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:
        card = CARD_UUIDS.index(uuid)
        if card not in self.present:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return self._answer("nvmlDeviceGetHandleByIndex", card)

    def nvmlDeviceGetUUID(self, handle: int) -> Any:
        return self._answer("nvmlDeviceGetUUID", CARD_UUIDS[handle])

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
            "nvmlDeviceGetName": b"NVIDIA GeForce RTX 4060",
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"00000000:01:00.0", pciDeviceId=0x28E010DE),
            "nvmlDeviceGetCudaComputeCapability": (8, 9),
            "nvmlDeviceGetDisplayActive": 1,
            "nvmlDeviceGetTemperatureV": 51,
            "nvmlDeviceGetPowerUsage": 45_000,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37, memory=4),
            "nvmlDeviceGetFanSpeed": 30,
            "nvmlDeviceGetEnforcedPowerLimit": 115_000,
            "nvmlDeviceGetClockInfo": 2460,
            "nvmlDeviceGetComputeRunningProcesses": [],
            "nvmlDeviceGetGraphicsRunningProcesses": [],
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
    assert (card.index, card.name, card.uuid) == (1, "NVIDIA GeForce RTX 4060", "GPU-bbbb")
    assert (card.vendor_id, card.device_id, card.source) == (0x10DE, 0x28E0, "nvml")
    assert (card.mig_mode, card.is_lost) == (False, False)
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
    cards = source.gpus()
    assert [(card.index, card.name, card.is_lost) for card in cards] == [
        (0, UNNAMED, True),
        (1, UNNAMED, True),
    ]
    assert source.read(0) == GpuSample(0, is_lost=True)


FULL_SAMPLE = GpuSample(
    0,
    vram_used_bytes=900 * MIB,
    vram_total_bytes=8192 * MIB,
    temperature_celsius=51,
    power_milliwatts=45_000,
    utilization_percent=37,
    power_limit_milliwatts=115_000,
    fan_percent=30,
    core_clock_hertz=2_460_000_000,
    is_lost=False,
)

SAMPLE_FIELDS = {
    "nvmlDeviceGetMemoryInfo": ("vram_used_bytes", "vram_total_bytes"),
    "nvmlDeviceGetTemperatureV": ("temperature_celsius",),
    "nvmlDeviceGetPowerUsage": ("power_milliwatts",),
    "nvmlDeviceGetUtilizationRates": ("utilization_percent",),
    "nvmlDeviceGetFanSpeed": ("fan_percent",),
    "nvmlDeviceGetEnforcedPowerLimit": ("power_limit_milliwatts",),
    "nvmlDeviceGetClockInfo": ("core_clock_hertz",),
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
    assert sample.is_lost is (code == pynvml.NVML_ERROR_GPU_IS_LOST)
    for name in set(GpuSample.__dataclass_fields__) - {"is_lost"}:
        expected = None if name in SAMPLE_FIELDS[function] else getattr(FULL_SAMPLE, name)
        assert getattr(sample, name) == expected


def test_a_card_without_any_sensor_reads_all_none(nvml: FakeNvml, source: NvmlSource) -> None:
    nvml.failures = dict.fromkeys(SAMPLE_FIELDS, pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert source.read(0) == GpuSample(0, is_lost=False)


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


def test_a_card_that_shows_every_sensor_but_one_after_the_other_is_logged_once_per_field(
    nvml: FakeNvml, source: NvmlSource, caplog: pytest.LogCaptureFixture
) -> None:
    nvml.failures = dict.fromkeys(SAMPLE_FIELDS, pynvml.NVML_ERROR_NOT_SUPPORTED)
    with caplog.at_level(logging.INFO):
        for _ in range(60):
            source.read(0)
    words = [record.getMessage().split(" for GPU")[0] for record in caplog.records]
    named = ("clock", "fan", "memory", "power", "power limit", "temperature", "utilization")
    assert sorted(words) == [f"NVML gives no {field}" for field in named]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_lost_card_keeps_its_place_and_its_neighbour_its_own_values(nvml: FakeNvml) -> None:
    source = NvmlSource(nvml, clock=Clock())
    before = source.gpus()
    nvml.present = [1]
    first, second = source.gpus()
    assert (first.index, first.uuid, first.is_lost, first.vram_free_bytes) == (0, "GPU-aaaa", True, None)
    assert first.name == before[0].name
    assert (second.index, second.uuid, second.is_lost) == (1, "GPU-bbbb", False)
    assert source.read(0) == GpuSample(0, is_lost=True)
    assert source.read(1).temperature_celsius == 51


def test_a_card_that_returns_is_found_by_its_uuid_after_the_driver_was_started_anew(nvml: FakeNvml) -> None:
    clock = Clock()
    source = NvmlSource(nvml, clock=clock)
    source.gpus()
    nvml.present = [1]
    for _ in range(5):
        assert source.read(0).is_lost
        clock.now += 1.0
    assert nvml.starts == 1
    nvml.present = [1, 0]  # it is counted after the other one now
    clock.now += RESTART_SECONDS
    assert source.read(0) == FULL_SAMPLE
    assert nvml.starts == 2
    assert [(card.index, card.uuid, card.is_lost) for card in source.gpus()] == [
        (0, "GPU-aaaa", False),
        (1, "GPU-bbbb", False),
    ]


def test_a_card_lost_from_the_start_takes_its_place_when_it_comes(nvml: FakeNvml) -> None:
    source = NvmlSource(nvml, clock=Clock())
    nvml.failures["nvmlDeviceGetHandleByIndex"] = pynvml.NVML_ERROR_GPU_IS_LOST
    assert [card.uuid for card in source.gpus()] == [None, None]
    nvml.failures.clear()
    assert [(card.index, card.uuid) for card in source.gpus()] == [(0, "GPU-aaaa"), (1, "GPU-bbbb")]


def test_memory_of_our_engines_is_counted_once_and_that_of_others_not_at_all(nvml: FakeNvml) -> None:
    def process(pid: int, size: int | None) -> SimpleNamespace:
        return SimpleNamespace(pid=pid, usedGpuMemory=size)

    nvml.answers["nvmlDeviceGetComputeRunningProcesses"] = [process(10, 700 * MIB), process(99, 5 * MIB)]
    nvml.answers["nvmlDeviceGetGraphicsRunningProcesses"] = [process(10, 700 * MIB), process(11, 20 * MIB)]
    source = NvmlSource(nvml, process_ids=lambda: {10, 11})
    assert source.read(0).process_dedicated_bytes == 720 * MIB
    nvml.answers["nvmlDeviceGetComputeRunningProcesses"] = [process(10, None)]  # Windows' desktop driver
    assert source.read(0).process_dedicated_bytes is None
    nvml.failures["nvmlDeviceGetComputeRunningProcesses"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    assert source.read(0).process_dedicated_bytes is None


class CutUpNvml(FakeNvml):
    """One H200 cut into two instances; their handles are 100 and 101, the second place is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.present = [0]

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        return [1, 1]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: int) -> int:
        return 3

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: int, instance: int) -> int:
        if instance == 1:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return 100 + instance

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        return {"MIG-100": 100, "MIG-102": 102}[uuid]

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: int) -> int:
        return 0

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"MIG-{handle}" if handle >= 100 else "GPU-aaaa"

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        return b"NVIDIA H200 MIG 1g.18gb" if handle >= 100 else b"NVIDIA H200"

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Any:
        total = 16384 * MIB if handle >= 100 else 143771 * MIB
        return SimpleNamespace(total=total, free=total - 60 * MIB, used=60 * MIB)

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        if handle >= 100:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return 9, 0

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        if handle >= 100:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return 120_000


def test_instances_of_a_card_are_devices_with_memory_of_their_own() -> None:
    source = NvmlSource(CutUpNvml())
    cards = source.gpus()
    assert [(card.index, card.uuid) for card in cards] == [(0, "MIG-100"), (1, "MIG-102")]
    assert {card.name for card in cards} == {"NVIDIA H200 MIG 1g.18gb"}
    assert {card.vram_total_bytes for card in cards} == {16384 * MIB}
    assert {card.compute_capability for card in cards} == {(9, 0)}
    assert all(card.mig_mode for card in cards)
    sample = source.read(1)
    assert (sample.vram_total_bytes, sample.power_milliwatts) == (16384 * MIB, 120_000)


def test_a_card_ready_to_be_cut_up_but_whole_is_listed_as_itself() -> None:
    nvml = CutUpNvml()
    nvml.nvmlDeviceGetMaxMigDeviceCount = lambda handle: 0  # type: ignore[method-assign]  # no instance yet
    nvml.nvmlDeviceGetHandleByUUID = lambda uuid: 0  # type: ignore[method-assign]  # the whole card
    (card,) = NvmlSource(nvml).gpus()
    assert (card.uuid, card.mig_mode, card.vram_total_bytes) == ("GPU-aaaa", True, 143771 * MIB)
