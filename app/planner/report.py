"""A path and a machine -> everything a person wants to know before loading, without the engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.findings import Finding
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.hardware.facts import CpuInfo, HardwareFacts
from app.planner.facts import MemoryBudget, OffloadPlan, Wishes
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


def budget_from(hardware: HardwareFacts) -> MemoryBudget:
    """Return what a model may take of a machine as it is now.

    RAM: what is available, less an eighth or 2 GiB, whichever is smaller, for the system and the window.
    VRAM: what is free on each GPU of its own memory; integrated ones share the RAM and are not counted.
    """
    gpus = [gpu for gpu in hardware.gpus if not gpu.is_integrated and gpu.vram_free_bytes]
    available = (hardware.host.ram_available_bytes if hardware.host else None) or 0
    return MemoryBudget(
        ram_free_bytes=available - min(SYSTEM_RAM_BYTES, available // SYSTEM_RAM_SHARE),
        vram_free_bytes=tuple(gpu.vram_free_bytes or 0 for gpu in gpus),
        drives_display=tuple(gpu.drives_display is not False for gpu in gpus),
        performance_cores=_performance_cores(hardware.host.cpu if hardware.host else CpuInfo()),
    )


def _performance_cores(cpu: CpuInfo) -> int:
    if cpu.usable_performance_cores:
        return cpu.usable_performance_cores
    known = [n for n in (cpu.performance_cores or cpu.physical_cores, cpu.usable_cores) if n]
    return min(known, default=1)
