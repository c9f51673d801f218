"""Arrays of the C API that override tensor placement and metadata. Each must outlive the load."""

import ctypes
from collections.abc import Sequence
from typing import Any, Final

from app.engine.llama.bindings import Library
from app.findings import FindingCode, FindingError, error
from app.options import EngineOptions, KvOverrideValue, fits_override

ROUTED_EXPERTS: Final = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""Names of routed expert tensors (LLM_FFN_EXPS_REGEX in llama.cpp's common.h)."""


class TensorBufferOverride(ctypes.Structure):
    """`struct llama_model_tensor_buft_override`."""

    _fields_ = (("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p))


def expert_patterns(options: EngineOptions) -> tuple[str, ...]:
    """Return the patterns whose tensors stay in CPU buffers; first match wins."""
    if options.cpu_moe:
        return (ROUTED_EXPERTS,)
    blocks = options.cpu_moe_blocks or range(options.n_cpu_moe)
    return tuple(rf"blk\.{block}{ROUTED_EXPERTS}" for block in blocks)


def tensor_overrides(patterns: Sequence[str], buffer_type: int) -> Any:
    """Return the array the model parameters point to; an empty entry ends it."""
    array = (TensorBufferOverride * (len(patterns) + 1))()
    for entry, pattern in zip(array, patterns, strict=False):
        entry.pattern = pattern.encode("ascii")
        entry.buffer_type = buffer_type
    return array


def metadata_overrides(library: Library, pairs: Sequence[tuple[str, KvOverrideValue]]) -> Any:
    """Return the typed array of metadata overrides; an empty key ends it.

    Raises:
        FindingError: `OPTION_UNSUPPORTED` for a pair that does not fit into the C structure.
    """
    array = (library.llama.llama_model_kv_override * (len(pairs) + 1))()
    for entry, (key, value) in zip(array, pairs, strict=False):
        if not fits_override(key, value):
            name = "kv_overrides"
            raise FindingError(error(FindingCode.OPTION_UNSUPPORTED, name=name, value=f"{key}={value}"))
        entry.key = key.encode()
        _set_value(library, entry, value)
    return array


def _set_value(library: Library, entry: Any, value: KvOverrideValue) -> None:
    if isinstance(value, bool):
        entry.tag = library.llama.LLAMA_KV_OVERRIDE_TYPE_BOOL
        entry.value.val_bool = value
    elif isinstance(value, int):
        entry.tag = library.llama.LLAMA_KV_OVERRIDE_TYPE_INT
        entry.value.val_i64 = value
    elif isinstance(value, float):
        entry.tag = library.llama.LLAMA_KV_OVERRIDE_TYPE_FLOAT
        entry.value.val_f64 = value
    else:
        entry.tag = library.llama.LLAMA_KV_OVERRIDE_TYPE_STR
        entry.value.val_str = value.encode()
