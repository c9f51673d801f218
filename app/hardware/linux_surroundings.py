"""Libraries, environment, firmware and power of Linux -> what engines need, and where the system runs."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.hardware.facts import RuntimeFacts, SystemFacts
from app.hardware.sysfs import entries, read_number, read_text

GPU_VARIABLES: Final = (
    *("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("GPU_DEVICE_ORDINAL", "GGML_VK_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"),
)
"""Each narrows what some engine sees."""

_LIBRARY_FOLDERS: Final = (
    *("usr/lib64", "usr/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib/wsl/lib"),
    *("usr/local/lib", "usr/local/lib64", "opt/cuda/lib64", "usr/local/cuda/lib64"),
)
_CUDA_RUNTIME: Final = re.compile(r"libcudart\.so\.(\d+(?:\.\d+)?)")
_TOOLKIT: Final = re.compile(r"cuda-(\d+\.\d+)")
_MACHINES: Final[tuple[tuple[str, str], ...]] = (
    ("kvm", "kvm"),
    ("qemu", "qemu"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("xen", "xen"),
    ("parallels", "parallels"),
    ("bochs", "bochs"),
    ("amazon ec2", "amazon ec2"),
    ("google compute engine", "google compute engine"),
    ("virtual machine", "hyper-v"),
)
"""Word in the firmware's names -> what the machine is run by."""

_UNNAMED_MACHINE: Final = "hypervisor"


class LinuxSurroundings:
    """Looks at files; needs no rights. Any thread."""

    def __init__(self, root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> None:
        """Look at nothing yet. `root` is where the system lies."""
        self._root = root
        self._environment = os.environ if environment is None else environment

    def runtime(self) -> RuntimeFacts:
        """Return what engines need beside a driver."""
        folders = [self._root / folder for folder in _LIBRARY_FOLDERS]
        searched = self._environment.get("LD_LIBRARY_PATH", "").split(":")
        folders += [Path(folder) for folder in searched if folder.startswith("/")]
        libraries = [file.name for folder in folders for file in entries(folder, "libcudart.so.*")]
        toolkits = [folder.name for folder in entries(self._root / "usr" / "local", "cuda-*")]
        return RuntimeFacts(
            cuda_runtimes=_versions(_CUDA_RUNTIME, libraries),
            cuda_toolkits=_versions(_TOOLKIT, toolkits),
            has_vulkan_loader=any((folder / "libvulkan.so.1").exists() for folder in folders),
            gpu_variables=tuple(
                (name, self._environment[name]) for name in GPU_VARIABLES if name in self._environment
            ),
        )

    def system(self) -> SystemFacts:
        """Return where the system runs."""
        is_wsl = "microsoft" in (read_text(self._root / "proc/sys/kernel/osrelease") or "").lower()
        return SystemFacts(
            virtual_machine="" if is_wsl else self._virtual_machine(),
            is_wsl=is_wsl,
            on_battery=self._on_battery(),
        )

    def _virtual_machine(self) -> str | None:
        firmware = self._root / "sys" / "class" / "dmi" / "id"
        names = [read_text(firmware / name) or "" for name in ("sys_vendor", "product_name", "bios_vendor")]
        told = " ".join(names).lower()
        named = next((name for word, name in _MACHINES if word in told), None)
        flags = re.search(r"^flags\s*:.*\bhypervisor\b", self._processors(), re.MULTILINE)
        if named or flags:
            return named or _UNNAMED_MACHINE
        return "" if told.strip() or self._processors() else None

    def _processors(self) -> str:
        return read_text(self._root / "proc" / "cpuinfo") or ""

    def _on_battery(self) -> bool | None:
        """Return True when mains is off, or when there is none and a battery is being emptied."""
        mains: list[bool] = []
        for supply in entries(self._root / "sys" / "class" / "power_supply", "*"):
            kind = read_text(supply / "type")
            if kind in ("Mains", "USB") and (online := read_number(supply / "online")) is not None:
                mains.append(bool(online))
            if kind == "Battery" and read_text(supply / "scope") != "Device":
                if read_text(supply / "status") == "Discharging":
                    return True
                mains.append(True)
        return None if not mains else not any(mains)


def _versions(pattern: re.Pattern[str], names: list[str]) -> tuple[str, ...]:
    found = {match[1] for name in names if (match := pattern.match(name))}
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))
