"""Every option reaches the command line, or the load is refused with its name."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import pytest

from app.engine.llama_server_args import (
    OPTION_MAPPERS,
    option_arguments,
    service_arguments,
    without_impossible_kv,
)
from app.engine.llama_server_capabilities import Capabilities, parse_help, read_capabilities
from app.findings import FindingCode, FindingError
from app.options import EngineOptions
from tests.fake_pack import HELP

KNOWN: Final = parse_help(HELP)
NOTHING: Final = Capabilities({"--model": ""})

OTHER_VALUES: Final[dict[str, Any]] = {
    "n_ctx": 4096,
    "n_batch": 1024,
    "n_ubatch": 256,
    "n_gpu_layers": 7,
    "cpu_moe": True,
    "cpu_moe_blocks": (1, 3),
    "n_cpu_moe": 3,
    "n_threads": 4,
    "n_threads_batch": 6,
    "flash_attn": "off",
    "type_k": "q8_0",
    "type_v": "q8_0",
    "swa_full": True,
    "load_mode": "none",
    "repack": False,
    "offload_kqv": False,
    "op_offload": False,
    "n_parallel": 2,
    "cache_ram_mib": 512,
    "devices": ("CUDA0", "CUDA1"),
    "split_mode": "none",
    "tensor_split": (3.0, 1.5),
    "main_gpu": 1,
    "rpc_servers": ("127.0.0.1:50052",),
    "kv_overrides": (("qwen3moe.expert_count", 8), ("a.b", True), ("a.c", 0.5), ("a.d", "x y")),
    "check_tensors": True,
    "chat_template": "chatml",
    "extra_flags": ("--top-nsigma", "1.0"),
}
EXPECTED: Final = {
    "n_ctx": ["--ctx-size", "4096"],
    "n_batch": ["--batch-size", "1024"],
    "n_ubatch": ["--ubatch-size", "256"],
    "n_gpu_layers": ["--n-gpu-layers", "7"],
    "cpu_moe": ["--cpu-moe"],
    "cpu_moe_blocks": ["--override-tensor", r"blk\.(1|3)\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU"],
    "n_cpu_moe": ["--n-cpu-moe", "3"],
    "n_threads": ["--threads", "4"],
    "n_threads_batch": ["--threads-batch", "6"],
    "flash_attn": ["--flash-attn", "off"],
    "type_k": ["--cache-type-k", "q8_0"],
    "type_v": ["--cache-type-v", "q8_0"],
    "swa_full": ["--swa-full"],
    "load_mode": ["--load-mode", "none"],
    "repack": ["--no-repack"],
    "offload_kqv": ["--no-kv-offload"],
    "op_offload": ["--no-op-offload"],
    "n_parallel": ["--parallel", "2"],
    "cache_ram_mib": ["--cache-ram", "512"],
    "devices": ["--device", "CUDA0,CUDA1"],
    "split_mode": ["--split-mode", "none"],
    "tensor_split": ["--tensor-split", "3,1.5"],
    "main_gpu": ["--main-gpu", "1"],
    "rpc_servers": ["--rpc", "127.0.0.1:50052"],
    "kv_overrides": ["--override-kv", "qwen3moe.expert_count=int:8,a.b=bool:true,a.c=float:0.5,a.d=str:x y"],
    "check_tensors": ["--check-tensors"],
    "chat_template": ["--chat-template", "chatml"],
    "extra_flags": ["--top-nsigma", "1.0"],
}


def _options(name: str) -> EngineOptions:
    return replace(EngineOptions(), **{name: OTHER_VALUES[name]})


def test_no_field_is_forgotten() -> None:
    names = {f.name for f in fields(EngineOptions)}
    assert set(OPTION_MAPPERS) == names == set(OTHER_VALUES) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_option_reaches_the_command_line(name: str) -> None:
    arguments = option_arguments(_options(name), KNOWN)
    wanted = EXPECTED[name]
    position = arguments.index(wanted[0])
    assert arguments[position : position + len(wanted)] == wanted


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"load_mode", "extra_flags"}))
def test_an_option_without_a_switch_is_refused_by_name(name: str) -> None:
    with pytest.raises(FindingError) as caught:
        option_arguments(_options(name), NOTHING)
    assert caught.value.finding.code is FindingCode.OPTION_UNSUPPORTED
    assert caught.value.finding.values["name"] == name


@pytest.mark.engine
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_real_engine_pack_has_a_switch_for_every_option(name: str, engine_pack: Path) -> None:
    capabilities = read_capabilities(engine_pack / "llama-server")
    arguments = option_arguments(_options(name), capabilities)
    assert EXPECTED[name][0] in arguments
    assert arguments[:2] == ["--fit", "off"]


def test_placement_is_ours_and_the_engines_fitting_is_off() -> None:
    arguments = option_arguments(EngineOptions(), KNOWN)
    assert arguments[:2] == ["--fit", "off"]
    assert "--n-gpu-layers" in arguments


def test_an_engine_without_fitting_is_not_told_to_stop_it() -> None:
    without = Capabilities({name: text for name, text in KNOWN.switches.items() if "fit" not in name})
    assert "--fit" not in option_arguments(EngineOptions(), without)


def test_the_four_ways_to_place_experts_are_four_command_lines() -> None:
    off = option_arguments(EngineOptions(), KNOWN)
    every = option_arguments(EngineOptions(cpu_moe=True), KNOWN)
    two = option_arguments(EngineOptions(n_cpu_moe=2), KNOWN)
    fewer_layers = option_arguments(EngineOptions(n_gpu_layers=5, n_cpu_moe=2), KNOWN)
    assert "--cpu-moe" not in off and "--n-cpu-moe" not in off
    assert len({tuple(line) for line in (off, every, two, fewer_layers)}) == 4


def test_old_engines_get_old_spellings() -> None:
    old = parse_help(
        "-fa,   --flash-attn                    enable Flash Attention\n"
        "--no-mmap                              do not memory-map\n"
        "--mlock                                keep in RAM\n"
        "--override-kv KEY=TYPE:VALUE           may be given several times\n"
    )
    options = EngineOptions(flash_attn="on", load_mode="none", kv_overrides=(("a", 1), ("b", 2)))
    arguments = option_arguments(options, old)
    assert arguments == ["--flash-attn", "--no-mmap", "--override-kv", "a=int:1", "--override-kv", "b=int:2"]
    assert "--mlock" in option_arguments(EngineOptions(load_mode="mlock"), old)
    assert option_arguments(EngineOptions(flash_attn="off", load_mode="mmap"), old) == []


def test_an_old_engine_that_cannot_lock_memory_says_so() -> None:
    with pytest.raises(FindingError) as caught:
        option_arguments(EngineOptions(load_mode="mlock"), NOTHING)
    assert caught.value.finding.values["name"] == "load_mode"


def test_a_kv_type_the_engine_does_not_list_is_refused() -> None:
    with pytest.raises(FindingError) as caught:
        option_arguments(EngineOptions(type_k="q5_1"), KNOWN)
    assert caught.value.finding.values == {"name": "type_k", "value": "q5_1"}


def test_an_override_that_the_list_cannot_quote_is_refused() -> None:
    with pytest.raises(FindingError) as caught:
        option_arguments(EngineOptions(kv_overrides=(("a", "x,y"),)), KNOWN)
    assert caught.value.finding.values["name"] == "kv_overrides"


@pytest.mark.parametrize("type_k", ["f16", "q8_0"])
def test_quantised_v_without_flash_attention_falls_back_as_a_pair(type_k: str) -> None:
    options, findings = without_impossible_kv(EngineOptions(flash_attn="off", type_k=type_k, type_v="q8_0"))
    assert (options.type_k, options.type_v) == ("f16", "f16")
    assert [finding.code for finding in findings] == [FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION]


@pytest.mark.parametrize("flash_attn", ["auto", "on"])
def test_quantised_v_with_flash_attention_stays(flash_attn: str) -> None:
    asked = EngineOptions(flash_attn=flash_attn, type_k="q8_0", type_v="q8_0")
    assert without_impossible_kv(asked) == (asked, ())


def test_the_server_serves_us_alone() -> None:
    path = Path("/模型 folder/m 1.gguf")
    arguments = service_arguments(path, 4242, "key-1", KNOWN)
    assert arguments[:6] == ["--model", str(path), "--host", "127.0.0.1", "--port", "4242"]
    assert arguments[arguments.index("--api-key-file") + 1] == "key-1"
    assert "--no-ui" in arguments
    assert arguments[arguments.index("--log-verbosity") + 1] == "4"


def test_verbosity_is_raised_only_where_its_levels_are_known() -> None:
    old = parse_help("-lv,   --verbosity, --log-verbosity N   higher is more\n")
    assert "--log-verbosity" not in service_arguments(Path("m"), 1, "k", old)
