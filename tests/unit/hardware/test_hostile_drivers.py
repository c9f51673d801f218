"""Drivers that answer with rubbish, errors of any shape, or not at all: facts stay facts, nothing crashes."""

import ctypes
import io
import json
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli import doctor
from app.cli.context import CliContext
from app.cli.main import main
from app.findings import FindingCode
from app.hardware import drives, pdh
from app.hardware import host as host_source
from app.hardware.all_gpus import AllGpus
from app.hardware.d3dkmt import D3dkmt, KmtError
from app.hardware.detect import detect
from app.hardware.drives import Mount
from app.hardware.drm import DrmSource
from app.hardware.dxcore import Dxcore
from app.hardware.dxgi import DxgiSource
from app.hardware.facts import GpuInfo, GpuSample, HardwareFacts
from app.hardware.host import PsutilHostSource
from app.hardware.nvml import NvmlSource
from app.hardware.nvml_answers import LARGEST_COUNT
from app.hardware.nvml_cards import MOST_CARDS
from app.hardware.pdh import PdhCounters
from app.hardware.pdh_library import CounterItem, PdhError
from app.hardware.ports import GpuSource, SourceError
from app.hardware.recording import Recording, parse_recording, to_text
from app.hardware.sampler import TelemetrySampler
from app.hardware.windows_gpus import WindowsGpuSource, WindowsParts
from app.hardware.windows_library import Luid
from app.hardware.windows_power import PowerStates
from app.settings import Settings
from app.texts import LANGUAGES, Texts
from tests.fakes import FakeGpuSource, FakeHostSource
from tests.windows_answers import Card, FakeDxcore, FakeDxgi, FakeRegistry, performance

HUGE = (2**31, 2**32 - 1, 2**53, 2**63, 2**64 - 1, 10**400)
RUBBISH: tuple[Any, ...] = (
    *(
        None,
        -1,
        0,
        1,
        7,
        *HUGE,
        math.nan,
        math.inf,
        -math.inf,
        True,
        "",
        "x" * 5000,
        "GPU-\ud800",
        "\0\x1b[2J",
    ),
    *(b"", b"\xff\xfe\x80", b"a\0b", (), (1,), (None, None), (-1, 2**64), [], {}, object()),
    *(SimpleNamespace(), SimpleNamespace(total=None, free=math.nan, used=-5, gpu=900, pid="x")),
    SimpleNamespace(total=5, free=2**40, used=2**63, gpu=-1, busId=b"\xff" * 40, pciDeviceId=2**70),
    [SimpleNamespace(pid=None, usedGpuMemory=1), SimpleNamespace(pid=4, usedGpuMemory=math.nan), None],
)
FAULTS: tuple[Callable[[], Exception], ...] = (
    lambda: pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED),
    lambda: pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST),
    lambda: pynvml.NVMLError(123456),
    lambda: OSError("exception: access violation reading 0x0000000000000008"),
    lambda: ValueError("NULL pointer access"),
    lambda: TypeError("x"),
    lambda: ctypes.ArgumentError("x"),
    lambda: AttributeError("x"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
    lambda: MemoryError(),
    lambda: RecursionError(),
)


def answer(dice: random.Random, usual: Any = None) -> Any:
    """Return a usual answer, rubbish, or raise."""
    kind = dice.randrange(4)
    if kind == 0:
        raise dice.choice(FAULTS)()
    return usual if kind == 1 and usual is not None else dice.choice(RUBBISH)


