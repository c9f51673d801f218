"""Defaults as designed, bounds that hold, and options that survive JSON."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.options import (
    ALL_LAYERS,
    BOUNDS,
    CHOICES,
    KV_CACHE_TYPES,
    EngineOptions,
    OptionError,
    SamplingOptions,
    changed_options,
    default_n_ctx,
    default_n_threads,
    default_n_ubatch,
    default_repack,
    reserve_bytes,
)

MIB = 1024**2


def test_the_context_is_8192_unless_the_model_has_less() -> None:
    assert EngineOptions().n_ctx == 8192
    assert default_n_ctx(131_072) == 8192
    assert default_n_ctx(None) == 8192
    assert default_n_ctx(2048) == 2048


def test_the_context_is_16384_when_the_plan_has_room() -> None:
    assert default_n_ctx(131_072, has_room=True) == 16_384
    assert default_n_ctx(12_000, has_room=True) == 12_000


def test_there_is_one_slot() -> None:
    assert EngineOptions().n_parallel == 1


def test_flash_attention_is_left_to_the_engine() -> None:
    assert EngineOptions().flash_attn == "auto"


def test_sliding_windows_keep_their_window_only() -> None:
    assert EngineOptions().swa_full is False


def test_the_kv_cache_is_f16_and_both_halves_are_equal() -> None:
    assert (EngineOptions().type_k, EngineOptions().type_v) == ("f16", "f16")


def test_the_batch_is_512_and_128_for_big_vocabularies_on_small_machines() -> None:
    assert EngineOptions().n_ubatch == 512
    assert default_n_ubatch(151_936, is_small_machine=True) == 512
    assert default_n_ubatch(262_144, is_small_machine=False) == 512
    assert default_n_ubatch(262_144, is_small_machine=True) == 128
    assert default_n_ubatch(None, is_small_machine=True) == 512


def test_threads_are_the_free_physical_performance_cores() -> None:
    assert default_n_threads(8) == 8
    assert default_n_threads(8, busy_cores=2.4) == 6
    assert default_n_threads(2, busy_cores=5.0) == 1


def test_weights_are_mapped() -> None:
    assert EngineOptions().load_mode == "mmap"


def test_repacking_is_off_when_the_routed_experts_exceed_free_ram() -> None:
    assert EngineOptions().repack is True
    assert default_repack(10, 10) is True
    assert default_repack(11, 10) is False


def test_the_prompt_cache_takes_no_ram_until_asked() -> None:
    assert EngineOptions().cache_ram_mib == 0


def test_nothing_goes_over_the_network_until_asked() -> None:
    assert EngineOptions().rpc_servers == ()


def test_the_reserve_is_bigger_where_a_screen_hangs() -> None:
    assert reserve_bytes(drives_display=True) == 1024 * MIB
    assert reserve_bytes(drives_display=False) == 512 * MIB


def test_all_layers_is_a_number_no_layer_count_reaches() -> None:
    assert EngineOptions().n_gpu_layers == ALL_LAYERS
    assert ALL_LAYERS > 512 + 1  # the most layers llama.cpp takes, and the output layer


@pytest.mark.parametrize("name", sorted(f.name for f in fields(EngineOptions) if f.name in BOUNDS))
def test_a_value_out_of_bounds_is_refused_by_name(name: str) -> None:
    low, high = BOUNDS[name]
    for value in (low - 1, high + 1, True, "7"):
        with pytest.raises(OptionError) as refused:
            engine_options(**{name: value})
        assert refused.value.field_name == name


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_an_unknown_word_is_refused_by_name(name: str) -> None:
    with pytest.raises(OptionError) as refused:
        engine_options(**{name: "best"})
    assert refused.value.field_name == name


@pytest.mark.parametrize("name", sorted(f.name for f in fields(SamplingOptions) if f.name in BOUNDS))
def test_a_sampling_value_out_of_bounds_is_refused_by_name(name: str) -> None:
    values: dict[str, Any] = {name: BOUNDS[name][1] + 1}
    with pytest.raises(OptionError) as refused:
        SamplingOptions(**values)
    assert refused.value.field_name == name


def test_every_bound_and_choice_belongs_to_an_option() -> None:
    known = {f.name for kind in (EngineOptions, SamplingOptions) for f in fields(kind)}
    assert known >= set(BOUNDS) | set(CHOICES)


def test_a_physical_batch_above_the_logical_one_is_refused() -> None:
    with pytest.raises(OptionError, match="n_ubatch"):
        EngineOptions(n_batch=128, n_ubatch=256)


def test_all_experts_and_a_number_of_blocks_exclude_each_other() -> None:
    with pytest.raises(OptionError, match="n_cpu_moe"):
        EngineOptions(cpu_moe=True, n_cpu_moe=3)


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(OptionError) as refused:
        EngineOptions.from_json({"n_cpu_moes": 3})
    assert refused.value.field_name == "n_cpu_moes"


@given(
    n_ctx=st.integers(0, 16_777_216),
    n_cpu_moe=st.integers(0, ALL_LAYERS),
    kv=st.sampled_from(KV_CACHE_TYPES),
    split=st.lists(st.floats(0, 1000), max_size=4).map(tuple),
    overrides=st.lists(
        st.tuples(st.text(min_size=1), st.booleans() | st.integers(-(2**40), 2**40) | st.text()), max_size=3
    ).map(tuple),
)
def test_options_survive_json(
    n_ctx: int,
    n_cpu_moe: int,
    kv: str,
    split: tuple[float, ...],
    overrides: tuple[tuple[str, bool | int | str], ...],
) -> None:
    options = EngineOptions(
        n_ctx=n_ctx,
        n_cpu_moe=n_cpu_moe,
        type_k=kv,
        type_v=kv,
        tensor_split=split,
        kv_overrides=overrides,
        devices=("CUDA0", "RPC0"),
    )
    assert EngineOptions.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_changed_options_names_what_differs_with_both_values() -> None:
    before, after = EngineOptions(), EngineOptions(n_ctx=2048, repack=False)
    assert changed_options(before, after) == {"n_ctx": (8192, 2048), "repack": (True, False)}
    assert changed_options(before, before) == {}


def engine_options(**values: Any) -> EngineOptions:
    return EngineOptions(**values)


@pytest.mark.parametrize("data", [[1], [True], "n_ctx", 3, None])
def test_options_that_are_no_object_are_refused_by_name(data: Any) -> None:
    with pytest.raises(OptionError):
        EngineOptions.from_json(data)
