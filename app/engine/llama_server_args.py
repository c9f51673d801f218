"""EngineOptions -> the command line of one llama-server, from the switches its own `--help` knows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.engine.extra_flags import checked_flags
from app.engine.llama_server_capabilities import Capabilities
from app.findings import Finding, FindingCode, FindingError, error, warning
from app.options import EngineOptions, KvOverrideValue

_QUANTISED_KV: Final = ("q8_0", "q5_1", "q5_0", "iq4_nl", "q4_1", "q4_0")
_SAFE_KV: Final = "f16"
LOG_LEVEL_OF_BUFFERS: Final = "4"
"""The least verbosity at which b10434 prints its "buffer size" lines; 5 would log prompts too."""

Mapper = Callable[[EngineOptions, Capabilities], list[str] | None]
"""Returns the arguments of one option, or None when this executable cannot be told its value."""


def _value(field_name: str, *spellings: str) -> Mapper:
    """Map a field that is always spoken out, so that no default of the engine decides."""

    def arguments(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
        switch = capabilities.first_known(*spellings)
        return None if switch is None else [switch, str(getattr(options, field_name))]

    return arguments


def _joined(field_name: str, *spellings: str) -> Mapper:
    """Map a tuple; empty leaves the matter to the engine."""

    def arguments(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
        values = getattr(options, field_name)
        switch = capabilities.first_known(*spellings)
        if not values:
            return []
        return None if switch is None else [switch, ",".join(f"{value}" for value in values)]

    return arguments


def _flag(field_name: str, *spellings: str, when: bool = True) -> Mapper:
    """Map a boolean that has a switch for the value `when` only; the other one is every engine's default."""

    def arguments(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
        if getattr(options, field_name) is not when:
            return []
        switch = capabilities.first_known(*spellings)
        return None if switch is None else [switch]

    return arguments


def _n_cpu_moe(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    if options.n_cpu_moe == 0:
        return []
    return _value("n_cpu_moe", "--n-cpu-moe", "-ncmoe")(options, capabilities)


def _cpu_moe_blocks(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    if not options.cpu_moe_blocks:
        return []
    switch = capabilities.first_known("--override-tensor", "-ot")
    numbers = "|".join(map(str, options.cpu_moe_blocks))
    names = r"ffn_(up|down|gate|gate_up)_(ch|)exps"
    return None if switch is None else [switch, rf"blk\.({numbers})\.{names}=CPU"]


def _flash_attn(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    switch = capabilities.first_known("--flash-attn", "-fa")
    if switch is None:
        return None
    if capabilities.mentions(switch, "auto"):
        return [switch, options.flash_attn]
    # before `auto` existed it was a bare flag, off by default
    return {"on": [switch], "off": []}.get(options.flash_attn)


def _cache_type(field_name: str, *spellings: str) -> Mapper:
    def arguments(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
        switch = capabilities.first_known(*spellings)
        value = getattr(options, field_name)
        if switch is None:
            return None
        lists_types = capabilities.mentions(switch, "allowed values")
        return None if lists_types and not capabilities.mentions(switch, value) else [switch, value]

    return arguments


def _load_mode(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    switch = capabilities.first_known("--load-mode", "-lm")
    if switch is not None:
        return [switch, options.load_mode]
    older = {"none": "--no-mmap", "mlock": "--mlock"}.get(options.load_mode)
    if older is None:
        return []
    return [older] if capabilities.first_known(older) else None


def _kv_overrides(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    if not options.kv_overrides:
        return []
    switch = capabilities.first_known("--override-kv")
    if switch is None:
        return None
    pairs = [f"{key}={_typed(value)}" for key, value in options.kv_overrides]
    if not capabilities.mentions(switch, "comma-separated"):
        return [part for pair in pairs for part in (switch, pair)]
    if any("," in pair or '"' in pair for pair in pairs):
        return None  # the list has no way to quote them
    return [switch, ",".join(pairs)]


def _tensor_split(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    if not options.tensor_split:
        return []
    switch = capabilities.first_known("--tensor-split", "-ts")
    return None if switch is None else [switch, ",".join(f"{share:g}" for share in options.tensor_split)]


def _chat_template(options: EngineOptions, capabilities: Capabilities) -> list[str] | None:
    if options.chat_template == "auto":
        return []
    switch = capabilities.first_known("--chat-template")
    return None if switch is None else [switch, options.chat_template]


def _typed(value: KvOverrideValue) -> str:
    match value:
        case bool():
            return f"bool:{str(value).lower()}"
        case int():
            return f"int:{value}"
        case float():
            return f"float:{value!r}"
    return f"str:{value}"


OPTION_MAPPERS: Final[Mapping[str, Mapper]] = {
    "n_ctx": _value("n_ctx", "--ctx-size", "-c"),
    "n_batch": _value("n_batch", "--batch-size", "-b"),
    "n_ubatch": _value("n_ubatch", "--ubatch-size", "-ub"),
    "n_gpu_layers": _value("n_gpu_layers", "--n-gpu-layers", "--gpu-layers", "-ngl"),
    "cpu_moe": _flag("cpu_moe", "--cpu-moe", "-cmoe"),
    "n_cpu_moe": _n_cpu_moe,
    "cpu_moe_blocks": _cpu_moe_blocks,
    "n_threads": _value("n_threads", "--threads", "-t"),
    "n_threads_batch": _value("n_threads_batch", "--threads-batch", "-tb"),
    "flash_attn": _flash_attn,
    "type_k": _cache_type("type_k", "--cache-type-k", "-ctk"),
    "type_v": _cache_type("type_v", "--cache-type-v", "-ctv"),
    "swa_full": _flag("swa_full", "--swa-full"),
    "load_mode": _load_mode,
    "repack": _flag("repack", "--no-repack", "-nr", when=False),
    "offload_kqv": _flag("offload_kqv", "--no-kv-offload", "-nkvo", when=False),
    "op_offload": _flag("op_offload", "--no-op-offload", when=False),
    "n_parallel": _value("n_parallel", "--parallel", "-np"),
    "cache_ram_mib": _value("cache_ram_mib", "--cache-ram", "-cram"),
    # in this order: a server's device exists for `--device` only once `--rpc` has been read
    "rpc_servers": _joined("rpc_servers", "--rpc"),
    "devices": _joined("devices", "--device", "-dev"),
    "split_mode": _value("split_mode", "--split-mode", "-sm"),
    "tensor_split": _tensor_split,
    "main_gpu": _value("main_gpu", "--main-gpu", "-mg"),
    "kv_overrides": _kv_overrides,
    "check_tensors": _flag("check_tensors", "--check-tensors"),
    "chat_template": _chat_template,
    "extra_flags": lambda options, capabilities: checked_flags(options.extra_flags, capabilities),
}
"""Every field of `EngineOptions`; a test walks them."""


def option_arguments(options: EngineOptions, capabilities: Capabilities) -> list[str]:
    """Return the arguments for all options; placement is ours, so the engine's own fitting is off.

    Raises:
        FindingError: `OPTION_UNSUPPORTED` with the name of a field that differs from its default and
            has no switch.
    """
    defaults = EngineOptions()
    arguments = fixed_value(capabilities, "off", "--fit", "-fit")
    for name, mapper in OPTION_MAPPERS.items():
        mapped = mapper(options, capabilities)
        if mapped is not None:
            arguments += mapped
        elif getattr(options, name) != getattr(defaults, name):
            value = getattr(options, name)
            shown = value if isinstance(value, str | int | float) else str(value)
            raise FindingError(error(FindingCode.OPTION_UNSUPPORTED, name=name, value=shown))
    return arguments


def service_arguments(path: Path, port: int, key_file: str, capabilities: Capabilities) -> list[str]:
    """Return the arguments that make it serve `path` to nobody but us on 127.0.0.1.

    Args:
        key_file: Name of a file with the key, relative to the child's folder, so that it stays ASCII.
    """
    arguments = ["--model", str(path), "--host", "127.0.0.1", "--port", str(port)]
    arguments += fixed_value(capabilities, key_file, "--api-key-file")
    arguments += _fixed_flag(capabilities, "--no-ui", "--no-webui")
    arguments += _fixed_flag(capabilities, "--jinja")
    arguments += fixed_value(capabilities, "none", "--reasoning-format")
    arguments += _fixed_flag(capabilities, "--no-context-shift")
    arguments += _fixed_flag(capabilities, "--slots")
    arguments += _fixed_flag(capabilities, "--offline")
    arguments += _fixed_flag(capabilities, "--no-log-prefix")
    arguments += _fixed_flag(capabilities, "--no-log-timestamps")
    if capabilities.mentions("--log-verbosity", f"{LOG_LEVEL_OF_BUFFERS}: trace"):
        arguments += ["--log-verbosity", LOG_LEVEL_OF_BUFFERS]
    return arguments


def fixed_value(capabilities: Capabilities, value: str, *spellings: str) -> list[str]:
    """Return switch and value if the executable knows the switch, else nothing."""
    switch = capabilities.first_known(*spellings)
    return [] if switch is None else [switch, value]


def without_impossible_kv(options: EngineOptions) -> tuple[EngineOptions, tuple[Finding, ...]]:
    """Return options whose KV types the engine can run, and a finding if they had to change.

    Quantised V needs flash attention. K and V change together, since MLA models take equal types only.
    """
    if options.flash_attn != "off" or options.type_v not in _QUANTISED_KV:
        return options, ()
    return with_safe_kv(options)


def with_safe_kv(options: EngineOptions) -> tuple[EngineOptions, tuple[Finding, ...]]:
    """Return the options with an unquantised KV cache, and the finding that says so."""
    finding = warning(
        FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION,
        type_k=options.type_k,
        type_v=options.type_v,
        applied=_SAFE_KV,
    )
    return replace(options, type_k=_SAFE_KV, type_v=_SAFE_KV), (finding,)


def has_quantised_v(options: EngineOptions) -> bool:
    """Say whether the V cache needs flash attention."""
    return options.type_v in _QUANTISED_KV


def _fixed_flag(capabilities: Capabilities, *spellings: str) -> list[str]:
    switch = capabilities.first_known(*spellings)
    return [] if switch is None else [switch]
