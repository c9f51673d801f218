"""The machine as lines of the hardware card. Pure but for the language."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from app.findings import Finding, FindingCode, Severity
from app.hardware.facts import CpuInfo, DiskInfo, DriverInfo, GpuInfo, HardwareFacts, HostInfo
from app.hardware.gpu_choice import gpu_key
from app.hardware.verdicts import visible_gpus
from app.ui.theme.look import Look
from app.ui.views.gpu_choice import gpu_memory_words

GIB: Final = 1024**3
GOOD_VRAM_BYTES: Final = 6 * GIB
GOOD_RAM_BYTES: Final = 15 * GIB
"""A PC sold with 16 GB reports a little less."""
GOOD_DISK_BYTES: Final = 20 * GIB
GOOD_CUDA: Final = (12, 0)
_SETS: Final = (("avx512f", "AVX-512"), ("avx512", "AVX-512"), ("avx2", "AVX2"), ("neon", "NEON"))
_MOST_GPUS: Final = 2
_OTHER_PROBES: Final = frozenset({"host", "driver", "runtime", "system"})
"""All others are sources of GPUs."""


@dataclass(frozen=True, slots=True)
class HardwareRow:
    """One line.

    Attributes:
        is_good: Nothing here limits a big model; False says no more than "look at the figure".
        is_excluded: Engines are kept from it.
        is_limited: Something was found that is wrong with it.
        subject: What findings call it.
    """

    icon_name: str
    title: str
    detail: str
    is_good: bool
    is_excluded: bool = False
    is_limited: bool = False
    subject: str | None = None

    @property
    def verdict_key(self) -> str:
        """Key of its verdict's text."""
        if self.is_excluded:
            return "ui.hardware.not_used"
        if self.is_limited:
            return "ui.hardware.limited"
        return "ui.hardware.good" if self.is_good else "ui.hardware.no_value"


def hardware_rows(
    look: Look, hardware: HardwareFacts, excluded: Collection[str] = (), *, is_final: bool = True
) -> tuple[HardwareRow, ...]:
    """Return GPU, RAM, processor, disk and driver, as far as the machine has them.

    Args:
        excluded: Keys of the GPUs engines are kept from.
        is_final: False while probes are under way: what they may still tell has a row with a dash.
    """
    hung = {str(f.values["probe"]) for f in hardware.findings if f.code is FindingCode.PROBE_TIMED_OUT}
    hidden = tuple(gpu for gpu in hardware.gpus if gpu not in visible_gpus(hardware))
    shown = hardware.gpus[:_MOST_GPUS]
    rows = [_gpu_row(look, gpu, excluded, is_hidden=gpu in hidden) for gpu in shown]
    if not rows and (hung - _OTHER_PROBES or not is_final):
        rows = [_row_without_answer(look, "gpu", is_late=is_final)]
    elif not rows:
        title, detail = look.text("ui.hardware.no_gpu"), look.text("ui.hardware.no_gpu_detail")
        rows = [HardwareRow("gpu", title, detail, is_good=False)]
    if hardware.host is not None:
        rows += _host_rows(look, hardware.host)
    elif "host" in hung or not is_final:
        rows += [_row_without_answer(look, part, is_late=is_final) for part in ("ram", "cpu", "disk")]
    if hardware.driver is not None and hardware.driver.version is not None:
        rows.append(_driver_row(look, hardware.driver))
    elif not is_final:
        rows.append(_row_without_answer(look, "driver", is_late=False))
    return tuple(_limited(line, hardware.findings) for line in rows)


def _limited(line: HardwareRow, findings: Iterable[Finding]) -> HardwareRow:
    """Return the row of a card or drive that a finding names as one that is not good."""
    if line.subject is None or line.is_excluded:
        return line
    grave = [finding.values for finding in findings if finding.severity is not Severity.NOTE]
    is_named = any(line.subject in (values.get("gpu"), values.get("mount")) for values in grave)
    return replace(line, is_good=False, is_limited=True) if is_named else line


def _row_without_answer(look: Look, part: str, *, is_late: bool) -> HardwareRow:
    detail = look.text("ui.hardware.no_answer" if is_late else "ui.hardware.waiting")
    icon_name = "wrench" if part == "driver" else part
    return HardwareRow(icon_name, look.text(f"ui.hardware.part.{part}"), detail, is_good=False)


def _gpu_row(look: Look, gpu: GpuInfo, excluded: Collection[str], *, is_hidden: bool) -> HardwareRow:
    is_good = not gpu.is_integrated and (gpu.vram_total_bytes or 0) >= GOOD_VRAM_BYTES
    if gpu.is_lost:
        return HardwareRow(
            "gpu", gpu.name, look.text("ui.hardware.gpu_lost"), is_good=False, subject=gpu.name
        )
    if is_hidden:
        detail = look.text("ui.hardware.gpu_hidden")
        return HardwareRow("gpu", gpu.name, detail, is_good=False, is_excluded=True)
    is_unknown = gpu.is_asleep and gpu.vram_total_bytes is None
    detail = look.text("ui.hardware.gpu_asleep") if is_unknown else gpu_memory_words(look, gpu)
    is_excluded = gpu_key(gpu) in excluded
    return HardwareRow(
        "gpu", gpu.name, detail, is_good and not is_excluded, is_excluded=is_excluded, subject=gpu.name
    )


def _host_rows(look: Look, host: HostInfo) -> list[HardwareRow]:
    rows = []
    if host.ram_total_bytes is not None:
        title = look.text("ui.hardware.ram", total=host.ram_total_bytes)
        detail = look.text("ui.hardware.ram_free", free=host.ram_available_bytes)
        rows.append(HardwareRow("ram", title, detail, is_good=host.ram_total_bytes >= GOOD_RAM_BYTES))
    rows.append(_cpu_row(look, host.cpu))
    roomiest = max(host.disks, key=_usefulness, default=None)
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


def _usefulness(disk: DiskInfo) -> tuple[bool, int]:
    """Order drives for models: those inside the computer first, then by room."""
    is_inside = not (disk.is_network or disk.is_removable or disk.is_cloud)
    return is_inside, disk.free_bytes


def _disk_row(look: Look, disk: DiskInfo) -> HardwareRow:
    title = look.text("ui.hardware.disk", mount=disk.mount, free=disk.free_bytes)
    detail = look.text("ui.hardware.disk_total", total=disk.total_bytes)
    return HardwareRow("disk", title, detail, disk.free_bytes >= GOOD_DISK_BYTES, subject=disk.mount)


def _driver_row(look: Look, driver: DriverInfo) -> HardwareRow:
    detail = look.text("ui.hardware.driver_detail")
    if driver.cuda_version is None:
        title = look.text("ui.hardware.driver", version=driver.version)
        return HardwareRow("wrench", title, detail, is_good=False)
    cuda = ".".join(map(str, driver.cuda_version))
    title = look.text("ui.hardware.driver_cuda", version=driver.version, cuda=cuda)
    return HardwareRow("wrench", title, detail, is_good=driver.cuda_version >= GOOD_CUDA)
