"""The result of planning, as facts; and what it is asked with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.findings import Finding
from app.options import EngineOptions


class Part(StrEnum):
    """What memory is used for; the keys of `DevicePlan.parts`, tensor classes first."""

    ROUTED_EXPERTS = "routed_experts"
    SHARED_EXPERTS = "shared_experts"
    ROUTER = "router"
    ATTENTION = "attention"
    DENSE_FFN = "dense_ffn"
    TOKEN_EMBEDDING = "token_embedding"
    OUTPUT = "output"
    OTHER = "other"
    KV_CACHE = "kv_cache"
    STATE = "state"
    COMPUTE = "compute"
    PROMPT_CACHE = "prompt_cache"


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Memory there is to plan with.

    Attributes:
        vram_free_bytes: One per GPU, what is free now; empty without a GPU.
        drives_display: One per GPU; decides the reserve.
        devices: The engine's own names of the GPUs to use, where it is not to use all it sees.
        ram_free_bytes: What the model may take of RAM.
        shared_vram_bytes: One per GPU, the part of its memory that is RAM and is in `ram_free_bytes` too;
            empty when every GPU has its own.
        performance_cores: Free physical performance cores.
        ram_bytes_per_second: Measured while this engine read weights from RAM; None = not measured.
            vram_bytes_per_second and disk_bytes_per_second likewise.
    """

    ram_free_bytes: int
    vram_free_bytes: tuple[int, ...] = ()
    drives_display: tuple[bool, ...] = ()
    performance_cores: int = 1
    busy_cores: float = 0.0
    ram_bytes_per_second: float | None = None
    vram_bytes_per_second: float | None = None
    disk_bytes_per_second: float | None = None
    shared_vram_bytes: tuple[int, ...] = ()
    devices: tuple[str, ...] = ()

    def ram_left(self, gpu_bytes: Sequence[int]) -> int:
        """Return what is left of RAM when the GPUs hold so much: a chip's own memory is filled first."""
        shared = zip(gpu_bytes, self.vram_free_bytes, self.shared_vram_bytes, strict=False)
        taken = sum(max(0, held - (free - part)) for held, free, part in shared)
        return max(0, self.ram_free_bytes - taken)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the person asks for; None means "you decide".

    Attributes:
        moe: `auto`, `off`, `all`, or a number N of blocks as llama.cpp counts them.
        n_ctx: Tokens.
        kv_type: Element type for K and V.
    """

    moe: str | int = "auto"
    n_ctx: int | None = None
    kv_type: str | None = None
    repack: bool | None = None
    n_threads: int | None = None


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """What one device will hold.

    Attributes:
        name: `GPU0`, `GPU1`, ... in the budget's order, or `CPU`.
        parts: Bytes by `Part`; their sum is `planned_bytes`.
    """

    name: str
    free_bytes: int
    planned_bytes: int
    parts: dict[Part, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpeedRange:
    """Tokens per second, decode, as a range."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LadderStep:
    """A plan the person can fall back to.

    Attributes:
        name: `fast`, `safe`, `minimum`.
        changes: Names of the options that differ from the plan above it.
    """

    name: str
    options: EngineOptions
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """Where a model goes.

    Attributes:
        devices: GPUs in order, then `CPU`.
        ram_bytes: Held in RAM, mapped weights included.
        disk_bytes: Routed expert bytes beyond what RAM can hold; read from disk while answering.
    """

    options: EngineOptions
    devices: tuple[DevicePlan, ...]
    ram_bytes: int
    disk_bytes: int
    kv_cache_bytes: int
    compute_bytes: int
    tokens_per_second: SpeedRange | None
    ladder: tuple[LadderStep, ...] = ()
    findings: tuple[Finding, ...] = ()
