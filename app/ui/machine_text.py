"""What `moxie doctor` says of this machine, as text for the window. No Qt."""

from collections.abc import Sequence

from app.engine.packs import EngineEntry
from app.hardware.facts import GpuInfo, HardwareFacts, HostInfo
from app.hardware.pseudonyms import text_without_personal_names
from app.texts import NO_VALUE, Texts
from app.ui.window_actions import action_in_window


def machine_text(texts: Texts, hardware: HardwareFacts, engines: Sequence[EngineEntry]) -> str:
    """Return hardware, engines and findings, a line each, without names of persons."""
    lines = [_gpu_line(texts, gpu) for gpu in hardware.gpus]
    if hardware.driver is not None:
        cuda = _dotted(hardware.driver.cuda_version)
        lines.append(texts.text("cli.doctor.driver", version=hardware.driver.version, cuda=cuda))
    if hardware.host is not None:
        lines += _host_lines(texts, hardware.host)
    lines += [_engine_line(texts, entry) for entry in engines]
    if hardware.findings:
        lines.append("")
    for finding in hardware.findings:
        severity = texts.text(f"severity.{finding.severity.value}")
        message, action = texts.finding(finding).message, action_in_window(texts, finding)
        lines.append(texts.text("finding_line", severity=severity, message=message, action=action))
    return text_without_personal_names("\n".join(lines))


def _gpu_line(texts: Texts, gpu: GpuInfo) -> str:
    display = gpu.drives_display
    said = NO_VALUE if display is None else texts.text("cli.doctor.yes" if display else "cli.doctor.no")
    return texts.text(
        "cli.doctor.gpu_integrated" if gpu.is_integrated else "cli.doctor.gpu",
        index=gpu.index,
        name=gpu.name,
        total_bytes=gpu.vram_total_bytes,
        free_bytes=gpu.vram_free_bytes,
        capability=_dotted(gpu.compute_capability),
        display=said,
    )


def _host_lines(texts: Texts, host: HostInfo) -> list[str]:
    cpu, free = host.cpu, host.ram_available_bytes
    cores = {
        "physical": cpu.physical_cores,
        "performance": cpu.performance_cores,
        "logical": cpu.logical_cores,
        "usable": cpu.usable_cores,
        "efficiency": cpu.efficiency_cores,
        "usable_performance": cpu.usable_performance_cores,
    }
    disks = [
        texts.text(
            "cli.doctor.disk", mount=disk.mount, free_bytes=disk.free_bytes, total_bytes=disk.total_bytes
        )
        for disk in host.disks
    ]
    return [
        texts.text("cli.doctor.cpu", name=cpu.name),
        texts.text("cli.doctor.cores", **cores),
        texts.text("cli.doctor.instruction_sets", names=cpu.instruction_sets),
        texts.text("cli.doctor.ram", total_bytes=host.ram_total_bytes, available_bytes=free),
        *disks,
        texts.text("cli.doctor.system", name=host.os_name, version=host.os_version),
    ]


def _engine_line(texts: Texts, entry: EngineEntry) -> str:
    key = "cli.doctor.engine_selected" if entry.is_selected else "cli.doctor.engine"
    build = entry.record.build if entry.record else None
    return texts.text(key, name=entry.name, backend=entry.spec.backend.value, build=build)


def _dotted(version: tuple[int, int] | None) -> str | None:
    return None if version is None else f"{version[0]}.{version[1]}"
