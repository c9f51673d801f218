"""`moxie doctor`: what this machine has and what is wrong with it."""

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from app.cli.context import EXIT_OK, CliContext, UsageError
from app.cli.doctor_speeds import (
    print_cpu,
    print_memory,
    print_storage,
    verdict,
    with_measured_disk,
    with_measured_host,
)
from app.cli.gpu_option import chosen_entry, look_at_engine, look_at_recorded_engine
from app.cli.numbers import given_text
from app.engine.packs import EngineEntry, choose_engine, list_engines
from app.files import PathKind, path_kind, storage_finding
from app.findings import Finding, FindingError, Severity
from app.hardware.cuda import CudaVersions, cuda_versions, dotted
from app.hardware.engine_facts import EngineBuildFacts
from app.hardware.facts import GpuInfo, HardwareFacts, HostInfo
from app.hardware.gpu_choice import gpu_key
from app.hardware.raw_answers import NoAnswers, RawAnswers
from app.hardware.raw_files import add_files
from app.hardware.recording import Recording, read_recording, save_recording
from app.hardware.speeds import MemorySpeed
from app.hardware.this_machine import detect_this_machine
from app.hardware.verdicts_memory import judge_samples
from app.paths import data_folder
from app.texts import NO_VALUE, Texts

LONGEST_NAME_BYTES: Final = 255


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    """What the doctor found.

    Attributes:
        engines: None for a recorded machine: a recording holds the build that was in use only.
        build: That build.
        excluded_gpus: Indices of those a person keeps engines from.
    """

    facts: HardwareFacts
    engines: tuple[EngineEntry, ...] | None
    build: EngineBuildFacts | None
    findings: tuple[Finding, ...]
    excluded_gpus: tuple[int, ...] = ()

    @property
    def cuda(self) -> CudaVersions:
        """The four versions of CUDA."""
        return cuda_versions(self.facts, self.build)

    @property
    def recording(self) -> Recording:
        """What reproduces this elsewhere."""
        return Recording(self.facts, engine=self.build, excluded_gpus=self.excluded_gpus)


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare the arguments of `moxie doctor`."""
    parser.add_argument("--json", action="store_true", help=texts.text("cli.doctor.json.help"))
    parser.add_argument(
        "--save", type=given_text(texts), metavar="FILE", help=texts.text("cli.doctor.save.help")
    )
    parser.add_argument(
        "--disk", type=given_text(texts), metavar="PATH", help=texts.text("cli.doctor.disk.help")
    )
    parser.add_argument(
        "--replay", type=given_text(texts), metavar="FILE", help=texts.text("cli.doctor.replay.help")
    )


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Look at the machine, or at a recorded one, and say what is there. A missing GPU is no failure."""
    replayed = None if args.replay is None else _recording(Path(args.replay), context.texts)
    target = None if args.save is None else _new_file(Path(args.save), context.texts)
    raw = RawAnswers() if target else NoAnswers()
    diagnosis = _look_at_recording(replayed) if replayed else _look_at_machine(context, raw, args.disk)
    if target is not None:
        save_recording(diagnosis.recording, target, raw=raw)
        context.tell("cli.doctor.saved", path=str(target))
    if args.json:
        context.print_json(_to_json(diagnosis))
    else:
        _print_card(diagnosis, context)
    return EXIT_OK


def _recording(file: Path, texts: Texts) -> Path:
    if path_kind(file) is None:
        raise UsageError(texts.text("cli.doctor.replay_missing", path=str(file)))
    return file


def _new_file(file: Path, texts: Texts) -> Path:
    has_folder = path_kind(file.parent) is PathKind.FOLDER
    if (
        not has_folder
        or path_kind(file) is PathKind.FOLDER
        or len(os.fsencode(file.name)) > LONGEST_NAME_BYTES
    ):
        raise UsageError(texts.text("cli.doctor.save_impossible", path=str(file)))
    return file


def _look_at_machine(context: CliContext, raw: RawAnswers, disk: str | None) -> _Diagnosis:
    facts = with_measured_host(detect_this_machine(raw))
    if disk is not None:
        facts = with_measured_disk(facts, disk, context.texts)
    if not isinstance(raw, NoAnswers):
        add_files(raw)
    chosen = context.settings.engine
    entries = list_engines(chosen)
    excluded = context.settings.excluded_gpus
    seen = look_at_engine(chosen_entry(context), facts, excluded)
    findings = (*verdict(facts), *seen.findings, *_engine_findings(chosen), *_data_folder_findings())
    kept_from = tuple(gpu.index for gpu in facts.gpus if gpu_key(gpu) in excluded)
    return _Diagnosis(facts, entries, seen.build, findings, kept_from)


def _look_at_recording(file: Path) -> _Diagnosis:
    recording = read_recording(file)
    facts = recording.facts
    seen = look_at_recorded_engine(recording)
    findings = (*verdict(facts), *seen.findings, *judge_samples(facts, recording.samples))
    return _Diagnosis(facts, None, recording.engine, findings, recording.excluded_gpus)


