"""Files, registry and power state of Windows -> what engines need beside a driver, and where it runs."""

import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from app.hardware.facts import RuntimeFacts, SystemFacts
from app.hardware.ports import SourceError
from app.hardware.windows_library import find_function, load_system_library
from app.hardware.windows_registry import RegistryReader, WindowsRegistry

VC_RUNTIME_KEY: Final = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\x64"
CUDA_KEY: Final = r"SOFTWARE\NVIDIA Corporation\GPU Computing Toolkit\CUDA"
BIOS_KEY: Final = r"HARDWARE\DESCRIPTION\System\BIOS"
SMART_APP_CONTROL_KEY: Final = r"SYSTEM\CurrentControlSet\Control\CI\Policy"
DEFENDER_KEY: Final = r"SOFTWARE\Microsoft\Windows Defender"
DEFENDER_POLICY_KEY: Final = r"SOFTWARE\Policies\Microsoft\Windows Defender"
FOLDER_GUARD: Final = r"\Windows Defender Exploit Guard\Controlled Folder Access"

VC_LIBRARIES: Final = ("vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll", "vcomp140.dll")
VULKAN_LOADER: Final = "vulkan-1.dll"

SMART_APP_CONTROL: Final[Mapping[object, str]] = {0: "off", 1: "on", 2: "evaluation"}

GPU_VARIABLES: Final = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GGML_VK_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)
"""Each narrows what some engine sees."""

_MACHINES: Final[tuple[tuple[str, str], ...]] = (
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("qemu", "qemu"),
    ("kvm", "kvm"),
    ("xen", "xen"),
    ("parallels", "parallels"),
    ("bochs", "bochs"),
    ("amazon ec2", "amazon ec2"),
    ("google compute engine", "google compute engine"),
    ("virtual machine", "hyper-v"),
)
"""Word in the firmware's names of maker and product -> what the machine is run by."""

_ON_BATTERY: Final = 0
_ON_MAINS: Final = 1
_CUDA_RUNTIME: Final = re.compile(r"cudart64_(\d+)\.dll", re.IGNORECASE)
_CUBLAS: Final = re.compile(r"cublas64_(\d+)\.dll", re.IGNORECASE)
_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+)+)", re.IGNORECASE)
_TOOLKIT_VARIABLE: Final = re.compile(r"CUDA_PATH_V(\d+)_(\d+)", re.IGNORECASE)


class PowerStatus(ctypes.Structure):
    """SYSTEM_POWER_STATUS of winbase.h."""

    _fields_ = [
        ("ac_line", ctypes.c_uint8),
        ("battery_flag", ctypes.c_uint8),
        ("battery_percent", ctypes.c_uint8),
        ("system_status", ctypes.c_uint8),
        ("battery_seconds", ctypes.c_uint32),
        ("battery_full_seconds", ctypes.c_uint32),
    ]


class WindowsSurroundings:
    """Looks at files, the registry and the power state; needs no rights. Any thread."""

    def __init__(
        self,
        registry: RegistryReader | None = None,
        environment: Mapping[str, str] | None = None,
        power_status: Callable[[], bytes | None] | None = None,
        wine_version: Callable[[], str | None] | None = None,
    ) -> None:
        """Look at nothing yet; each stands in for the system's own."""
        self._registry = registry or WindowsRegistry()
        self._environment = os.environ if environment is None else environment
        self._power_status = power_status or read_power_status
        self._wine_version = wine_version or read_wine_version

    def runtime(self) -> RuntimeFacts:
        """Return what engines need beside a driver."""
        system = self._system_folder()
        toolkits = installed_toolkits(self._registry, self._environment)
        return RuntimeFacts(
            cuda_runtimes=cuda_runtimes(self._search_folders()),
            cuda_toolkits=toolkits,
            vc_runtime_version=vc_runtime_version(self._registry),
            missing_vc_libraries=None if system is None else missing_files(system, VC_LIBRARIES),
            has_vulkan_loader=None if system is None else (system / VULKAN_LOADER).is_file(),
            gpu_variables=tuple(
                (name, self._environment[name]) for name in GPU_VARIABLES if name in self._environment
            ),
        )

    def system(self) -> SystemFacts:
        """Return where the system runs, and what guards it."""
        status = self._power_status()
        return SystemFacts(
            virtual_machine=virtual_machine(self._registry.values(BIOS_KEY)),
            is_wsl=False,
            on_battery=None if status is None else on_battery(status),
            smart_app_control=smart_app_control(self._registry),
            has_antivirus_guard=has_antivirus_guard(self._registry),
            guards_folders=guards_folders(self._registry),
            wine_version=self._wine_version() or "",
        )

    def _system_folder(self) -> Path | None:
        root = self._environment.get("SystemRoot") or self._environment.get("windir")
        return Path(root) / "System32" if root else None

    def _search_folders(self) -> Iterable[Path]:
        # where Windows looks for a library that does not lie beside the program
        system = self._system_folder()
        folders = [] if system is None else [system]
        paths = self._environment.get("PATH", "").split(os.pathsep)
        return [*folders, *(Path(path.strip('"')) for path in paths if path.strip('"'))]


