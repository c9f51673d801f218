"""Asked against applied."""

from dataclasses import replace

import pytest

from app.engine.comparison import gpu_findings, option_findings
from app.engine.protocol import DeviceInfo, Hello
from app.findings import FindingCode
from app.options import ALL_LAYERS, EngineOptions

CPU = DeviceInfo("CPU", "a processor", "cpu")
GPU = DeviceInfo("CUDA0", "a card", "gpu")


def test_a_gpu_that_is_wanted_and_unseen_is_told() -> None:
    (finding,) = gpu_findings(
        EngineOptions(devices=("CUDA0",), n_gpu_layers=9), Hello("worker", "b1", (CPU,))
    )
    assert finding.code is FindingCode.ENGINE_GPU_UNSEEN
    assert finding.values["seen_devices"] == ("CPU",)
    assert finding.values["asked_devices"] == ("CUDA0",)


@pytest.mark.parametrize(
    ("options", "devices"),
    [
        (EngineOptions(n_gpu_layers=0), (CPU,)),
        (EngineOptions(n_gpu_layers=9), (CPU, GPU)),
        (EngineOptions(n_gpu_layers=9), (replace(GPU, kind="igpu"),)),
        (EngineOptions(n_gpu_layers=9, rpc_servers=("127.0.0.1:50052",)), (CPU,)),
    ],
)
def test_no_gpu_is_no_matter_when_none_is_needed_or_one_is_there(
    options: EngineOptions, devices: tuple[DeviceInfo, ...]
) -> None:
    assert gpu_findings(options, Hello("worker", "b1", devices)) == ()


def test_all_options_applied_as_asked_are_silent() -> None:
    asked = EngineOptions(kv_overrides=(("qwen3moe.expert_count", 8),), tensor_split=(0.1, 0.9))
    assert option_findings(asked, asked.to_json()) == ()


def test_an_option_the_engine_changed_is_told_with_both_values() -> None:
    asked = EngineOptions(type_v="q8_0", n_cpu_moe=7)
    findings = option_findings(asked, {**asked.to_json(), "type_v": "f16", "n_cpu_moe": 0})
    assert {f.values["name"]: (f.values["asked"], f.values["applied"]) for f in findings} == {
        "type_v": ("q8_0", "f16"),
        "n_cpu_moe": (7, 0),
    }
    assert {f.code for f in findings} == {FindingCode.OPTION_NOT_APPLIED}


@pytest.mark.parametrize(
    ("asked", "applied"),
    [
        (EngineOptions(n_ctx=1000), {"n_ctx": 1024}),
        (EngineOptions(n_ctx=0), {"n_ctx": 40960}),
        (EngineOptions(n_gpu_layers=ALL_LAYERS), {"n_gpu_layers": 31}),
        (EngineOptions(flash_attn="auto", load_mode="auto"), {"flash_attn": "on", "load_mode": "mmap"}),
        (EngineOptions(devices=()), {"devices": ["CUDA0"]}),
        (EngineOptions(n_ctx=512, n_batch=2048), {"n_ctx": 512, "n_batch": 512, "n_ubatch": 512}),
        (EngineOptions(tensor_split=(0.3, 0.7)), {"tensor_split": [0.30000001192, 0.69999998807]}),
        (EngineOptions(), {}),
    ],
)
def test_a_value_left_to_the_engine_or_rounded_by_it_is_no_finding(
    asked: EngineOptions, applied: dict[str, object]
) -> None:
    assert option_findings(asked, applied) == ()


@pytest.mark.parametrize(
    ("asked", "applied"),
    [
        (EngineOptions(n_ctx=8192), {"n_ctx": 4096}),
        (EngineOptions(n_gpu_layers=ALL_LAYERS), {"n_gpu_layers": 0}),
        (EngineOptions(n_gpu_layers=20), {"n_gpu_layers": 10}),
        (EngineOptions(flash_attn="on"), {"flash_attn": "off"}),
        (EngineOptions(devices=("CUDA0",)), {"devices": ["CPU"]}),
    ],
)
def test_a_value_cut_down_is_a_finding(asked: EngineOptions, applied: dict[str, object]) -> None:
    (finding,) = option_findings(asked, applied)
    assert finding.values["name"] in applied


def test_a_server_none_of_whose_devices_was_asked_for_is_no_news() -> None:
    servers = ("10.0.0.7:50052", "10.0.0.8:50052")
    asked = EngineOptions(devices=("RPC1",), rpc_servers=servers)
    assert option_findings(asked, {"rpc_servers": [servers[1]], "devices": ["RPC1"]}) == ()
    everything = EngineOptions(rpc_servers=servers)
    assert len(option_findings(everything, {"rpc_servers": [servers[1]]})) == 1
    assert len(option_findings(asked, {"rpc_servers": ["10.0.0.9:50052"]})) == 1
