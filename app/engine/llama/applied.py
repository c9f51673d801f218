"""Options in force, as the engine itself states them: its getters and its log, never the request."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from app.engine.llama.bindings import Library
from app.engine.protocol import BufferUse
from app.options import EngineOptions

_LAYER_DEVICE: Final = re.compile(r"layer\s+\d+ assigned to device ([^,\s]{1,64})")
_ON_CPU: Final = re.compile(r"blk\.(\d{1,4})\.ffn_\w{2,32}\.weight .{0,80}buffer type overridden to CPU")
_USED_DEVICE: Final = re.compile(r"using device (\S{1,64}) \(([^)]{0,256})\)")
_LOAD_MODE: Final = re.compile(r"load_mode = (\w{1,16})")
_KV_TYPES: Final = re.compile(r"K \((\w{1,16})\):.{0,64}V \((\w{1,16})\):")
_FLASH: Final = re.compile(
    r"flash_attn\s+= (enabled|disabled)|Flash Attention (enabled|disabled|not supported)"
)
_KV_OVERRIDE: Final = re.compile(r"Using metadata override \(\s*\w{1,8}\) '(.{1,128}?)' = ")
_ENDPOINT: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}:\d{1,5}")

_REPACKED: Final = ("REPACK", "AMX")
"""Parts of the names of buffers whose weights were rearranged."""


def applied_options(
    library: Library,
    context: Any,
    asked: EngineOptions,
    lines: Sequence[str],
    buffers: Sequence[BufferUse],
) -> dict[str, Any]:
    """Return what is in force by field name; a field the engine says nothing about is absent."""
    values = {**_from_getters(library, context), **_from_log(lines), **_from_buffers(asked, buffers)}
    values["cache_ram_mib"] = 0  # the worker keeps one conversation, in the KV cache only
    values.update(_expert_placement(asked, lines))
    confirmed = set(_all(_KV_OVERRIDE, lines))
    if asked.kv_overrides and confirmed:
        values["kv_overrides"] = [[key, value] for key, value in asked.kv_overrides if key in confirmed]
    return {name: value for name, value in values.items() if value is not None}


def _from_getters(library: Library, context: Any) -> dict[str, Any]:
    llama = library.llama
    return {
        "n_ctx": llama.llama_n_ctx(context),
        "n_batch": llama.llama_n_batch(context),
        "n_ubatch": llama.llama_n_ubatch(context),
        "n_threads": llama.llama_n_threads(context),
        "n_threads_batch": llama.llama_n_threads_batch(context),
        "n_parallel": llama.llama_n_seq_max(context),
    }


def _from_log(lines: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {"load_mode": _last(_LOAD_MODE, lines), "flash_attn": _flash(lines)}
    for line in lines:
        if types := _KV_TYPES.search(line):
            values["type_k"], values["type_v"] = types.groups()
    # "offloaded N/N layers to GPU" is printed without any GPU; where each layer went is true
    if layers := _all(_LAYER_DEVICE, lines):
        values["n_gpu_layers"] = sum(1 for device in layers if device != "CPU")
    used = [match.groups() for line in lines if (match := _USED_DEVICE.search(line))]
    values["devices"] = [name for name, _ in used]
    values["rpc_servers"] = [where for _, where in used if _ENDPOINT.fullmatch(where)]
    return values


def _from_buffers(asked: EngineOptions, buffers: Sequence[BufferUse]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    weights = [use.device for use in buffers if use.part == "model"]
    is_repacked = any(mark in device for device in weights for mark in _REPACKED)
    if is_repacked or not asked.repack:  # allowed but unused says nothing: not every type can be rearranged
        values["repack"] = is_repacked
    caches = {use.device for use in buffers if use.part == "kv_cache"}
    if caches and any(not device.startswith("CPU") for device in weights):
        values["offload_kqv"] = any(not device.startswith("CPU") for device in caches)
    return values


def _expert_placement(asked: EngineOptions, lines: Sequence[str]) -> dict[str, Any]:
    """Return `cpu_moe` and `n_cpu_moe` by the expert tensors whose placement the log overrides."""
    blocks = {int(index) for index in _all(_ON_CPU, lines)}
    if asked.cpu_moe:
        return {"cpu_moe": bool(blocks), "n_cpu_moe": 0}
    if asked.cpu_moe_blocks:
        return {"cpu_moe": False, "n_cpu_moe": 0, "cpu_moe_blocks": tuple(sorted(blocks))}
    return {"cpu_moe": False, "n_cpu_moe": max(blocks) + 1 if blocks else 0}


def _flash(lines: Sequence[str]) -> str | None:
    for line in reversed(lines):
        if match := _FLASH.search(line):
            return "on" if "enabled" in match.groups() else "off"
    return None


def _all(pattern: re.Pattern[str], lines: Iterable[str]) -> list[str]:
    return [match[1] for line in lines if (match := pattern.search(line))]


def _last(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    found = _all(pattern, lines)
    return found[-1] if found else None
