"""What is in force, from lines as b10434 prints them (an RPC device beside the CPU)."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.llama_server_log import context_of_one_slot, read_applied
from app.options import EngineOptions

LINES: Final = (
    "cmn  common_param: system_info: n_threads = 3 (n_threads_batch = 4) / 8 | CPU : SSE3 = 1",
    "llama_prepare_model_devices: using device RPC0 (127.0.0.1:50977) (unknown id) - 24105 MiB free",
    "validate_override: Using metadata override (  int) 'llama.expert_count' = 8",
    "validate_override: Using metadata override ( bool) 'a.b' = true",
    "validate_override: Using metadata override (  str) 'general.name' = a b",
    "load_tensors: loading model tensors, this can take a while... (load_mode = mmap)",
    "load_tensors: offloaded 31/31 layers to GPU",
    "load_tensors:   CPU_Mapped model buffer size =   424.32 MiB",
    "load_tensors: RPC0[127.0.0.1:50977] model buffer size =    45.17 MiB",
    "llama_context: n_ctx                 = 2048",
    "llama_context: n_ctx_seq             = 1024",
    "llama_context: n_batch               = 512",
    "llama_context: n_ubatch              = 256",
    "llama_context: flash_attn            = auto",
    "resolve_fused_ops: Flash Attention enabled",
    "llama_kv_cache: size = 23.9 MiB (2048 cells, 30 layers, 1/1 seqs), K (q8_0): 12 MiB, V (q5_1): 12 MiB",
    "srv    load_model: initializing, n_slots = 2, n_ctx_slot = 1024, kv_unified = 'false'",
    "srv    load_model: prompt cache is enabled, size limit: 512 MiB",
)


def test_values_in_force_are_read_back() -> None:
    applied = read_applied(LINES, {"total_slots": 2}, EngineOptions())
    assert applied == {
        "n_ctx": 2048,
        "n_batch": 512,
        "n_ubatch": 256,
        "n_parallel": 2,
        "n_threads": 3,
        "n_threads_batch": 4,
        "cache_ram_mib": 512,
        "type_k": "q8_0",
        "type_v": "q5_1",
        "load_mode": "mmap",
        "flash_attn": "on",
        "n_gpu_layers": 31,
        "devices": ["RPC0"],
        "kv_overrides": [["llama.expert_count", 8], ["a.b", True], ["general.name", "a b"]],
    }


def test_offloaded_layers_without_a_gpu_buffer_are_no_gpu_layers() -> None:
    lines = (
        "load_tensors: offloaded 31/31 layers to GPU",
        "load_tensors: CPU_Mapped model buffer size = 424.32 MiB",
    )
    assert read_applied(lines, None, EngineOptions())["n_gpu_layers"] == 0


@pytest.mark.parametrize("holder", ["CPU_REPACK", "AMX"])
def test_a_repack_buffer_says_that_weights_were_repacked(holder: str) -> None:
    lines = (f"load_tensors:   {holder} model buffer size =    47.88 MiB",)
    assert read_applied(lines, None, EngineOptions(repack=False))["repack"] is True


def test_no_repack_is_in_force_when_no_buffer_contradicts() -> None:
    assert read_applied(LINES, None, EngineOptions(repack=False))["repack"] is False


def test_a_prompt_cache_that_is_off_has_no_size() -> None:
    lines = ("srv load_model: prompt cache is disabled - use `--cache-ram N` to enable it",)
    assert read_applied(lines, None, EngineOptions()) == {"cache_ram_mib": 0}


def test_a_silent_log_says_nothing() -> None:
    assert read_applied((), None, EngineOptions()) == {}


def test_the_context_of_one_slot_comes_from_the_slots_first() -> None:
    props = {"default_generation_settings": {"n_ctx": 2048}}
    assert context_of_one_slot(props, [{"id": 0, "n_ctx": 1024}]) == 1024
    assert context_of_one_slot(props, None) == 2048
    assert context_of_one_slot(None, []) is None


@given(st.lists(st.text() | st.sampled_from(LINES)), st.none() | st.dictionaries(st.text(), st.integers()))
def test_no_log_can_break_the_reader(lines: list[str], props: dict[str, int] | None) -> None:
    read_applied(lines, props, EngineOptions())
    context_of_one_slot(props, lines)
