"""The result of planning, as facts; and what it is asked with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from app.findings import Finding
from app.options import EngineOptions, check_bounds
from app.planner.corrections import Corrections
from app.planner.measured_speeds import MachineSpeeds, SpeedBasis


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


ALLOCATED_PARTS: Final = frozenset({Part.KV_CACHE, Part.STATE, Part.COMPUTE, Part.PROMPT_CACHE})
"""What is no weight: never mapped from a file."""


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
        rpc_servers: `host:port` of the other machines whose devices are among the GPUs; `devices` then names
            all GPUs, each server's being `RPC...`.
        commit_left_bytes: Windows: what programs may still allocate, page file included. Mapped files do not
            count. None elsewhere.
        os_name: `Windows`, `Linux`, ...; None = not known.
        speeds: What else was measured to predict speeds from.
        corrections: What the engine's own figures have taught about plans for this model.
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
    rpc_servers: tuple[str, ...] = ()
    commit_left_bytes: int | None = None
    os_name: str | None = None
    speeds: MachineSpeeds | None = None
    corrections: Corrections | None = None

    def ram_left(self, gpu_bytes: Sequence[int]) -> int:
        """Return what is left of RAM when the GPUs hold so much: a chip's own memory is filled first."""
        shared = zip(gpu_bytes, self.vram_free_bytes, self.shared_vram_bytes, strict=False)
        taken = sum(max(0, held - (free - part)) for held, free, part in shared)
        return max(0, self.ram_free_bytes - taken)


@dataclass(frozen=True, slots=True)
class ExpertWishes:
    """Options fixed by hand, named as in `EngineOptions`; None means "you decide".

    Attributes:
        extra_flags: Words for a llama-server's command line as they are.

    Raises:
        OptionError: a value is outside what an engine takes.
    """

    n_gpu_layers: int | None = None
    n_batch: int | None = None
    n_ubatch: int | None = None
    n_threads_batch: int | None = None
    flash_attn: str | None = None
    swa_full: bool | None = None
    load_mode: str | None = None
    op_offload: bool | None = None
    check_tensors: bool | None = None
    chat_template: str | None = None
    extra_flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_bounds(self)

    def fixed(self) -> dict[str, Any]:
        """Return what was fixed, by name."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value not in (None, ())}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the person asks for; None means "you decide".

    Attributes:
        moe: `auto`, `off`, `all`, or a number N of blocks as llama.cpp counts them.
        n_ctx: Tokens.
        kv_type: Element type for K and V.
        cache_ram_mib: RAM for prompts already read, as servers keep them; none unless asked for.
        expert: All other options that can be fixed by hand.
    """

    moe: str | int = "auto"
    n_ctx: int | None = None
    kv_type: str | None = None
    repack: bool | None = None
    n_threads: int | None = None
    cache_ram_mib: int = 0
    expert: ExpertWishes = field(default_factory=ExpertWishes)


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """What one device will hold.

    Attributes:
        name: `GPU0`, `GPU1`, ... in the budget's order, or `CPU`.
        parts: Bytes by `Part`; their sum is `planned_bytes`.
        expected_error_bytes: By how much it may turn out fuller or emptier; None where nobody can tell.
    """

    name: str
    free_bytes: int
    planned_bytes: int
    parts: dict[Part, int] = field(default_factory=dict)
    expected_error_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SpeedRange:
    """Tokens per second, decode, as a range."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class DiskReads:
    """What a token costs where RAM cannot hold all experts that are not on a GPU.

    Attributes:
        token_cycle_bytes: Of all experts that one token uses in those blocks, one after the other.
        cache_bytes: What RAM can hold of them.
        hit_share: Of the cycle, what is found in RAM; `is_hit_stated` when it was measured or given, else it
            is what others measured with a cache of that share.
        missed_bytes: Read from the drive for each token.
        bytes_per_second: Of the drive, with many pieces at a time.
    """

    token_cycle_bytes: int
    cache_bytes: int
    hit_share: float
    is_hit_stated: bool
    missed_bytes: int
    bytes_per_second: float | None = None

    @property
    def is_below_cliff(self) -> bool:
        """Whether RAM holds less than one token's cycle: each expert is gone before it is needed again."""
        return self.cache_bytes < self.token_cycle_bytes


