"""What the engine's log says of the options in force."""

from hypothesis import given
from hypothesis import strategies as st

from app.engine.llama import applied
from app.engine.protocol import BufferUse
from app.options import EngineOptions

LOG = (
    "llama_prepare_model_devices: using device RPC0 (127.0.0.1:50052) (unknown id) - 24105 MiB free",
    "validate_override: Using metadata override (  int) 'llama.expert_count' = 8",
    "load_tensors: loading model tensors, this can take a while... (load_mode = mmap)",
    "load_tensors: layer   0 assigned to device CPU, is_swa = 0",
    "load_tensors: layer   1 assigned to device RPC0, is_swa = 0",
    "load_tensors: layer   2 assigned to device RPC0, is_swa = 0",
    "load_tensors: offloaded 3/3 layers to GPU",
    "tensor blk.0.ffn_gate_exps.weight (4 MiB q4_1) buffer type overridden to CPU",
    "tensor blk.3.ffn_up_exps.weight (4 MiB q4_1) buffer type overridden to CPU",
    "llama_context: flash_attn            = auto",
    "llama_kv_cache: size = 17.23 MiB ( 1024 cells, 30 layers), K (f16):   11.25 MiB, V (q8_0):    5.98 MiB",
    "resolve_fused_ops: Flash Attention enabled",
)


def test_layers_on_the_gpu_are_counted_and_not_believed() -> None:
    assert applied._from_log(LOG)["n_gpu_layers"] == 2


def test_the_log_names_cache_types_load_mode_attention_and_devices() -> None:
    values = applied._from_log(LOG)
    assert (values["type_k"], values["type_v"]) == ("f16", "q8_0")
    assert (values["load_mode"], values["flash_attn"]) == ("mmap", "on")
    assert (values["devices"], values["rpc_servers"]) == (["RPC0"], ["127.0.0.1:50052"])


def test_switched_off_flash_attention_is_off() -> None:
    assert applied._from_log(["llama_context: flash_attn            = disabled"])["flash_attn"] == "off"
    refused = ["flash_attn = auto", "resolve_fused_ops: Flash Attention not supported, set to disabled"]
    assert applied._from_log(refused)["flash_attn"] == "off"


def test_n_cpu_moe_is_one_more_than_the_last_block_that_was_moved() -> None:
    placed = applied._expert_placement(EngineOptions(n_cpu_moe=4), LOG)
    assert placed == {"cpu_moe": False, "n_cpu_moe": 4}


def test_cpu_moe_that_moved_nothing_is_not_in_force() -> None:
    assert applied._expert_placement(EngineOptions(cpu_moe=True), ())["cpu_moe"] is False


def test_repack_is_in_force_only_when_a_buffer_shows_it() -> None:
    plain = [BufferUse("CPU_Mapped", "model", 1)]
    rearranged = [*plain, BufferUse("CPU_REPACK", "model", 1)]
    assert applied._from_buffers(EngineOptions(), rearranged)["repack"] is True
    assert "repack" not in applied._from_buffers(EngineOptions(), plain)
    assert applied._from_buffers(EngineOptions(repack=False), plain)["repack"] is False


def test_the_cache_counts_as_offloaded_only_beside_weights_on_a_gpu() -> None:
    cpu = [BufferUse("CPU_Mapped", "model", 1), BufferUse("CPU", "kv_cache", 1)]
    gpu = [BufferUse("RPC0", "model", 1), BufferUse("RPC0", "kv_cache", 1)]
    assert "offload_kqv" not in applied._from_buffers(EngineOptions(), cpu)
    assert applied._from_buffers(EngineOptions(), gpu)["offload_kqv"] is True
    assert applied._from_buffers(EngineOptions(), [gpu[0], cpu[1]])["offload_kqv"] is False


@given(st.lists(st.text(max_size=80), max_size=5))
def test_any_log_is_read_without_an_error(lines: list[str]) -> None:
    assert isinstance(applied._from_log(lines), dict)
    assert isinstance(applied._expert_placement(EngineOptions(), lines), dict)