class HostileNvml:
    """A `pynvml` all of whose functions answer as they like; the constants are the real ones."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def nvmlInit(self) -> None:
        if self._dice.randrange(6) == 0:
            raise self._dice.choice(FAULTS)()

    def nvmlShutdown(self) -> None:
        self.nvmlInit()

    def nvmlDeviceGetCount(self) -> Any:
        return answer(self._dice, 2)

    def __getattr__(self, name: str) -> Any:
        real = getattr(pynvml, name)
        if not callable(real) or isinstance(real, type):
            return real
        return lambda *_, **__: answer(self._dice)


class HostileKernel:
    """D3DKMT."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def open(self, luid: Luid) -> int:
        return int(self._fault(1))

    def query(self, adapter: int, kind: int, question: bytes) -> bytes:
        usual = (b"", bytes(4), b"\xff" * len(question), performance(9, 2**31, 2**32 - 1), b"\xff" * 3)
        return bytes(self._fault(self._dice.choice(usual)))

    def close(self, adapter: int) -> None:
        self._fault(None)

    def _fault(self, usual: Any) -> Any:
        if self._dice.randrange(4) == 0:
            raise self._dice.choice((KmtError("0xC0000001"), OSError("access violation"), MemoryError()))
        return usual


class HostileCounters:
    """PDH."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def open(self) -> int:
        return int(self._fault(1))

    def add(self, query: int, path: str) -> int:
        return int(self._fault(2))

    def collect(self, query: int) -> None:
        self._fault(None)

    def items(self, counter: int) -> tuple[CounterItem, ...]:
        names: tuple[str, ...] = (
            "",
            "luid_0xZ_0x1",
            f"pid_{'9' * 5000}_luid_0x0_0xD3F1",
            "pid_²_luid_0x0_0xD3F1",
            "_" * 99,
        )
        names += ("pid_4_luid_0x00000000_0x0000D3F1_phys_0_eng_0_engtype_3D", "luid_0x00000000_0x0000D3F1")
        values = (None, math.nan, math.inf, -math.inf, -1.0, 5.0, 1e300, float(2**47))
        count = self._dice.choice((0, 1, 50))
        made = (CounterItem(self._dice.choice(names), self._dice.choice(values)) for _ in range(count))
        return tuple(self._fault(tuple(made)))

    def remove(self, counter: int) -> None:
        self._fault(None)

    def close(self, query: int) -> None:
        self._fault(None)

    def _fault(self, usual: Any) -> Any:
        if self._dice.randrange(5) == 0:
            raise self._dice.choice((PdhError("x", 0xC0000BC6), OSError("access violation"), MemoryError()))
        return usual


class HostileDevices:
    """The device manager."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def display_devices(self) -> tuple[int, ...]:
        if self._dice.randrange(3) == 0:
            raise OSError("access violation")
        return (1, 2)

    def value(self, device: int, number: int) -> bytes | None:
        if self._dice.randrange(3) == 0:
            raise OSError("access violation")
        return self._dice.choice((None, b"", b"\xff" * 4, b"\1\0\0\0", b"\xff" * 256))


def windows_source(dice: random.Random) -> WindowsGpuSource:
    cards = [
        Card(
            dice.choice(("", "\ud7ff" * 128, "x\0y", "卡" * 200)),
            dice.choice((0, 0x10DE, 0x1002, 2**32 - 1)),
            dice.choice((0, 2**32 - 1)),
            dice.choice((0, 2**31, 2**64 - 1)),
            dice.choice((0, 2**64 - 1)),
            luid=0xD3F1 + dice.randrange(2),
            driver=dice.choice((None, 0, 2**64 - 1)),
            integrated=dice.choice((None, True, False)),
        )
        for _ in range(dice.randrange(4))
    ]
    dxgi, dxcore = FakeDxgi(cards), FakeDxcore(cards)

    def create_dxcore() -> ctypes.c_void_p:
        if dice.randrange(3) == 0:
            raise dice.choice((SourceError("library-missing"), OSError("access violation")))
        return dxcore.create()

    parts = WindowsParts(
        DxgiSource(dxgi.create),
        Dxcore(create_dxcore),
        D3dkmt(HostileKernel(dice)),
        PdhCounters(HostileCounters(dice)),
        PowerStates(HostileDevices(dice)),
        FakeRegistry(),
    )
    return WindowsGpuSource(parts, process_ids=lambda: (4,))