@dataclass(frozen=True, slots=True)
class SpeedForecast:
    """How fast a plan answers. Ranges are tokens per second.

    Attributes:
        expected: Decode, the most likely.
        prefill: Reading a prompt; None when that was not measured.
        prompt_tokens: Of the prompt that `first_answer_seconds` is for: (shortest, longest) time to the
            first token of its answer, with the model loaded.
        seconds_by_tier: Per token, `vram`, `ram`, `disk` and `overhead`, as expected.
        basis: The weakest that matters.
        disk: None when RAM and GPUs hold everything.
        correction_factor: Measured over predicted, as far as answers here taught it; it is in all of it.
            1 where nothing was predicted, and then `seconds_by_tier` is empty.
    """

    decode: SpeedRange
    expected: float
    basis: SpeedBasis
    seconds_by_tier: dict[str, float]
    prefill: SpeedRange | None = None
    prompt_tokens: int = 0
    first_answer_seconds: tuple[float, float] | None = None
    disk: DiskReads | None = None
    correction_factor: float = 1.0


class Sacrifice(StrEnum):
    """What a step has less of than the plan it belongs to."""

    GPU = "gpu"
    LAYERS_ON_GPU = "layers_on_gpu"
    EXPERTS_ON_GPU = "experts_on_gpu"
    CONTEXT = "context"
    CACHE_PRECISION = "cache_precision"
    PROMPT_SPEED = "prompt_speed"


@dataclass(frozen=True, slots=True)
class LadderStep:
    """A plan the person can fall back to.

    Attributes:
        name: `fast`, `safe`, `minimum`; `bigger_context` for the one beside them.
        changes: Names of the options that differ from the plan above it.
        vram_bytes: On all GPUs together. ram_bytes and disk_bytes as in `OffloadPlan`.
        sacrifices: Given up against the plan the step belongs to, the gravest first.
    """

    name: str
    options: EngineOptions
    changes: tuple[str, ...]
    vram_bytes: int = 0
    ram_bytes: int = 0
    disk_bytes: int = 0
    tokens_per_second: SpeedRange | None = None
    sacrifices: tuple[Sacrifice, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpertCacheOutlook:
    """What an engine's own cache of experts in VRAM would give instead of whole layers of them.

    Attributes:
        cache_bytes: Per GPU, what is free for it with all routed experts in RAM.
        cached_share: Of all routed expert bytes.
        kept_share: Of them, what the plan keeps in VRAM instead.
        hit_share_low: Experts a token needs that are found in the cache, by what others measured on real
            models; hit_share_high likewise. 0 when it is smaller than what one token needs.
        reads_fewer_from_ram: It leaves less to read from RAM for each token than the plan does, at the low
            end; False = the plan is as good; None = which of them is depends on the model.
    """

    cache_bytes: tuple[int, ...]
    cached_share: float
    kept_share: float
    hit_share_low: float
    hit_share_high: float
    reads_fewer_from_ram: bool | None


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """Where a model goes.

    Attributes:
        devices: GPUs in order, then `CPU`.
        ram_bytes: Held in RAM, mapped weights included.
        disk_bytes: Routed expert bytes beyond what RAM can hold; read from disk while answering.
        ladder: The plan itself, then ever safer ones.
        bigger_context: The same with the longest context that costs less than a twentieth of the speed; None
            when it is as long already.
        expert_cache: None unless GPUs and RAM share the routed experts.
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
    bigger_context: LadderStep | None = None
    expert_cache: ExpertCacheOutlook | None = None
    forecast: SpeedForecast | None = None
