"""What `moxie doctor` measures beside what it looks up: instruction sets, memory, and a drive on request."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from app.cli.context import CliContext
from app.cli.inspected import inspect_argument
from app.files import PathKind, path_kind
from app.findings import Finding, FindingError
from app.hardware.cpu_check import judge_cpu
from app.hardware.facts import CpuInfo, HardwareFacts
from app.hardware.memory_speed import last_cache_bytes, measure_memory
from app.hardware.speeds import MemorySpeed, StorageSpeed
from app.hardware.storage import judge_storage, measure_storage
from app.hardware.storage_cache import StorageCache
from app.hardware.verdicts import judge_machine
from app.hardware.verdicts_memory import judge_drive
from app.library.drive_speed import storage_test
from app.parsing.cpu_jobs import checked_cpu
from app.paths import storage_speeds_file
from app.texts import Texts


def with_measured_host(facts: HardwareFacts) -> HardwareFacts:
    """Return the facts with tried instruction sets and the speed of memory. Takes about a second."""
    host = facts.host
    if host is None:
        return facts
    speed = measure_memory(
        host.cpu.usable_cores or 1, host.ram_available_bytes, cache_bytes=last_cache_bytes()
    )
    return replace(facts, host=replace(host, cpu=checked_cpu(host.cpu)), memory_speed=speed)


def with_measured_disk(facts: HardwareFacts, path: str, texts: Texts) -> HardwareFacts:
    """Return the facts with the speed of the drive a model lies on, and keep it for plans. Takes 3 s.

    Raises:
        UsageError: nothing is at the path.
        FindingError: it cannot be read.
    """
    inspected = inspect_argument(path, texts)
    file = Path(path)
    if path_kind(file) is not PathKind.FILE:
        file = inspected.facts.path
    disk, test = storage_test(file, inspected.facts, facts)
    speed = measure_storage(test)
    findings = facts.findings
    if disk is not None:
        try:
            StorageCache(storage_speeds_file()).keep(disk, speed)
        except FindingError as reason:
            findings = (*findings, reason.finding)
    return replace(facts, storage_speeds=(*facts.storage_speeds, speed), findings=findings)


def verdict(facts: HardwareFacts) -> tuple[Finding, ...]:
    """Return what detection found wrong, and what the facts mean, of recordings as well."""
    of_cpu = judge_cpu(facts.host.cpu) if facts.host else ()
    of_drives = [finding for speed in facts.storage_speeds for finding in _judge_drive(facts, speed)]
    judged = [*judge_machine(facts), *of_cpu, *of_drives]
    return (*facts.findings, *(finding for finding in judged if finding not in facts.findings))


def _judge_drive(facts: HardwareFacts, speed: StorageSpeed) -> tuple[Finding, ...]:
    disks = facts.host.disks if facts.host else ()
    disk = next((disk for disk in disks if disk.mount == speed.mount), None)
    return (*judge_drive(disk), *judge_storage(speed))


def print_cpu(cpu: CpuInfo, context: CliContext) -> None:
    """Print which instruction sets were reported, and which work."""
    if cpu.instruction_sets:
        context.say("cli.doctor.instruction_sets", names=cpu.instruction_sets)
    if cpu.working_instruction_sets:
        context.say("cli.doctor.working_sets", names=cpu.working_instruction_sets)


def print_memory(speed: MemorySpeed | None, context: CliContext) -> None:
    """Print how fast memory was read."""
    if speed is not None:
        is_cached = speed.is_beyond_cache is False
        key = "cli.doctor.memory_speed_cached" if is_cached else "cli.doctor.memory_speed"
        context.say(key, speed=speed.read_bytes_per_second, threads=speed.n_threads)


def print_storage(speeds: Iterable[StorageSpeed], context: CliContext) -> None:
    """Print how fast drives were read, a line for each depth."""
    for speed in speeds:
        method = context.texts.text(f"cli.doctor.method.{speed.method}")
        context.say("cli.doctor.storage", mount=speed.mount, method=method, piece_bytes=speed.piece_bytes)
        for depth in speed.depths:
            context.say(
                "cli.doctor.storage_depth",
                depth=depth.queue_depth,
                speed=depth.bytes_per_second,
                p50=1000 * depth.latency_p50_seconds,
                p99=1000 * depth.latency_p99_seconds,
            )