def _engine_findings(chosen: str | None) -> tuple[Finding, ...]:
    """Return what a chat would fail with, as a warning: nothing was asked of an engine here."""
    try:
        choose_engine(None, chosen)
    except FindingError as reason:
        return (replace(reason.finding, severity=Severity.WARNING),)
    return ()


def _data_folder_findings() -> tuple[Finding, ...]:
    """Return why chats and settings cannot be kept."""
    folder = data_folder()
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ()
    except OSError as reason:
        return (replace(storage_finding(reason, folder), severity=Severity.WARNING),)


def _to_json(diagnosis: _Diagnosis) -> dict[str, object]:
    facts = diagnosis.facts
    return {
        "gpus": [asdict(gpu) for gpu in facts.gpus],
        "driver": facts.driver.version if facts.driver else None,
        "cuda": _cuda(facts),
        "cuda_versions": _cuda_json(diagnosis.cuda),
        "host": asdict(facts.host) if facts.host else None,
        "engines": [entry.to_json() for entry in diagnosis.engines or ()],
        "findings": [finding.to_json() for finding in diagnosis.findings],
        "memory_speed": asdict(facts.memory_speed) if facts.memory_speed else None,
        "storage_speeds": [asdict(speed) for speed in facts.storage_speeds],
        "runtime": asdict(facts.runtime) if facts.runtime else None,
        "system": asdict(facts.system) if facts.system else None,
    }


def _cuda_json(cuda: CudaVersions) -> dict[str, object]:
    return {
        "driver_highest": dotted(cuda.driver_highest),
        "engine": dotted(cuda.engine),
        "runtimes": list(cuda.runtimes),
        "toolkits": list(cuda.toolkits),
    }


def _cuda(facts: HardwareFacts) -> str | None:
    return _dotted(facts.driver.cuda_version) if facts.driver else None


def _dotted(version: tuple[int, int] | None) -> str | None:
    return None if version is None else f"{version[0]}.{version[1]}"


def _print_card(diagnosis: _Diagnosis, context: CliContext) -> None:
    facts = diagnosis.facts
    for gpu in facts.gpus:
        _print_gpu(gpu, context)
    if facts.driver:
        context.say("cli.doctor.driver", version=facts.driver.version, cuda=_cuda(facts))
        _print_cuda(diagnosis.cuda, context)
    if facts.host:
        _print_host(facts.host, facts.memory_speed, context)
    print_storage(facts.storage_speeds, context)
    if diagnosis.engines is not None:
        _print_engines(diagnosis.engines, context)
    if diagnosis.findings:
        context.print_line()
        context.print_findings(diagnosis.findings)


def _print_gpu(gpu: GpuInfo, context: CliContext) -> None:
    key = "cli.doctor.gpu_integrated" if gpu.is_integrated else "cli.doctor.gpu"
    context.say(
        key,
        index=gpu.index,
        name=gpu.name,
        total_bytes=gpu.vram_total_bytes,
        free_bytes=gpu.vram_free_bytes,
        capability=_dotted(gpu.compute_capability),
        display=_yes_or_no(gpu.drives_display, context.texts),
    )


def _print_cuda(cuda: CudaVersions, context: CliContext) -> None:
    context.say(
        "cli.doctor.cuda_versions",
        driver=dotted(cuda.driver_highest),
        engine=dotted(cuda.engine),
        runtimes=cuda.runtimes or None,
        toolkits=cuda.toolkits or None,
    )


def _yes_or_no(claim: bool | None, texts: Texts) -> str:
    return NO_VALUE if claim is None else texts.text("cli.doctor.yes" if claim else "cli.doctor.no")


def _print_host(host: HostInfo, memory_speed: MemorySpeed | None, context: CliContext) -> None:
    cpu = host.cpu
    context.say("cli.doctor.cpu", name=cpu.name)
    context.say(
        "cli.doctor.cores",
        physical=cpu.physical_cores,
        performance=cpu.performance_cores,
        logical=cpu.logical_cores,
        usable=cpu.usable_cores,
        efficiency=cpu.efficiency_cores,
        usable_performance=cpu.usable_performance_cores,
    )
    print_cpu(cpu, context)
    context.say("cli.doctor.ram", total_bytes=host.ram_total_bytes, available_bytes=host.ram_available_bytes)
    print_memory(memory_speed, context)
    if host.commit_limit_bytes is not None:
        context.say(
            "cli.doctor.commit", limit_bytes=host.commit_limit_bytes, used_bytes=host.commit_used_bytes
        )
    for disk in host.disks:
        context.say(
            "cli.doctor.disk", mount=disk.mount, free_bytes=disk.free_bytes, total_bytes=disk.total_bytes
        )
    context.say("cli.doctor.system", name=host.os_name, version=host.os_version)


def _print_engines(engines: Sequence[EngineEntry], context: CliContext) -> None:
    for entry in engines:
        key = "cli.doctor.engine_selected" if entry.is_selected else "cli.doctor.engine"
        build = entry.record.build if entry.record else None
        context.say(key, name=entry.name, backend=entry.spec.backend.value, build=build)
