"""The machine as lines of the hardware card. Pure but for the language."""

from dataclasses import dataclass
from typing import Final

from app.hardware.facts import CpuInfo, DiskInfo, DriverInfo, GpuInfo, HardwareFacts, HostInfo
from app.ui.theme.look import Look

GIB: Final = 1024**3
GOOD_VRAM_BYTES: Final = 6 * GIB
GOOD_RAM_BYTES: Final = 15 * GIB
"""A PC sold with 16 GB reports a little less."""
GOOD_DISK_BYTES: Final = 20 * GIB
GOOD_CUDA: Final = (12, 0)
_SETS: Final = (("avx512f", "AVX-512"), ("avx512", "AVX-512"), ("avx2", "AVX2"), ("neon", "NEON"))
_MOST_GPUS: Final = 2


@dataclass(frozen=True, slots=True)
class HardwareRow:
    """One line.

    Attributes:
        is_good: Nothing here limits a big model; False says no more than "look at the figure".
    """

    icon_name: str
    title: str
    detail: str
    is_good: bool


def hardware_rows(look: Look, hardware: HardwareFacts) -> tuple[HardwareRow, ...]:
    """Return GPU, RAM, processor, disk and driver, as far as the machine has them."""
    rows = [_gpu_row(look, gpu) for gpu in hardware.gpus[:_MOST_GPUS]]
    if not rows:
        title, detail = look.text("ui.hardware.no_gpu"), look.text("ui.hardware.no_gpu_detail")
        rows = [HardwareRow("gpu", title, detail, is_good=False)]
    if hardware.host is not None:
        rows += _host_rows(look, hardware.host)
    if hardware.driver is not None and hardware.driver.version is not None:
        rows.append(_driver_row(look, hardware.driver))
    return tuple(rows)


def _gpu_row(look: Look, gpu: GpuInfo) -> HardwareRow:
    total, free = gpu.vram_total_bytes, gpu.vram_free_bytes
    if gpu.is_integrated:
        detail = look.text("ui.hardware.gpu_shared")
    elif total is None:
        detail = look.text("ui.hardware.gpu_unknown")
    elif free is None:
        detail = look.text("ui.hardware.gpu_total", total=total)
    else:
        detail = look.text("ui.hardware.gpu_memory", total=total, free=free)
    is_good = not gpu.is_integrated and (total or 0) >= GOOD_VRAM_BYTES
    return HardwareRow("gpu", gpu.name, detail, is_good=is_good)


def _host_rows(look: Look, host: HostInfo) -> list[HardwareRow]:
    rows = []
    if host.ram_total_bytes is not None:
        title = look.text("ui.hardware.ram", total=host.ram_total_bytes)
        detail = look.text("ui.hardware.ram_free", free=host.ram_available_bytes)
        rows.append(HardwareRow("ram", title, detail, is_good=host.ram_total_bytes >= GOOD_RAM_BYTES))
    rows.append(_cpu_row(look, host.cpu))
    roomiest = max(host.disks, key=lambda disk: disk.free_bytes, default=None)
    if roomiest is not None:
        rows.append(_disk_row(look, roomiest))
    return rows


def _cpu_row(look: Look, cpu: CpuInfo) -> HardwareRow:
    known = {name.replace("_", "").lower() for name in cpu.instruction_sets}
    sets = list(dict.fromkeys(shown for name, shown in _SETS if name in known))
    key = "ui.hardware.cores_with" if sets else "ui.hardware.cores"
    cores = cpu.physical_cores or cpu.logical_cores
    detail = look.text(key, cores=cores, sets=tuple(reversed(sets)))
    return HardwareRow("cpu", cpu.name or look.text("ui.hardware.cpu_unknown"), detail, is_good=bool(sets))


def _disk_row(look: Look, disk: DiskInfo) -> HardwareRow:
    title = look.text("ui.hardware.disk", mount=disk.mount, free=disk.free_bytes)
    detail = look.text("ui.hardware.disk_total", total=disk.total_bytes)
    return HardwareRow("disk", title, detail, is_good=disk.free_bytes >= GOOD_DISK_BYTES)


def _driver_row(look: Look, driver: DriverInfo) -> HardwareRow:
    detail = look.text("ui.hardware.driver_detail")
    if driver.cuda_version is None:
        title = look.text("ui.hardware.driver", version=driver.version)
        return HardwareRow("wrench", title, detail, is_good=False)
    cuda = ".".join(map(str, driver.cuda_version))
    title = look.text("ui.hardware.driver_cuda", version=driver.version, cuda=cuda)
    return HardwareRow("wrench", title, detail, is_good=driver.cuda_version >= GOOD_CUDA)