def drm_source(dice: random.Random, root: Path) -> DrmSource:
    device = root / "class" / "drm" / "card0" / "device"
    (device / "hwmon" / "hwmon0").mkdir(parents=True, exist_ok=True)
    names = ("mem_info_vram_total", "mem_info_vram_used", "gpu_busy_percent", "pp_dpm_sclk", "product_name")
    sensors = ("name", "temp1_input", "power1_average", "fan1_input", "freq1_input", "pwm1")
    rubbish = (b"", b"-1", b"9" * 30, b"\xff" * 9, b"18446744073709551615", b"0x" + b"f" * 16, b"nan", b"1e9")
    (device / "uevent").write_bytes(dice.choice((b"PCI_SLOT_NAME=0000:03:00.0\n", b"\xff")))
    for name, value in (("vendor", b"0x1002"), ("device", dice.choice((b"0x744c", b"?")))):
        (device / name).write_bytes(value)
    for name in (*names, *(f"hwmon/hwmon0/{sensor}" for sensor in sensors)):
        (device / name).write_bytes(dice.choice((*rubbish, b"amdgpu", b"51000")))
    return DrmSource(root, processes=root)


def check_gpu(gpu: GpuInfo) -> None:
    assert isinstance(gpu.name, str)
    assert 0 < len(gpu.name) <= 256
    for size in (gpu.vram_total_bytes, gpu.vram_free_bytes, gpu.shared_total_bytes, gpu.shared_free_bytes):
        assert size is None or (type(size) is int and 0 <= size < 2**63)
    if gpu.vram_free_bytes is not None:
        assert gpu.vram_free_bytes <= (gpu.vram_total_bytes or 0)


def check_sample(sample: GpuSample) -> None:
    assert sample.utilization_percent is None or 0 <= sample.utilization_percent <= 100
    assert sample.temperature_celsius is None or 0 < sample.temperature_celsius < 150
    assert sample.power_percent is None or 0 <= sample.power_percent <= 100
    for name in ("vram_used_bytes", "shared_used_bytes", "process_dedicated_bytes", "power_milliwatts"):
        value = getattr(sample, name)
        assert value is None or (type(value) is int and 0 <= value < 2**63)


def check(facts: HardwareFacts, samples: tuple[Any, ...] = ()) -> None:
    """Facts are whole: they can be told as JSON in every language, saved, and read again."""
    for gpu in facts.gpus:
        check_gpu(gpu)
    recording = Recording(facts, samples)
    assert parse_recording(to_text(recording).encode("utf-8"), "m.json") == recording
    for language in LANGUAGES:
        out = io.StringIO()
        context = CliContext(Texts(language), Settings(), out, io.StringIO())
        diagnosis = doctor._Diagnosis(facts, None, None, facts.findings)
        doctor._print_card(diagnosis, context)
        context.print_json(doctor._to_json(diagnosis))
        assert "\x1b" not in out.getvalue()
        json.dumps(doctor._to_json(diagnosis), allow_nan=False)


