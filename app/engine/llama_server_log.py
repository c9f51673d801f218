"""What llama-server says it applied: its log at verbosity 4, `/props`, `/slots`. Pure; never raises."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from app.options import EngineOptions

_HOST_BUFFERS: Final = ("CPU", "AMX", "BLAS", "Host")
_REPACKED: Final = ("CPU_REPACK", "AMX")

_NUMBERS: Final[Mapping[str, re.Pattern[str]]] = {
    "n_ctx": re.compile(r"llama_context: n_ctx +=\s*(\d+)"),
    "n_batch": re.compile(r"llama_context: n_batch +=\s*(\d+)"),
    "n_ubatch": re.compile(r"llama_context: n_ubatch +=\s*(\d+)"),
    "n_parallel": re.compile(r"initializing, n_slots = (\d+)"),
    "n_threads": re.compile(r"system_info: n_threads = (\d+)"),
    "n_threads_batch": re.compile(r"system_info: .*?\(n_threads_batch = (\d+)\)"),
    "cache_ram_mib": re.compile(r"prompt cache is enabled, size limit: (\d+) MiB"),
}
_WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    "type_k": re.compile(r"\bK \((\w+)\):"),
    "type_v": re.compile(r"\bV \((\w+)\):"),
    "load_mode": re.compile(r"\(load_mode = ([\w+]+)\)"),
}
_FLASH: Final = (
    re.compile(r"llama_context: flash_attn +=\s*(enabled|disabled)"),
    re.compile(r"Flash Attention (?:was auto, set to )?(enabled|disabled)"),
)
_NO_PROMPT_CACHE: Final = "prompt cache is disabled"
_OFFLOADED: Final = re.compile(r"offloaded (\d+)/\d+ layers to GPU")
_MODEL_BUFFER: Final = re.compile(r"(?P<device>[A-Za-z]\w*)(?:\[\S*\])? +model buffer size")
_DEVICE: Final = re.compile(r"\busing device (\S+) ")
_OVERRIDE: Final = re.compile(
    r"Using metadata override \(\s*(?P<type>\w+)\) '(?P<key>[^']+)' = (?P<value>.*)$"
)


def read_applied(lines: Sequence[str], props: Any, asked: EngineOptions) -> dict[str, Any]:
    """Return option values in force by `EngineOptions` field name; a field nothing speaks of is absent.

    "offloaded N/N layers" is printed even without a GPU, so it counts only when a device other than
    the CPU holds model weights.

    Args:
        props: The JSON of `/props`, or None.
    """
    applied: dict[str, Any] = {}
    for name, pattern in _NUMBERS.items():
        if found := _last(pattern, lines):
            applied[name] = int(found)
    for name, pattern in _WORDS.items():
        if found := _last(pattern, lines):
            applied[name] = found
    applied |= _flash_attention(lines) | _placement(lines, asked) | _overrides(lines)
    if any(_NO_PROMPT_CACHE in line for line in lines):
        applied["cache_ram_mib"] = 0
    if isinstance(slots := _at(props, "total_slots"), int):
        applied["n_parallel"] = slots
    return applied


def context_of_one_slot(props: Any, slots: Any) -> int | None:
    """Return the tokens one conversation has, from `/slots`, else `/props`."""
    if isinstance(slots, list) and slots and isinstance(value := _at(slots[0], "n_ctx"), int):
        return value
    value = _at(_at(props, "default_generation_settings"), "n_ctx")
    return value if isinstance(value, int) else None


def _flash_attention(lines: Iterable[str]) -> dict[str, Any]:
    said = [match.group(1) for line in lines for pattern in _FLASH if (match := pattern.search(line))]
    return {"flash_attn": "on" if said[-1] == "enabled" else "off"} if said else {}


def _placement(lines: Sequence[str], asked: EngineOptions) -> dict[str, Any]:
    holders = [match["device"] for line in lines if (match := _MODEL_BUFFER.search(line))]
    if not holders:
        return {}
    applied: dict[str, Any] = {}
    on_gpu = any(not name.startswith(_HOST_BUFFERS) and not name.endswith("_Host") for name in holders)
    offloaded = _last(_OFFLOADED, lines)
    if not on_gpu:
        applied["n_gpu_layers"] = 0
    elif offloaded is not None:
        applied["n_gpu_layers"] = int(offloaded)
    devices = [match.group(1) for line in lines if (match := _DEVICE.search(line))]
    if devices:
        applied["devices"] = list(dict.fromkeys(devices))
    is_repacked = any(name.startswith(_REPACKED) for name in holders)
    if is_repacked or not asked.repack:  # with `repack` on, nothing repacked may just mean nothing to repack
        applied["repack"] = is_repacked
    return applied


def _overrides(lines: Iterable[str]) -> dict[str, Any]:
    found = {m["key"]: _override_value(m["type"], m["value"]) for x in lines if (m := _OVERRIDE.search(x))}
    return {"kv_overrides": [[key, value] for key, value in found.items()]} if found else {}


def _override_value(kind: str, text: str) -> bool | int | float | str:
    try:
        match kind:
            case "int":
                return int(text)
            case "float":
                return float(text)
            case "bool":
                return text.strip() == "true"
    except ValueError:
        return text
    return text


def _last(pattern: re.Pattern[str], lines: Sequence[str]) -> str | None:
    return next((match.group(1) for line in reversed(lines) if (match := pattern.search(line))), None)


def _at(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None
