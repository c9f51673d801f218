"""EngineOptions to llama.cpp's parameter structures: every field, or a refusal that names it."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from app.engine.llama.bindings import Library
from app.engine.llama.devices import Device, cpu_buffer_type, list_devices
from app.engine.llama.overrides import expert_patterns, metadata_overrides, tensor_overrides
from app.findings import FindingCode, FindingError, error
from app.options import EngineOptions

GGML_TYPES: Final[Mapping[str, int]] = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
    "bf16": 30,
}
"""`enum ggml_type` in ggml.h."""

FLASH_ATTENTION: Final[Mapping[str, int]] = {"auto": -1, "off": 0, "on": 1}
LOAD_MODES: Final[Mapping[str, int]] = {"auto": -1, "none": 0, "mmap": 1, "mlock": 2}
SPLIT_MODES: Final[Mapping[str, int]] = {"none": 0, "layer": 1, "row": 2}
"""The enums of the same names in llama.h."""

LOGIT_ROWS: Final = "n_outputs_max"
"""Logits are read behind the last token of a batch only; without this, room is taken for those of all tokens:
96 MiB for the default MoE, 514 for a vocabulary of 262144."""

NO_GPU: Final = -1
"""`main_gpu` for "none of them"; any index would fail the load where there is no GPU."""


@dataclass(frozen=True, slots=True)
class NativeParams:
    """What the two load calls take.

    Attributes:
        kept: Arrays the structures point into; hold them until the model is freed.
    """

    model: Any
    context: Any
    kept: tuple[Any, ...]


def native_params(library: Library, options: EngineOptions) -> NativeParams:
    """Return both structures for `options`. RPC servers are devices by then.

    Raises:
        FindingError: `OPTION_UNSUPPORTED` with the field's name.
    """
    if options.n_parallel != 1:  # one worker answers one conversation
        raise unsupported("n_parallel", options.n_parallel)
    if options.extra_flags:  # there is no command line
        raise unsupported("extra_flags", " ".join(options.extra_flags))
    devices = list_devices(library)
    model, kept = _model_params(library, options, devices)
    return NativeParams(model, _context_params(library, options), kept)


def check_params(library: Library, options: EngineOptions) -> NativeParams:
    """Return structures for a dry run: metadata and tensor shapes are checked, no tensor is read.

    `no_alloc` aborts the process with any load mode but NONE.
    """
    model = library.llama.llama_model_default_params()
    overrides = metadata_overrides(library, options.kv_overrides)
    values = {
        "no_alloc": True,
        "load_mode": LOAD_MODES["none"],
        "n_gpu_layers": 0,
        "use_extra_bufts": False,
        "kv_overrides": overrides,
    }
    for name, value in values.items():
        if not library.has_field(model, name):
            raise FindingError(error(FindingCode.ENGINE_CHECK_UNAVAILABLE))
        setattr(model, name, value)
    return NativeParams(model, None, (overrides,))


def reserve_params(library: Library, options: EngineOptions) -> NativeParams:
    """Return structures with which model and context are made without memory behind them.

    Raises:
        FindingError: `OPTION_UNSUPPORTED`, or this build has no dry run.
    """
    params = native_params(library, replace(options, load_mode="none"))
    if not library.has_field(params.model, "no_alloc"):
        raise FindingError(error(FindingCode.ENGINE_CHECK_UNAVAILABLE))
    params.model.no_alloc = True
    return params


def unsupported(name: str, value: object) -> FindingError:
    """Return the refusal of one option."""
    return FindingError(error(FindingCode.OPTION_UNSUPPORTED, name=name, value=str(value)))


def _model_params(
    library: Library, options: EngineOptions, devices: Sequence[Device]
) -> tuple[Any, tuple[Any, ...]]:
    experts = tensor_overrides(expert_patterns(options), cpu_buffer_type(library))
    metadata = metadata_overrides(library, options.kv_overrides)
    chosen = _device_array(options, devices)
    shares = _shares(library, options)
    has_gpu = any(device.info.kind in ("gpu", "igpu") for device in devices)
    is_pointless = options.split_mode == "none" and not has_gpu
    placing = "cpu_moe" if options.cpu_moe else "cpu_moe_blocks" if options.cpu_moe_blocks else "n_cpu_moe"
    fields: dict[str, tuple[str, Any]] = {
        "devices": ("devices", chosen),
        placing: ("tensor_buft_overrides", ctypes.cast(experts, ctypes.c_void_p)),
        "n_gpu_layers": ("n_gpu_layers", options.n_gpu_layers),
        "split_mode": ("split_mode", SPLIT_MODES[options.split_mode]),
        "load_mode": ("load_mode", LOAD_MODES[options.load_mode]),
        "main_gpu": ("main_gpu", NO_GPU if is_pointless else options.main_gpu),
        "tensor_split": ("tensor_split", shares),
        "kv_overrides": ("kv_overrides", metadata),
        "check_tensors": ("check_tensors", options.check_tensors),
        "repack": ("use_extra_bufts", options.repack),
    }
    params = library.llama.llama_model_default_params()
    _set_fields(library, params, fields, options)
    return params, (experts, metadata, chosen, shares)


def _context_params(library: Library, options: EngineOptions) -> Any:
    fields: dict[str, tuple[str, Any]] = {
        "n_ctx": ("n_ctx", options.n_ctx),
        "n_batch": ("n_batch", options.n_batch),
        "n_ubatch": ("n_ubatch", options.n_ubatch),
        "n_parallel": ("n_seq_max", options.n_parallel),
        "n_threads": ("n_threads", options.n_threads),
        "n_threads_batch": ("n_threads_batch", options.n_threads_batch),
        "flash_attn": ("flash_attn_type", FLASH_ATTENTION[options.flash_attn]),
        "type_k": ("type_k", GGML_TYPES[options.type_k]),
        "type_v": ("type_v", GGML_TYPES[options.type_v]),
        "offload_kqv": ("offload_kqv", options.offload_kqv),
        "op_offload": ("op_offload", options.op_offload),
        "swa_full": ("swa_full", options.swa_full),
    }
    params = library.llama.llama_context_default_params()
    _set_fields(library, params, fields, options)
    if library.has_field(params, LOGIT_ROWS):
        params.n_outputs_max = 1
    return params


def _set_fields(
    library: Library, params: Any, fields: Mapping[str, tuple[str, Any]], options: EngineOptions
) -> None:
    for option, (field, value) in fields.items():
        if not library.has_field(params, field):
            raise unsupported(option, getattr(options, option))
        setattr(params, field, value)


def _device_array(options: EngineOptions, devices: Sequence[Device]) -> Any:
    """Return the NULL-ended list of chosen devices; None lets the engine use all it has."""
    if not options.devices:
        return None
    usable = {device.info.name: device.handle for device in devices if device.info.kind != "cpu"}
    for name in options.devices:
        if name not in usable:
            raise unsupported("devices", name)
    handles = [usable[name] for name in options.devices]
    array = (ctypes.c_void_p * (len(handles) + 1))(*handles, None)
    return ctypes.cast(array, ctypes.c_void_p)


def _shares(library: Library, options: EngineOptions) -> Any:
    most = library.llama.llama_max_devices()
    if len(options.tensor_split) > most:
        raise unsupported("tensor_split", options.tensor_split)
    if not options.tensor_split:
        return None
    return (ctypes.c_float * most)(*options.tensor_split)
