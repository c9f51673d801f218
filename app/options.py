"""EngineOptions: every value an engine takes, with bounds and tested defaults; and how it samples."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

ALL_LAYERS: Final = 999
"""`n_gpu_layers` for "all": above any layer count, since engines count an output layer too."""

KV_CACHE_TYPES: Final = ("f16", "bf16", "f32", "q8_0", "q5_1", "q5_0", "iq4_nl", "q4_1", "q4_0")
FLASH_ATTENTION_MODES: Final = ("auto", "on", "off")
LOAD_MODES: Final = ("auto", "none", "mmap", "mlock")
SPLIT_MODES: Final = ("none", "layer", "row")
CHAT_TEMPLATES: Final = ("auto", "chatml")

CONTEXT_DEFAULT: Final = 8192
CONTEXT_ROOMY: Final = 16384
UBATCH_DEFAULT: Final = 512
UBATCH_BIG_VOCABULARY: Final = 128
BIG_VOCABULARY: Final = 200_000
RESERVE_DISPLAY_GPU_BYTES: Final = 1024 * 1024**2
RESERVE_OTHER_GPU_BYTES: Final = 512 * 1024**2

BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "n_ctx": (0, 16_777_216),
    "n_batch": (1, 65_536),
    "n_ubatch": (1, 65_536),
    "n_gpu_layers": (0, ALL_LAYERS),
    "n_cpu_moe": (0, ALL_LAYERS),
    "n_threads": (1, 1024),
    "n_threads_batch": (1, 1024),
    "n_parallel": (1, 64),
    "main_gpu": (0, 63),
    "cache_ram_mib": (0, 1_048_576),
    "temperature": (0.0, 10.0),
    "top_k": (0, 1_000_000),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "repeat_penalty": (0.0, 10.0),
    "max_tokens": (1, 16_777_216),
    "seed": (0, 2**32 - 1),
}
"""Smallest and largest accepted value, by field name."""

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "flash_attn": FLASH_ATTENTION_MODES,
    "type_k": KV_CACHE_TYPES,
    "type_v": KV_CACHE_TYPES,
    "load_mode": LOAD_MODES,
    "split_mode": SPLIT_MODES,
    "chat_template": CHAT_TEMPLATES,
}

KvOverrideValue = bool | int | float | str
KV_OVERRIDE_BYTES: Final = 127
"""Room for a key and for a text value in `llama_model_kv_override`, without the closing zero."""


def fits_override(key: str, value: KvOverrideValue) -> bool:
    """Return whether engines can be given this pair at load."""
    try:
        sizes = [len(text.encode()) for text in (key, value) if isinstance(text, str)]
    except UnicodeEncodeError:  # half of a character, from the command line
        return False
    is_in_range = not isinstance(value, int) or -(2**63) <= value < 2**63
    return bool(key) and max(sizes) <= KV_OVERRIDE_BYTES and is_in_range


class OptionError(ValueError):
    """A value is outside what an engine takes."""

    def __init__(self, field_name: str, value: object, accepted: str) -> None:
        super().__init__(f"{field_name} is {value!r}, accepted: {accepted}")
        self.field_name = field_name
        self.value = value
        self.accepted = accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Everything asked of an engine when it loads a model. Names are llama.cpp's.

    A backend maps every field, or refuses the load naming the field it cannot map.

    Attributes:
        n_ctx: Context in tokens; 0 means the model's own.
        n_batch: Largest logical batch, tokens; an engine notices a cancel only between two of them.
        n_ubatch: Largest physical batch, tokens; sizes the compute buffers.
        n_gpu_layers: Layers put on GPU devices; `ALL_LAYERS` for all, 0 for none.
        cpu_moe: Routed experts of all blocks stay in CPU buffers (`--cpu-moe`).
        n_cpu_moe: The same for blocks 0 .. N-1, counted by block index (`--n-cpu-moe`).
        cpu_moe_blocks: The same for these blocks, where they are not the first ones.
        n_threads: Threads for single tokens.
        n_threads_batch: Threads for batches.
        flash_attn: `auto`, `on` or `off`.
        type_k: Element type of the K cache.
        type_v: Element type of the V cache.
        swa_full: Keep the whole context for sliding-window layers too.
        load_mode: How weights get into memory: `auto`, `none` (read), `mmap`, `mlock`.
        repack: CPU weights may be rearranged for speed (`use_extra_bufts`; False is `--no-repack`).
        offload_kqv: KV cache on the GPU.
        op_offload: Large batches of host-side weights may be computed on the GPU.
        n_parallel: Slots (sequences at a time).
        cache_ram_mib: RAM a server may use to keep old prompts, MiB.
        devices: Engine device names to use, in order; empty means all the engine sees.
        split_mode: How layers spread over several GPUs.
        tensor_split: Share per device; empty means by free memory.
        main_gpu: Index of the GPU used when `split_mode` is `none`.
        rpc_servers: `host:port` of llama.cpp RPC servers to add as devices.
        kv_overrides: Metadata values that replace the file's own, e.g. `qwen3moe.expert_count`.
        check_tensors: Refuse weights with invalid values.
        extra_flags: Words for the command line of a llama-server, as they are; other engines refuse them.
        chat_template: Whose format prompts get: `auto` for the model's own where it has one, else ChatML;
            `chatml` for ChatML in any case.
    """

    n_ctx: int = CONTEXT_DEFAULT
    n_batch: int = UBATCH_DEFAULT
    n_ubatch: int = UBATCH_DEFAULT
    n_gpu_layers: int = ALL_LAYERS
    cpu_moe: bool = False
    n_cpu_moe: int = 0
    cpu_moe_blocks: tuple[int, ...] = ()
    n_threads: int = 1
    n_threads_batch: int = 1
    flash_attn: str = "auto"
    type_k: str = "f16"
    type_v: str = "f16"
    swa_full: bool = False
    load_mode: str = "mmap"
    repack: bool = True
    offload_kqv: bool = True
    op_offload: bool = True
    n_parallel: int = 1
    cache_ram_mib: int = 0
    devices: tuple[str, ...] = ()
    split_mode: str = "layer"
    tensor_split: tuple[float, ...] = ()
    main_gpu: int = 0
    rpc_servers: tuple[str, ...] = ()
    kv_overrides: tuple[tuple[str, KvOverrideValue], ...] = ()
    check_tensors: bool = False
    chat_template: str = "auto"
    extra_flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.n_ubatch > self.n_batch:
            raise OptionError("n_ubatch", self.n_ubatch, f"at most n_batch ({self.n_batch})")
        if self.cpu_moe and self.n_cpu_moe:
            raise OptionError("n_cpu_moe", self.n_cpu_moe, "0 when cpu_moe is set")
        if self.cpu_moe_blocks and (self.cpu_moe or self.n_cpu_moe):
            raise OptionError("cpu_moe_blocks", self.cpu_moe_blocks, "none when cpu_moe or n_cpu_moe is set")
        if any(type(block) is not int or not 0 <= block < ALL_LAYERS for block in self.cpu_moe_blocks):
            raise OptionError("cpu_moe_blocks", self.cpu_moe_blocks, f"0 to {ALL_LAYERS - 1}")

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name; tuples become lists."""
        values = asdict(self)
        values["kv_overrides"] = [list(pair) for pair in self.kv_overrides]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "EngineOptions":
        """Read back what `to_json` wrote; absent fields take their defaults.

        Raises:
            OptionError: an unknown field, or a value out of bounds.
        """
        if not isinstance(data, Mapping):
            raise OptionError("options", data, "an object of options by name")
        known = {f.name for f in fields(cls)}
        for name in data:
            if name not in known:
                raise OptionError(name, data[name], "no such option")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        if "kv_overrides" in values:
            values["kv_overrides"] = tuple((k, v) for k, v in values["kv_overrides"])
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """How the next token is chosen, and when to stop.

    Attributes:
        temperature: 0 means greedy.
        seed: None lets the engine draw one.
        max_tokens: Most tokens of one answer; None means until the context is full.
        stop: Texts that end the answer; not part of it.
    """

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_bounds(self)


def changed_options(before: EngineOptions, after: EngineOptions) -> dict[str, tuple[Any, Any]]:
    """Return the fields that differ, as name -> (before, after)."""
    pairs = {f.name: (getattr(before, f.name), getattr(after, f.name)) for f in fields(before)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def default_n_ctx(context_length: int | None, *, has_room: bool = False) -> int:
    """Return the context to plan for, in tokens.

    Args:
        context_length: What the model was trained for; None when the file does not say.
        has_room: The plan has room for `CONTEXT_ROOMY` without moving anything off the GPU.
    """
    wanted = CONTEXT_ROOMY if has_room else CONTEXT_DEFAULT
    return wanted if not context_length else min(wanted, context_length)


def default_n_ubatch(vocabulary_size: int | None, *, is_small_machine: bool) -> int:
    """Return the physical batch: compute buffers grow with batch times vocabulary."""
    is_big = vocabulary_size is not None and vocabulary_size > BIG_VOCABULARY
    return UBATCH_BIG_VOCABULARY if is_big and is_small_machine else UBATCH_DEFAULT


def default_n_threads(physical_performance_cores: int, busy_cores: float = 0.0) -> int:
    """Return the free physical performance cores; more threads make decoding several times slower."""
    return max(1, physical_performance_cores - round(busy_cores))


def default_repack(routed_expert_bytes: int, ram_free_bytes: int) -> bool:
    """Repacked weights are copies that cannot be paged back in: off when the experts exceed free RAM."""
    return routed_expert_bytes <= ram_free_bytes


def reserve_bytes(*, drives_display: bool) -> int:
    """Return the VRAM a plan leaves free on one GPU."""
    return RESERVE_DISPLAY_GPU_BYTES if drives_display else RESERVE_OTHER_GPU_BYTES


def check_bounds(options: Any) -> None:
    """Check every field that has bounds or choices; None is always accepted.

    Raises:
        OptionError: a value is outside what an engine takes.
    """
    for f in fields(options):
        value = getattr(options, f.name)
        if value is None:
            continue
        if f.name in BOUNDS:
            low, high = BOUNDS[f.name]
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise OptionError(f.name, value, f"{low} to {high}")
        if f.name in CHOICES and value not in CHOICES[f.name]:
            raise OptionError(f.name, value, ", ".join(CHOICES[f.name]))
