"""WindowsSurroundings: what engines need, what runs the machine, what guards it: from files and registry."""

import ctypes
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.windows_runtime import (
    BIOS_KEY,
    CUDA_KEY,
    DEFENDER_KEY,
    DEFENDER_POLICY_KEY,
    FOLDER_GUARD,
    SMART_APP_CONTROL_KEY,
    VC_LIBRARIES,
    VC_RUNTIME_KEY,
    PowerStatus,
    WindowsSurroundings,
    cublas_versions,
    cuda_runtimes,
    guards_folders,
    has_antivirus_guard,
    installed_toolkits,
    on_battery,
    smart_app_control,
    vc_runtime_version,
    virtual_machine,
)
from tests.windows_answers import FakeRegistry


def test_the_power_status_has_the_layout_of_windows() -> None:
    assert ctypes.sizeof(PowerStatus) == 12
    assert PowerStatus.battery_seconds.offset == 4


@pytest.fixture
def system_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Windows" / "System32"
    folder.mkdir(parents=True)
    return folder


def surroundings(folder: Path, registry: FakeRegistry | None = None, **variables: str) -> WindowsSurroundings:
    environment = {"SystemRoot": str(folder.parent), **variables}
    return WindowsSurroundings(registry or FakeRegistry(), environment, lambda: b"\1" * 12, lambda: None)


def test_a_bare_windows_lacks_all_and_says_so(system_folder: Path) -> None:
    facts = surroundings(system_folder).runtime()
    assert (facts.cuda_runtimes, facts.cuda_toolkits, facts.vc_runtime_version) == ((), (), None)
    assert facts.missing_vc_libraries == VC_LIBRARIES
    assert facts.has_vulkan_loader is False


def test_a_full_one_has_all(system_folder: Path) -> None:
    for name in (*VC_LIBRARIES, "vulkan-1.dll", "cudart64_12.dll"):
        (system_folder / name).touch()
    toolkit = system_folder.parent / "toolkit bin"
    toolkit.mkdir()
    (toolkit / "CUDART64_13.DLL").touch()
    registry = FakeRegistry({VC_RUNTIME_KEY: {"Installed": 1, "Version": "v14.44.35211.00"}})
    path = os.pathsep.join((f'"{toolkit}"', str(toolkit / "gone"), ""))
    facts = surroundings(system_folder, registry, PATH=path, CUDA_VISIBLE_DEVICES="").runtime()
    assert facts.cuda_runtimes == ("12", "13")
    assert (facts.vc_runtime_version, facts.missing_vc_libraries) == ("14.44.35211.00", ())
    assert facts.has_vulkan_loader is True
    assert facts.gpu_variables == (("CUDA_VISIBLE_DEVICES", ""),)


def test_without_a_name_for_its_folder_windows_is_not_searched() -> None:
    facts = WindowsSurroundings(FakeRegistry(), {}, lambda: None).runtime()
    assert (facts.missing_vc_libraries, facts.has_vulkan_loader) == (None, None)


def test_libraries_beside_an_engine_are_told_by_their_names(tmp_path: Path) -> None:
    for name in (
        "cudart64_12.dll",
        "cublas64_12.dll",
        "cublasLt64_12.dll",
        "ggml-cuda.dll",
        "cudart64_x.dll",
    ):
        (tmp_path / name).touch()
    assert cuda_runtimes([tmp_path]) == ("12",)
    assert cublas_versions([tmp_path, tmp_path / "gone"]) == ("12",)


def test_toolkits_come_from_registry_and_environment_in_order() -> None:
    registry = FakeRegistry({rf"{CUDA_KEY}\v12.4": {}, rf"{CUDA_KEY}\v9.2": {}, rf"{CUDA_KEY}\other": {}})
    variables = {"CUDA_PATH": "C:\\x", "CUDA_PATH_V12_4": "C:\\x", "CUDA_PATH_V13_0": "C:\\y"}
    assert installed_toolkits(registry, variables) == ("9.2", "12.4", "13.0")