def cuda_runtimes(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the versions of the CUDA runtime in these folders, e.g. `12`, oldest first."""
    return _versions(folders, _CUDA_RUNTIME)


def cublas_versions(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the versions of cuBLAS in these folders: a CUDA engine needs it as much as the runtime."""
    return _versions(folders, _CUBLAS)


def missing_files(folder: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that the folder does not have."""
    return tuple(name for name in names if not (folder / name).is_file())


def vc_runtime_version(registry: RegistryReader) -> str | None:
    """Return the installed Visual C++ runtime, e.g. `14.44.35211.00`."""
    values = registry.values(VC_RUNTIME_KEY)
    version = values.get("Version")
    if values.get("Installed") != 1 or not isinstance(version, str):
        return None
    return version.removeprefix("v") or None


def installed_toolkits(registry: RegistryReader, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the CUDA toolkits that are installed, e.g. `12.4`, oldest first. No engine needs one."""
    found = {match[1] for key in registry.subkeys(CUDA_KEY) if (match := _VERSION.fullmatch(key))}
    for name in environment:
        if match := _TOOLKIT_VARIABLE.fullmatch(name):
            found.add(f"{match[1]}.{match[2]}")
    return tuple(sorted(found, key=_order))


def virtual_machine(bios: Mapping[str, object]) -> str | None:
    """Return what runs the machine, by its firmware's names; empty for real hardware, None without names."""
    names = [bios.get(name) for name in ("SystemManufacturer", "SystemProductName", "BIOSVendor")]
    text = " ".join(name for name in names if isinstance(name, str)).strip().lower()
    if not text:
        return None
    return next((machine for word, machine in _MACHINES if word in text), "")


def smart_app_control(registry: RegistryReader) -> str | None:
    """Return `on`, `evaluation` or `off`; None before Windows 11 22H2."""
    return SMART_APP_CONTROL.get(
        registry.values(SMART_APP_CONTROL_KEY).get("VerifiedAndReputablePolicyState")
    )


def has_antivirus_guard(registry: RegistryReader) -> bool | None:
    """Return whether Defender guards in real time; None where it is not there to ask."""
    state = registry.values(DEFENDER_KEY)
    if not state and not registry.subkeys(DEFENDER_KEY):
        return None
    policy = registry.values(DEFENDER_POLICY_KEY)
    guards = (
        registry.values(rf"{DEFENDER_KEY}\Real-Time Protection"),
        registry.values(rf"{DEFENDER_POLICY_KEY}\Real-Time Protection"),
    )
    is_off = any(values.get("DisableAntiSpyware") == 1 for values in (state, policy))
    is_passive = state.get("PassiveMode") in (1, 2)
    return not (is_off or is_passive or any(v.get("DisableRealtimeMonitoring") == 1 for v in guards))


def guards_folders(registry: RegistryReader) -> bool | None:
    """Return whether programs that Windows does not know are kept from writing documents."""
    # 2 only writes what would be blocked into a log
    for root in (DEFENDER_POLICY_KEY, DEFENDER_KEY):
        state = registry.values(root + FOLDER_GUARD).get("EnableControlledFolderAccess")
        if isinstance(state, int):
            return state == 1
    return None


def on_battery(status: bytes) -> bool | None:
    """Return what a SYSTEM_POWER_STATUS says; None when it does not know."""
    try:
        line = PowerStatus.from_buffer_copy(status).ac_line
    except ValueError:
        return None
    return {_ON_BATTERY: True, _ON_MAINS: False}.get(line)


def read_power_status() -> bytes | None:
    """Return the SYSTEM_POWER_STATUS of now; None when Windows gives none."""
    if sys.platform != "win32":
        return None
    status = PowerStatus()
    if not ctypes.windll.kernel32.GetSystemPowerStatus(ctypes.byref(status)):
        return None
    return bytes(status)


def read_wine_version() -> str | None:
    """Return e.g. `10.0` where this Windows is Wine: its drivers are Linux's."""
    try:
        ask = find_function(load_system_library("ntdll.dll"), "wine_get_version", ctypes.c_char_p)
    except SourceError:
        return None
    version = ask()
    return version.decode("ascii", "replace") if version else "?"


def _versions(folders: Iterable[Path], name: re.Pattern[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for folder in folders:
        try:
            files = os.listdir(folder)  # noqa: PTH208 names only: a folder of the path may hold thousands
        except (OSError, ValueError):
            continue
        found.update(match[1] for file in files if (match := name.fullmatch(file)))
    return tuple(sorted(found, key=_order))


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
