"""Planned bytes beside those an engine really takes, device by device and part by part."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from app.engine.fit_breakdown import BreakdownRow
from app.engine.protocol import BufferUse
from app.gguf.facts import ModelFacts
from app.options import EngineOptions
from app.planner.accuracy import group_of, is_within, limit_bytes
from app.planner.caches import cache_shape, can_be_quantized
from app.planner.corrections import PartGroup
from app.planner.facts import MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_offload

ENDLESS: Final = 2**50
"""Bytes of memory with which every wish can be met."""

CPU: Final = "CPU"
GPU: Final = "GPU0"
CONTEXTS: Final = (2048, 8192)
KV_TYPES: Final = ("f16", "q8_0")


@dataclass(frozen=True, slots=True)
class PlanCase:
    """One question to planner and engine.

    Attributes:
        moe: `off`, `all` or a number of blocks.
        has_gpu: An RPC device takes all layers; otherwise the processor works alone.
    """

    moe: str | int
    kv_type: str
    n_ctx: int
    has_gpu: bool

    @property
    def name(self) -> str:
        """How a table names it."""
        return f"{'RPC' if self.has_gpu else 'CPU'} moe={self.moe} {self.kv_type} {self.n_ctx}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. `part` is None for the total of a device; `device` too for the total of all."""

    model: str
    case: str
    device: str | None
    part: PartGroup | None
    planned_bytes: int
    engine_bytes: int

    @property
    def off_bytes(self) -> int:
        """How far the plan is off; positive when it asks for too much."""
        return self.planned_bytes - self.engine_bytes

    @property
    def limit_bytes(self) -> int:
        """How far it may be off."""
        return limit_bytes(self.engine_bytes)

    @property
    def is_within(self) -> bool:
        """Whether the plan is as close as it promises to be."""
        return is_within(self.planned_bytes, self.engine_bytes)


def cases_for(model: ModelFacts, contexts: Iterable[int] = CONTEXTS) -> Iterator[PlanCase]:
    """Yield every case a model has: no expert in RAM, all, half of the blocks."""
    types = KV_TYPES if can_be_quantized(cache_shape(model)) else KV_TYPES[:1]
    half = (model.block_count or 0) // 2
    for has_gpu, moe, kv_type, n_ctx in product((False, True), ("off", "all", half), types, contexts):
        yield PlanCase(moe, kv_type, n_ctx, has_gpu)


def plan_for(model: ModelFacts, case: PlanCase) -> OffloadPlan:
    """Return the plan of a machine on which everything fits."""
    vram = (ENDLESS,) if case.has_gpu else ()
    names = ("RPC0",) * len(vram)
    budget = MemoryBudget(ENDLESS, vram, (False,) * len(vram), devices=names)
    return plan_offload(model, budget, Wishes(moe=case.moe, n_ctx=case.n_ctx, kv_type=case.kv_type))


def options_for(plan: OffloadPlan, server: str | None) -> EngineOptions:
    """Return the plan's options for an engine that reads the weights: a mapped file hides who holds what."""
    servers = () if server is None else (server,)
    return replace(plan.options, rpc_servers=servers, load_mode="none")


def figures_of_load(
    model: str, case: PlanCase, plan: OffloadPlan, buffers: Iterable[BufferUse]
) -> tuple[Figure, ...]:
    """Compare a plan with what a load took."""
    taken: dict[tuple[str, PartGroup], int] = {}
    for use in buffers:
        key = (GPU if use.device.startswith("RPC") else CPU, PartGroup.of_buffer(use.part))
        taken[key] = taken.get(key, 0) + use.size_bytes
    return _figures(model, case, plan, taken)


def figures_of_breakdown(
    model: str, case: PlanCase, plan: OffloadPlan, rows: Iterable[BreakdownRow]
) -> tuple[Figure, ...]:
    """Compare a plan with what an engine says it would take."""
    taken: dict[tuple[str, PartGroup], int] = {}
    for row in rows:
        device = GPU if row.device.startswith("RPC") else CPU
        for part, size in row.bytes_by_part.items():
            taken[device, part] = taken.get((device, part), 0) + size
    return _figures(model, case, plan, taken)


def _figures(
    model: str, case: PlanCase, plan: OffloadPlan, taken: dict[tuple[str, PartGroup], int]
) -> tuple[Figure, ...]:
    figures = []
    for device in plan.devices:
        planned = dict.fromkeys(PartGroup, 0)
        for part, size in device.parts.items():
            planned[group_of(part)] += size
        rows = [
            Figure(model, case.name, device.name, part, size, taken.get((device.name, part), 0))
            for part, size in planned.items()
        ]
        figures += [*rows, _total(rows, device.name)]
    return (*figures, _total([row for row in figures if row.part is not None], None))


def _total(rows: list[Figure], device: str | None) -> Figure:
    planned, taken = sum(row.planned_bytes for row in rows), sum(row.engine_bytes for row in rows)
    return Figure(rows[0].model, rows[0].case, device, None, planned, taken)