@pytest.mark.parametrize(
    "values", [{}, {"Installed": 0, "Version": "v14"}, {"Installed": 1}, {"Installed": 1, "Version": "v"}]
)
def test_a_runtime_that_is_not_installed_has_no_version(values: dict[str, object]) -> None:
    assert vc_runtime_version(FakeRegistry({VC_RUNTIME_KEY: values})) is None


@pytest.mark.parametrize(
    ("maker", "product", "machine"),
    [
        ("Microsoft Corporation", "Virtual Machine", "hyper-v"),
        ("Microsoft Corporation", "Surface Laptop 7", ""),
        ("VMware, Inc.", "VMware20,1", "vmware"),
        ("innotek GmbH", "VirtualBox", "virtualbox"),
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "qemu"),
        ("ASUS", "ROG STRIX", ""),
        (None, 3, None),
    ],
)
def test_firmware_names_what_runs_the_machine(maker: object, product: object, machine: str | None) -> None:
    names = {"SystemManufacturer": maker, "SystemProductName": product}
    assert virtual_machine(names) == machine


@pytest.mark.parametrize(
    ("state", "word"), [(0, "off"), (1, "on"), (2, "evaluation"), (9, None), (None, None)]
)
def test_smart_app_control_is_one_of_three_or_not_there(state: object, word: str | None) -> None:
    registry = FakeRegistry({SMART_APP_CONTROL_KEY: {"VerifiedAndReputablePolicyState": state}})
    assert smart_app_control(registry) == word


REAL_TIME = r"\Real-Time Protection"


@pytest.mark.parametrize(
    ("keys", "guards"),
    [
        ({}, None),
        ({DEFENDER_KEY: {"ProductStatus": 0}}, True),
        ({DEFENDER_KEY + REAL_TIME: {}}, True),
        ({DEFENDER_KEY: {}, DEFENDER_KEY + REAL_TIME: {"DisableRealtimeMonitoring": 1}}, False),
        ({DEFENDER_KEY: {"PassiveMode": 1}}, False),
        ({DEFENDER_KEY: {"x": 1}, DEFENDER_POLICY_KEY: {"DisableAntiSpyware": 1}}, False),
    ],
)
def test_defender_guards_unless_something_switched_it_off(
    keys: dict[str, dict[str, object]], guards: bool | None
) -> None:
    assert has_antivirus_guard(FakeRegistry(keys)) is guards


@pytest.mark.parametrize(("state", "guards"), [(0, False), (1, True), (2, False), (None, None)])
def test_protected_folders_are_told(state: object, guards: bool | None) -> None:
    registry = FakeRegistry({DEFENDER_KEY + FOLDER_GUARD: {"EnableControlledFolderAccess": state}})
    assert guards_folders(registry) is guards


@pytest.mark.parametrize(("line", "expected"), [(0, True), (1, False), (255, None)])
def test_the_power_line_decides_about_battery(line: int, expected: bool | None) -> None:
    assert on_battery(bytes([line]) + bytes(11)) is expected


def test_where_it_runs_is_put_together(system_folder: Path) -> None:
    registry = FakeRegistry(
        {
            BIOS_KEY: {"SystemManufacturer": "QEMU"},
            SMART_APP_CONTROL_KEY: {"VerifiedAndReputablePolicyState": 1},
        }
    )
    facts = surroundings(system_folder, registry).system()
    assert (facts.virtual_machine, facts.is_wsl, facts.on_battery) == ("qemu", False, False)
    assert (facts.smart_app_control, facts.has_antivirus_guard, facts.guards_folders) == ("on", None, None)


def test_wine_is_named_and_no_virtual_machine_is_made_of_it() -> None:
    facts = WindowsSurroundings(FakeRegistry(), {}, lambda: None, lambda: "10.0").system()
    assert (facts.wine_version, facts.virtual_machine, facts.on_battery) == ("10.0", None, None)


@given(st.binary(max_size=20))
def test_any_bytes_of_power_are_yes_no_or_unknown(status: bytes) -> None:
    assert on_battery(status) in (True, False, None)
