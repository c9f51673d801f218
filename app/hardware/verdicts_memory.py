"""A plan, the drive of its model and the use of its cards -> what will be slow or fail. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.findings import Finding, FindingCode, note, warning
from app.hardware.facts import DiskInfo, GpuInfo, GpuSample, HardwareFacts, HostInfo, Sample

SPILL_BYTES: Final = 256 * 1024**2
"""Programs keep small buffers in RAM on purpose; a model's weights are more."""

FULL_SHARE: Final = 0.97
FALLEN_SHARE: Final = 0.5
"""Answers slow down by some percent as they grow; a spill costs most of the speed."""


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """What a plan takes of the processor's memory.

    Attributes:
        private_bytes: Allocated: caches, work memory, weights that are not mapped. Windows must promise it.
        mapped_bytes: Read from the model's file as needed; promised by nobody.
    """

    private_bytes: int
    mapped_bytes: int


def judge_needs(host: HostInfo, needs: MemoryNeeds) -> tuple[Finding, ...]:
    """Return whether Windows can promise what a plan allocates, and whether a page file would help."""
    limit, used, available = host.commit_limit_bytes, host.commit_used_bytes, host.ram_available_bytes
    if limit is None or used is None:
        return ()
    left = max(0, limit - used)
    if needs.private_bytes > left:
        return (
            warning(
                FindingCode.COMMIT_LIMIT_SMALL,
                needed_bytes=needs.private_bytes,
                left_bytes=left,
                limit_bytes=limit,
                missing_bytes=needs.private_bytes - left,
            ),
        )
    excess = needs.private_bytes + needs.mapped_bytes - (available or 0)
    if available is not None and excess > 0 and needs.mapped_bytes > 0:
        return (note(FindingCode.PAGE_FILE_NO_HELP, excess_bytes=min(excess, needs.mapped_bytes)),)
    return ()


def judge_drive(disk: DiskInfo | None) -> tuple[Finding, ...]:
    """Return what is wrong with the drive a model lies on; the slowest kind only."""
    if disk is None:
        return ()
    if disk.is_cloud:
        return (warning(FindingCode.MODEL_ON_CLOUD, mount=disk.mount),)
    if disk.is_network:
        return (warning(FindingCode.MODEL_ON_NETWORK, mount=disk.mount),)
    if disk.is_removable:
        return (note(FindingCode.MODEL_ON_REMOVABLE, mount=disk.mount),)
    if disk.is_rotational:
        return (warning(FindingCode.MODEL_ON_HARD_DISK, mount=disk.mount),)
    return ()


@dataclass(frozen=True, slots=True)
class Speeds:
    """Tokens per second while answering.

    Attributes:
        before: The best of this load; now: the last.
    """

    before: float
    now: float


def judge_use(
    gpu: GpuInfo, at_load: GpuSample, now: GpuSample, speeds: Speeds | None = None
) -> tuple[Finding, ...]:
    """Return whether a card's driver moved part of a model to RAM, which no driver tells by itself.

    Args:
        at_load: Read when the model had just been loaded.
    """
    return tuple(_spill(gpu, at_load, now, speeds))


def judge_samples(facts: HardwareFacts, samples: Sequence[Sample]) -> tuple[Finding, ...]:
    """Return what the samples of a recording tell of its cards: from the first to the last."""
    found: list[Finding] = []
    for gpu in facts.gpus:
        readings = [reading for sample in samples for reading in sample.gpus if reading.index == gpu.index]
        if len(readings) > 1:
            found += judge_use(gpu, readings[0], readings[-1])
    return tuple(found)


def _spill(gpu: GpuInfo, at_load: GpuSample, now: GpuSample, speeds: Speeds | None) -> Iterator[Finding]:
    if gpu.is_integrated:  # its memory is RAM
        return
    used, total = now.vram_used_bytes, now.vram_total_bytes or gpu.vram_total_bytes
    risen = (now.process_shared_bytes or 0) - (at_load.process_shared_bytes or 0)
    if now.process_shared_bytes is not None and risen > SPILL_BYTES:
        yield warning(
            FindingCode.VRAM_SPILLED, gpu=gpu.name, shared_bytes=risen, used_bytes=used, total_bytes=total
        )
    elif used is not None and total and used >= FULL_SHARE * total and _has_fallen(speeds):
        values = {"before": speeds.before, "now": speeds.now} if speeds else {}
        yield warning(FindingCode.VRAM_FULL_SLOW, gpu=gpu.name, used_bytes=used, total_bytes=total, **values)


def _has_fallen(speeds: Speeds | None) -> bool:
    return speeds is not None and speeds.now < FALLEN_SHARE * speeds.before
