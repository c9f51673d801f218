"""The Windows adapters against Windows itself, or Wine: real calls, and truth about what is not there."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.hardware.d3dkmt import D3dkmt, KmtReading, WindowsKmt
from app.hardware.dxcore import Dxcore
from app.hardware.dxgi import DxgiSource
from app.hardware.pdh import PdhCounters
from app.hardware.pdh_library import PdhError, WindowsPdh
from app.hardware.ports import SourceError
from app.hardware.windows_gpus import WindowsGpuSource
from app.hardware.windows_library import load_system_library, parse_luid
from app.hardware.windows_power import POWER_DATA, PowerStates, WindowsDevices, parse_power
from app.hardware.windows_registry import WindowsRegistry
from app.hardware.windows_runtime import (
    PowerStatus,
    WindowsSurroundings,
    read_power_status,
    read_wine_version,
)

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="asks Windows itself")

ROOT = Path(__file__).resolve().parents[3]
NOBODY = "0x7FFFFFFF_0x7FFFFFFF"
IS_WINE = read_wine_version() is not None

LIST_CARDS = """
import json
from dataclasses import asdict
from app.hardware.windows_gpus import WindowsGpuSource
source = WindowsGpuSource()
print(json.dumps([[asdict(gpu), asdict(source.read(gpu.index))] for gpu in source.gpus()]))
source.close()
"""


def answer_of(code: str, **variables: str) -> Any:
    """Return what a Python of its own prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def test_cards_are_listed_or_windows_says_why_not() -> None:
    try:
        cards = DxgiSource().adapters()
    except SourceError as reason:
        assert reason.reason == "start-failed"
    else:
        assert all(parse_luid(card.luid).text() == card.luid for card in cards)


@pytest.mark.skipif(not IS_WINE, reason="Wine has a card without a screen and a driver")
def test_a_real_table_of_methods_gives_a_card() -> None:
    ((gpu, sample),) = answer_of(LIST_CARDS, WINE_D3D_CONFIG="renderer=no3d")
    assert gpu["name"]
    assert parse_luid(gpu["luid"]).text() == gpu["luid"]
    assert gpu["source"] == "dxgi"
    assert gpu["vram_total_bytes"] > 0
    assert gpu["shared_total_bytes"] > 0
    # Wine has no counters of GPUs and no sensors
    assert (gpu["vram_free_bytes"], sample["temperature_celsius"], sample["utilization_percent"]) == (
        None,
    ) * 3


def test_an_adapter_that_is_not_there_has_no_facts() -> None:
    assert Dxcore().is_integrated(NOBODY) is None
    kernel = D3dkmt()
    assert kernel.read(NOBODY) == KmtReading()
    assert kernel.adapter(NOBODY).pci_bus_id is None


def test_the_kernels_functions_are_found_or_said_to_be_missing() -> None:
    try:
        WindowsKmt()
    except SourceError as reason:
        assert reason.reason == "function-missing"  # Wine before 9


def test_a_query_of_counters_opens_samples_and_closes() -> None:
    library = WindowsPdh()
    query = library.open()
    counter = library.add(query, r"\Processor(_Total)\% Processor Time")
    library.collect(query)
    library.remove(counter)
    library.close(query)


def test_a_counter_that_does_not_exist_is_an_error_with_its_number() -> None:
    library = WindowsPdh()
    query = library.open()
    with pytest.raises(PdhError) as caught:
        library.add(query, r"\Moxie(*)\Nothing")
    assert caught.value.status >= 0xC0000000
    library.close(query)


@pytest.mark.skipif(not IS_WINE, reason="Windows has them")
def test_counters_that_are_not_there_are_none() -> None:
    counters = PdhCounters()
    for _ in range(2):
        reading = counters.read()
        assert (reading.adapters, reading.processes, reading.pages_input_per_second) == ({}, (), None)
    counters.close()


def test_the_source_of_all_cards_lists_what_there_is() -> None:
    source = WindowsGpuSource(process_ids=lambda: [os.getpid()])
    gpus = source.gpus()
    assert [gpu.index for gpu in gpus] == list(range(len(gpus)))
    assert all(source.read(gpu.index).index == gpu.index for gpu in gpus if gpu.source == "dxgi")
    source.close()


def test_the_registry_is_read_without_rights() -> None:
    registry = WindowsRegistry()
    version = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
    assert registry.values(version)["CurrentBuild"]
    assert registry.subkeys("SOFTWARE")
    assert registry.values(r"SAM\SAM") == {}


def test_what_lies_around_is_stated() -> None:
    runtime = WindowsSurroundings().runtime()
    system_folder = Path(os.environ["SYSTEMROOT"]) / "System32"
    assert runtime.has_vulkan_loader is (system_folder / "vulkan-1.dll").is_file()
    assert runtime.missing_vc_libraries is not None
    assert all(not (system_folder / name).exists() for name in runtime.missing_vc_libraries)
    system = WindowsSurroundings().system()
    assert system.is_wsl is False
    assert bool(system.wine_version) is IS_WINE


def test_the_device_manager_lists_displays_and_knows_no_card_off_the_bus() -> None:
    devices = WindowsDevices()
    for device in devices.display_devices():
        power = devices.value(device, POWER_DATA)
        assert power is None or parse_power(power) in (True, False, None)
    assert PowerStates().is_asleep("00000000:FF:1F.7") is None


def test_the_power_status_has_the_size_windows_writes() -> None:
    status = read_power_status()
    assert status is not None
    assert PowerStatus.from_buffer_copy(status).ac_line in (0, 1, 255)


def test_only_libraries_of_windows_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moxie_planted.dll").write_bytes(b"MZ")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        load_system_library("moxie_planted.dll")
    assert caught.value.reason == "library-missing"


def test_pointers_have_64_bits() -> None:
    assert ctypes.sizeof(ctypes.c_void_p) == 8
