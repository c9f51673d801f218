"""A path and a machine -> everything a person wants to know before loading, without the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.findings import Finding
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.hardware.drives import drive_of
from app.hardware.facts import CpuInfo, GpuInfo, HardwareFacts, HostInfo
from app.hardware.gpu_merge import is_instance
from app.hardware.verdicts import visible_gpus
from app.hardware.verdicts_memory import MemoryNeeds, judge_drive, judge_needs
from app.planner.facts import ALLOCATED_PARTS, MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_offload

SYSTEM_RAM_BYTES: Final = 2 * 1024**3
SYSTEM_RAM_SHARE: Final = 8

PLANNED_KINDS: Final = frozenset({FileKind.MODEL, FileKind.EMBEDDING, FileKind.RERANKER})
"""Kinds of file an engine loads by themselves."""


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What a file is, what is wrong with it, and where it would go.

    Attributes:
        plan: None for a file no engine would load; its findings say why.
    """

    facts: ModelFacts
    findings: tuple[Finding, ...]
    plan: OffloadPlan | None


def report_on(path: Path, budget: MemoryBudget, wishes: Wishes) -> ModelReport:
    """Read the header and plan. Reads the file system: never on the GUI thread.

    Never raises: what is wrong with the path is a finding.
    """
    return report_of(inspect_path(path), budget, wishes)


def report_of(inspected: InspectedFile, budget: MemoryBudget, wishes: Wishes) -> ModelReport:
    """Plan for a file that was already looked at."""
    facts = inspected.facts
    if not inspected.loadable or facts.kind not in PLANNED_KINDS or not facts.layers:
        return ModelReport(facts, inspected.findings, None)
    return ModelReport(facts, inspected.findings, plan_offload(facts, budget, wishes))


def budget_from(hardware: HardwareFacts, device_names: Mapping[int, str] | None = None) -> MemoryBudget:
    """Return what a model may take of a machine as it is now.

    RAM: what is available, less an eighth or 2 GiB, whichever is smaller, for the system and the window.
    VRAM: what is free on each GPU of its own memory. As llama.cpp does: one that shares the RAM is used only
    where there is no other, and then its own free memory and the free part of what it may share count; never
    more than RAM has left, and what it takes is not there for anything else. One instance of a card cut up.
    Cards that the environment hides from engines are not counted.

    Args:
        device_names: What an engine calls the GPUs, by index. Several are named then: engines list them in an
            order of their own, and a split is in the order of the list.
    """
    available = (hardware.host.ram_available_bytes if hardware.host else None) or 0
    ram_free = available - min(SYSTEM_RAM_BYTES, available // SYSTEM_RAM_SHARE)
    pools = _gpu_pools(hardware, ram_free)
    names = [(device_names or {}).get(pool.gpu.index) for pool in pools]
    return MemoryBudget(
        ram_free_bytes=ram_free,
        vram_free_bytes=tuple(pool.own_bytes + pool.shared_bytes for pool in pools),
        drives_display=tuple(pool.gpu.drives_display is not False for pool in pools),
        performance_cores=_performance_cores(hardware.host.cpu if hardware.host else CpuInfo()),
        shared_vram_bytes=tuple(pool.shared_bytes for pool in pools) if _is_shared(pools) else (),
        devices=tuple(name for name in names if name) if len(pools) > 1 and all(names) else (),
        commit_left_bytes=_commit_left(hardware.host),
        os_name=hardware.host.os_name if hardware.host else None,
    )


@dataclass(frozen=True, slots=True)
class RemoteDevice:
    """A device of an RPC server, as an engine that knows the server lists it.

    Attributes:
        name: `RPC0`, `RPC1`, ... over all servers.
        is_this_machine: The server runs here, and its memory is this machine's RAM.
    """

    name: str
    free_bytes: int
    is_this_machine: bool = False


def with_remote_devices(
    budget: MemoryBudget,
    own_names: Sequence[str],
    servers: Sequence[str],
    remote: Sequence[RemoteDevice],
) -> MemoryBudget:
    """Return the budget with the devices of RPC servers before its own, as engines list them.

    Args:
        own_names: What the engine calls the GPUs of this machine, in the budget's order.
        servers: `host:port` of all servers, in the order in which the devices are numbered.
    """
    shared = budget.shared_vram_bytes or (0,) * len(budget.vram_free_bytes)
    of_remote = tuple(device.free_bytes if device.is_this_machine else 0 for device in remote)
    return replace(
        budget,
        vram_free_bytes=(*(device.free_bytes for device in remote), *budget.vram_free_bytes),
        drives_display=(*(False for _ in remote), *budget.drives_display),
        shared_vram_bytes=(*of_remote, *shared) if any(of_remote) or any(shared) else (),
        devices=(*(device.name for device in remote), *own_names),
        rpc_servers=tuple(servers),
    )


def memory_needs(plan: OffloadPlan) -> MemoryNeeds:
    """Return what a plan allocates in RAM, and what it only maps from the model's file, fitting or not."""
    parts = plan.devices[-1].parts
    weights = sum(size for part, size in parts.items() if part not in ALLOCATED_PARTS)
    allocated = sum(parts.values()) - weights
    is_mapped = plan.options.load_mode in ("auto", "mmap", "mlock") and not plan.options.repack
    if is_mapped:
        return MemoryNeeds(allocated, weights + plan.disk_bytes)
    return MemoryNeeds(allocated + weights, 0)


def judge_place(hardware: HardwareFacts, plan: OffloadPlan | None, path: Path) -> tuple[Finding, ...]:
    """Return what the drive of a model and the memory its plan allocates will cost. Follows links on disk."""
    host = hardware.host
    if host is None:
        return ()
    of_drive = judge_drive(drive_of(_real(path), host.disks))
    return of_drive if plan is None else (*judge_needs(host, memory_needs(plan)), *of_drive)


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return path.absolute()


@dataclass(frozen=True, slots=True)
class _Pool:
    """What a model may take of one GPU.

    Attributes:
        shared_bytes: The part that is RAM.
    """

    gpu: GpuInfo
    own_bytes: int
    shared_bytes: int = 0


def _gpu_pools(hardware: HardwareFacts, ram_free_bytes: int) -> list[_Pool]:
    present = [gpu for gpu in visible_gpus(hardware) if not gpu.is_lost]
    discrete = [
        _Pool(gpu, gpu.vram_free_bytes) for gpu in present if not gpu.is_integrated and gpu.vram_free_bytes
    ]
    instances = [pool for pool in discrete if is_instance(pool.gpu)]
    if discrete:
        return instances[:1] or discrete
    chips = [gpu for gpu in present if gpu.is_integrated and gpu.shared_free_bytes]
    return [
        _Pool(gpu, gpu.vram_free_bytes or 0, min(gpu.shared_free_bytes or 0, ram_free_bytes))
        for gpu in chips[:1]
    ]


def _commit_left(host: HostInfo | None) -> int | None:
    if host is None or host.commit_limit_bytes is None or host.commit_used_bytes is None:
        return None
    return max(0, host.commit_limit_bytes - host.commit_used_bytes)


def _is_shared(pools: list[_Pool]) -> bool:
    return any(pool.shared_bytes for pool in pools)


def _performance_cores(cpu: CpuInfo) -> int:
    if cpu.usable_performance_cores:
        return cpu.usable_performance_cores
    known = [n for n in (cpu.performance_cores or cpu.physical_cores, cpu.usable_cores) if n]
    return min(known, default=1)