@settings(max_examples=60, deadline=None)  # probes are threads: a busy machine takes its time
@given(st.integers(0, 2**32))
def test_facts_and_samples_of_hostile_drivers_are_none_or_sane(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    dice = random.Random(seed)
    sources: dict[str, GpuSource] = {
        "nvml": NvmlSource(HostileNvml(dice), process_ids=lambda: (4,)),
        "windows": windows_source(dice),
        "drm": drm_source(dice, tmp_path_factory.mktemp("sys")),
    }
    gpus = AllGpus(sources, read_timeout_seconds=10.0)
    facts = detect(gpus, FakeHostSource(), probe_timeout_seconds=10.0)
    sampler = TelemetrySampler(gpus, FakeHostSource(), lambda _: None, read_timeout_seconds=20.0)
    samples = tuple(sampler.read_once() for _ in range(2))
    gpus.close()
    for sample in samples:
        assert sample.host is not None
        for reading in sample.gpus:
            check_sample(reading)
    check(facts, samples)


def test_a_count_of_cards_that_no_computer_has_ends() -> None:
    nvml = HostileNvml(random.Random(1))
    nvml.nvmlDeviceGetCount = lambda: 2**32 - 2  # type: ignore[method-assign]
    nvml.nvmlInit = lambda: None  # type: ignore[method-assign]
    assert len(NvmlSource(nvml).gpus()) <= MOST_CARDS * 16
    assert LARGEST_COUNT < 2**63


class Hung:
    """Every call waits until the test ends."""

    def __init__(self, end: threading.Event) -> None:
        self._end = end

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def wait(*_: Any, **__: Any) -> Any:
            self._end.wait()
            raise OSError(name)

        return wait


@pytest.fixture
def end() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_drivers_that_hang_cost_one_time_limit_and_closing_waits_for_none(end: threading.Event) -> None:
    hung: Any = Hung(end)
    windows = WindowsGpuSource(
        WindowsParts(hung, Dxcore(), D3dkmt(hung), PdhCounters(hung), PowerStates(hung), FakeRegistry())
    )
    hung_nvml: Any = SimpleNamespace(
        **{name: getattr(pynvml, name) for name in dir(pynvml) if name.isupper()}
    )
    hung_nvml.NVMLError, hung_nvml.nvmlInit = pynvml.NVMLError, hung.nvmlInit
    gpus = AllGpus({"nvml": NvmlSource(hung_nvml), "windows": windows})
    host = FakeHostSource()
    began = time.monotonic()
    facts = detect(gpus, host, probe_timeout_seconds=0.3)
    gpus.close()
    assert time.monotonic() - began < 2.0
    timed_out = {f.values["probe"] for f in facts.findings if f.code is FindingCode.PROBE_TIMED_OUT}
    assert timed_out == {"driver", "nvml", "windows"}
    assert facts.host == host.host()
    check(facts)


def test_counters_that_hang_do_not_keep_anyone_from_closing(end: threading.Event) -> None:
    hung: Any = Hung(end)
    counters = PdhCounters(hung)
    reader = threading.Thread(target=lambda: _ignore(counters.read), daemon=True)
    reader.start()
    deadline = time.monotonic() + 10.0
    while not counters._lock.locked():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    began = time.monotonic()
    counters.close()
    assert time.monotonic() - began < 1.0
    assert reader.is_alive()


def _ignore(call: Callable[[], object]) -> None:
    try:
        call()
    except (OSError, SourceError, PdhError):
        return


def test_values_of_counters_that_count_nothing_are_none() -> None:
    name = "luid_0x00000000_0x0000D3F1"
    for value in (math.nan, math.inf, -1.0, 1e300):
        reading = pdh.reading_from({path: (CounterItem(name, value),) for path in pdh.PATHS})
        assert reading == pdh.PdhReading()


def test_a_hung_machine_is_told_within_the_limit(
    end: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    gpus = FakeGpuSource((GpuInfo(0, "A card"),))
    gpus.hang = end
    facts = detect(gpus, FakeHostSource(), probe_timeout_seconds=0.2)
    monkeypatch.setattr(doctor, "detect_this_machine", lambda _: facts)
    monkeypatch.setattr(doctor, "with_measured_host", lambda found: found)
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path))
    assert main(["doctor", "--json"]) == 0
    codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert codes.count("probe-timed-out") == 2


def test_drives_that_hang_or_fail_do_not_hide_memory_and_processor(
    end: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_source, "DRIVES_SECONDS", 0.2)
    for disks in (end.wait, Hung(end).anything):
        monkeypatch.setattr(host_source, "_disks", disks)
        began = time.monotonic()
        host = PsutilHostSource().host()
        assert time.monotonic() - began < 3.0
        assert host.disks == ()
        assert host.ram_total_bytes
        assert host.cpu.logical_cores


def test_a_local_drive_that_hangs_is_left_out_and_the_others_stay(
    end: threading.Event, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(drives, "LOCAL_SECONDS", 0.3)
    usage = drives._usage
    monkeypatch.setattr(drives, "_usage", lambda mount: end.wait() if "hung" in mount.path else usage(mount))
    mounts = [Mount("/hung", "/dev/sdx", "ext4"), Mount("/hung2", "/dev/sdy", "ext4"), Mount(str(tmp_path))]
    began = time.monotonic()
    assert [disk.mount for disk in drives.disk_infos(mounts)] == [str(tmp_path)]
    assert time.monotonic() - began < 2.0
