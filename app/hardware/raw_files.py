"""The files of Linux that facts are made of, as they are: from them a report shows what was read wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app.hardware.raw_answers import RawAnswers
from app.hardware.sysfs import entries, read_bytes, read_text

SOURCE: Final = "files"
_LONGEST: Final = 4096

_ANYWHERE: Final = (
    *("proc/meminfo", "proc/self/cgroup", "proc/driver/nvidia/version"),
    *("proc/driver/nvidia/gpus/*/information", "sys/devices/system/cpu/online"),
    *("sys/devices/cpu_core/cpus", "sys/devices/cpu_atom/cpus", "sys/fs/cgroup/memory.max"),
    *("sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.stat", "sys/class/power_supply/*/type"),
    *("sys/class/power_supply/*/online", "sys/class/power_supply/*/status"),
    *("sys/class/power_supply/*/scope", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"),
    *("sys/class/dmi/id/bios_vendor", "sys/block/[!lzr]*/queue/rotational", "sys/block/[!lzr]*/removable"),
    *("sys/block/[!lzr]*/size", "sys/devices/system/cpu/cpu0/cache/index*/size"),
    *("sys/devices/system/cpu/cpu*/topology/core_cpus_list", "sys/devices/system/cpu/cpu*/cpu_capacity"),
    *("sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",),
    *("sys/class/kfd/kfd/topology/nodes/*/properties", "sys/class/drm/card*-*/status"),
)
"""No serial number, no list of mounts; of block devices none that lies in a file or in RAM."""

_OF_CARDS: Final = (
    *("vendor", "device", "class", "revision", "power/runtime_status", "power/control"),
    *("product_name", "mem_info_*", "gpu_busy_percent", "pp_dpm_sclk", "hwmon/hwmon*/name"),
    *("hwmon/hwmon*/*_input", "hwmon/hwmon*/*_average", "hwmon/hwmon*/*_cap", "hwmon/hwmon*/*_label"),
    *("ip_discovery/die/0/GC/0/*", "../drm/card*/gt_*_freq_mhz", "tile*/gt*/freq*/*_freq"),
)
_OF_SLEEPING_CARDS: Final = _OF_CARDS[:6]
"""What the kernel knows without asking the card, which would wake it."""


def add_files(raw: RawAnswers, root: Path = Path("/")) -> None:
    """Keep what the files say; a file that is not there, or cannot be read, is left out."""
    for file in _files(root):
        content = read_bytes(file)
        if content is not None:
            text = content[:_LONGEST].decode("utf-8", errors="replace").strip("\0\n")
            raw.add(SOURCE, f"/{file.relative_to(root).as_posix()}", text)
    if processor := _first_processor(root):
        raw.add(SOURCE, "/proc/cpuinfo", processor)


def _files(root: Path) -> Iterator[Path]:
    for pattern in _ANYWHERE:
        yield from entries(root, pattern)
    for card in entries(root / "sys" / "class" / "drm", "card[0-9]*"):
        device = card / "device"
        is_asleep = read_text(device / "power" / "runtime_status") == "suspended"
        for pattern in _OF_SLEEPING_CARDS if is_asleep else _OF_CARDS:
            yield from entries(device, pattern)


def _first_processor(root: Path) -> str:
    content = read_bytes(root / "proc" / "cpuinfo") or b""
    return content.split(b"\n\n", 1)[0].decode("utf-8", errors="replace")
