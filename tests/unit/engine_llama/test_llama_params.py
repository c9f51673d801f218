"""Every option reaches a structure of the engine, or is refused by its name."""

import ctypes
from dataclasses import fields, replace
from typing import Any

import pytest

from app.engine.llama.bindings import Library
from app.engine.llama.overrides import ROUTED_EXPERTS, TensorBufferOverride
from app.engine.llama.params import NativeParams, native_params
from app.findings import FindingCode, FindingError
from app.options import EngineOptions

pytestmark = pytest.mark.engine

CHANGED: dict[str, Any] = {
    "n_ctx": 1234,
    "n_batch": 1024,
    "n_ubatch": 64,
    "n_gpu_layers": 3,
    "cpu_moe": True,
    "cpu_moe_blocks": (1, 3),
    "n_cpu_moe": 5,
    "n_threads": 2,
    "n_threads_batch": 3,
    "flash_attn": "off",
    "type_k": "q8_0",
    "type_v": "q4_0",
    "swa_full": True,
    "load_mode": "none",
    "repack": False,
    "offload_kqv": False,
    "op_offload": False,
    "n_parallel": 2,
    "devices": ("NoSuchDevice0",),
    "split_mode": "row",
    "tensor_split": (3.0,),
    "main_gpu": 1,
    "kv_overrides": (("llama.expert_count", 8),),
    "check_tensors": True,
}
"""Another value than the default's for each field."""

ELSEWHERE = {"rpc_servers", "cache_ram_mib", "chat_template", "extra_flags"}
"""Servers become devices before the structures are built; the worker keeps no old prompts and says so;
prompts are made by us, from the template in force."""


def structures(library: Library, options: EngineOptions) -> dict[str, Any]:
    """Return all values of both structures, arrays followed."""
    params = native_params(library, options)
    values = {name: getattr(params.model, name) for name, _ in params.model._fields_}
    values |= {f"context.{name}": getattr(params.context, name) for name, _ in params.context._fields_}
    values = {name: value for name, value in values.items() if isinstance(value, int | float | None)}
    values["tensor_buft_overrides"] = patterns(params)
    shares = params.model.tensor_split
    values["tensor_split"] = shares[0] if shares else None
    overrides = params.model.kv_overrides
    values["kv_overrides"] = [(overrides[0].key, overrides[0].value.val_i64)]
    return values


def patterns(params: NativeParams) -> list[str]:
    """Return the patterns of the override array up to its end."""
    array = ctypes.cast(params.model.tensor_buft_overrides, ctypes.POINTER(TensorBufferOverride))
    found: list[str] = []
    while array[len(found)].pattern is not None:
        assert array[len(found)].buffer_type
        found.append(array[len(found)].pattern.decode())
    return found


def test_the_walk_knows_every_field() -> None:
    assert {f.name for f in fields(EngineOptions)} == set(CHANGED) | ELSEWHERE


@pytest.mark.parametrize("name", sorted(CHANGED))
def test_a_changed_option_changes_a_structure_or_is_refused_by_name(library: Library, name: str) -> None:
    before = structures(library, EngineOptions())
    try:
        after = structures(library, replace(EngineOptions(), **{name: CHANGED[name]}))
    except FindingError as reason:
        assert reason.finding.code is FindingCode.OPTION_UNSUPPORTED
        assert reason.finding.values["name"] == name
        assert name in ("n_parallel", "devices")
    else:
        assert after != before


def test_cpu_moe_is_one_pattern_for_all_blocks(library: Library) -> None:
    assert patterns(native_params(library, EngineOptions(cpu_moe=True))) == [ROUTED_EXPERTS]


def test_n_cpu_moe_is_one_pattern_per_block_from_0(library: Library) -> None:
    found = patterns(native_params(library, EngineOptions(n_cpu_moe=2)))
    assert found == [rf"blk\.0{ROUTED_EXPERTS}", rf"blk\.1{ROUTED_EXPERTS}"]


def test_threads_are_never_more_than_asked(library: Library) -> None:
    context = native_params(library, EngineOptions(n_threads=1, n_threads_batch=1)).context
    assert (context.n_threads, context.n_threads_batch) == (1, 1)


def test_metadata_overrides_keep_their_types(library: Library) -> None:
    pairs = (("a", True), ("b", 7), ("c", 0.5), ("d", "文字"))
    array = native_params(library, EngineOptions(kv_overrides=pairs)).model.kv_overrides
    assert array[0].value.val_bool is True
    assert array[1].value.val_i64 == 7
    assert array[2].value.val_f64 == 0.5
    assert array[3].value.val_str.decode() == "文字"
    assert array[4].key == b""


@pytest.mark.parametrize("pair", [("k" * 128, 1), ("", 1), ("key", "v" * 128), ("key", 2**63)])
def test_metadata_that_does_not_fit_the_structure_is_refused(
    library: Library, pair: tuple[str, int | str]
) -> None:
    with pytest.raises(FindingError) as caught:
        native_params(library, EngineOptions(kv_overrides=(pair,)))
    assert caught.value.finding.values["name"] == "kv_overrides"


def test_too_many_shares_are_refused(library: Library) -> None:
    with pytest.raises(FindingError) as caught:
        native_params(library, EngineOptions(tensor_split=(1.0,) * 1000))
    assert caught.value.finding.values["name"] == "tensor_split"


def test_a_structure_without_the_field_refuses_the_option(library: Library) -> None:
    class Old(ctypes.Structure):
        _fields_ = (("n_gpu_layers", ctypes.c_int),)

    class OldLlama:
        def __getattr__(self, name: str) -> Any:
            return Old if name == "llama_model_default_params" else getattr(library.llama, name)

    with pytest.raises(FindingError) as caught:
        native_params(Library(OldLlama(), library.ggml_libraries), EngineOptions())
    assert caught.value.finding.code is FindingCode.OPTION_UNSUPPORTED
