"""LinuxSurroundings on written trees."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.hardware.linux_surroundings import LinuxSurroundings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="looks at Linux' own files")


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def test_runtimes_toolkits_and_the_vulkan_library_are_told_apart(tmp_path: Path) -> None:
    files = dict.fromkeys(
        (
            "usr/lib/x86_64-linux-gnu/libcudart.so.12",
            "usr/lib/x86_64-linux-gnu/libcudart.so.12.4.127",
            "usr/lib64/libvulkan.so.1",
            "usr/local/cuda-13.0/version.json",
            "usr/local/cuda-9.2/version.json",
            "extra/libcudart.so.13",
        ),
        "",
    )
    environment = {"LD_LIBRARY_PATH": f"{tmp_path}/extra:", "CUDA_VISIBLE_DEVICES": "1,0", "HOME": "/x"}
    runtime = LinuxSurroundings(write(tmp_path, files), environment).runtime()
    assert runtime.cuda_runtimes == ("12", "12.4", "13")
    assert runtime.cuda_toolkits == ("9.2", "13.0")
    assert runtime.has_vulkan_loader
    assert runtime.gpu_variables == (("CUDA_VISIBLE_DEVICES", "1,0"),)


def test_a_bare_system_has_none_of_them(tmp_path: Path) -> None:
    runtime = LinuxSurroundings(tmp_path, {}).runtime()
    assert (runtime.cuda_runtimes, runtime.cuda_toolkits, runtime.has_vulkan_loader) == ((), (), False)
    system = LinuxSurroundings(tmp_path, {}).system()
    assert (system.virtual_machine, system.is_wsl, system.on_battery) == (None, False, None)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "Standard PC"}, "qemu"),
        ({"sys/class/dmi/id/product_name": "VMware Virtual Platform"}, "vmware"),
        ({"sys/class/dmi/id/product_name": "Virtual Machine"}, "hyper-v"),
        ({"proc/cpuinfo": "flags\t: fpu avx2 hypervisor lahf_lm\n"}, "hypervisor"),
        ({"sys/class/dmi/id/sys_vendor": "LENOVO", "proc/cpuinfo": "flags\t: fpu avx2\n"}, ""),
    ],
)
def test_what_runs_the_system_is_named(tmp_path: Path, files: dict[str, str], name: str) -> None:
    assert LinuxSurroundings(write(tmp_path, files), {}).system().virtual_machine == name


def test_linux_inside_windows_is_that_and_no_virtual_machine(tmp_path: Path) -> None:
    files = {
        "proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2",
        "proc/cpuinfo": "flags\t: fpu hypervisor\n",
    }
    system = LinuxSurroundings(write(tmp_path, files), {}).system()
    assert (system.is_wsl, system.virtual_machine) == (True, "")


@pytest.mark.parametrize(
    ("files", "on_battery"),
    [
        ({"AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery", "BAT0/status": "Charging"}, False),
        ({"AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, True),
        ({"BAT0/type": "Battery", "BAT0/status": "Full"}, False),
        # a mouse's battery is not the computer's
        ({"hid/type": "Battery", "hid/scope": "Device", "hid/status": "Discharging"}, None),
        ({"AC/type": "Mains", "AC/online": "0"}, True),
    ],
)
def test_power_comes_from_the_battery_or_not(
    tmp_path: Path, files: dict[str, str], on_battery: bool | None
) -> None:
    supplies = {f"sys/class/power_supply/{name}": text for name, text in files.items()}
    assert LinuxSurroundings(write(tmp_path, supplies), {}).system().on_battery is on_battery
