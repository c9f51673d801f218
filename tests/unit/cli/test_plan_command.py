"""`moxie plan`: the contract's JSON, both languages, and complaints in one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.context import UsageError
from app.cli.main import main
from app.cli.numbers import moe_wish
from app.cli.plan import parse_size
from app.hardware.facts import CpuInfo, GpuInfo, HardwareFacts, HostInfo
from app.hardware.recording import save_recording
from app.options import EngineOptions
from app.planner.facts import Part
from app.texts import Texts
from tests.builders import moe_model, write_gguf

GIB = 1024**3
MACHINE = ["--vram", "2GiB", "--ram", "16GiB"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a small MoE model under a path with blanks and Chinese characters."""
    return write_gguf(
        tmp_path / "模型 文件" / "a model.gguf", *moe_model(layers=4, leading_dense=1, shared=True)
    )


def planned(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert main(["plan", "--json", *map(str, arguments)]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_the_json_has_every_field_of_the_contract(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, model, *MACHINE)
    assert plan.keys() >= {
        "options", "devices", "ram_bytes", "disk_bytes", "kv_cache_bytes",
        "compute_bytes", "tokens_per_second", "ladder", "findings",
    }  # fmt: skip
    assert EngineOptions.from_json(plan["options"]).n_gpu_layers == 999
    assert [device["name"] for device in plan["devices"]] == ["GPU0", "CPU"]
    for device in plan["devices"]:
        assert sum(device["parts"].values()) == device["planned_bytes"] <= device["free_bytes"]
        assert set(device["parts"]) <= {part.value for part in Part}
    assert plan["devices"][0]["free_bytes"] == 2 * GIB
    assert plan["tokens_per_second"] is None
    assert plan["ladder"][0]["name"] == "fast"
    for step in plan["ladder"]:
        EngineOptions.from_json(step["options"])
    assert plan["findings"] == []


def test_the_moe_wish_reaches_the_options(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {
        wish: planned(capsys, model, *MACHINE, "--moe", wish)["options"]
        for wish in ("auto", "off", "all", "2", "99")
    }
    chosen = {wish: (o["cpu_moe"], o["n_cpu_moe"]) for wish, o in options.items()}
    assert chosen == {
        "auto": (False, 0), "off": (False, 0), "all": (True, 0), "2": (False, 2), "99": (False, 4),
    }  # fmt: skip


@pytest.mark.parametrize("moe", ["auto", "off", "all", "2"])
def test_without_a_gpu_all_experts_are_said_to_be_in_ram(
    model: Path, capsys: pytest.CaptureFixture[str], moe: str
) -> None:
    main(["plan", str(model), "--lang", "en", "--ram", "64GiB", "--vram", "0", "--moe", moe])
    assert "experts in RAM: 3 of 3 blocks;" in capsys.readouterr().out


def test_context_and_cache_type_reach_the_options(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = planned(capsys, model, *MACHINE, "--context", "1024", "--kv", "q8_0")["options"]
    assert (options["n_ctx"], options["type_k"], options["type_v"]) == (1024, "q8_0", "q8_0")
    assert planned(capsys, model, *MACHINE, "--context", "0")["options"]["n_ctx"] == 4096


def test_vram_0_is_a_machine_without_a_gpu(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, model, "--vram", "0", "--ram", "8GiB")
    assert [device["name"] for device in plan["devices"]] == ["CPU"]
    assert plan["options"]["n_gpu_layers"] == 0
    assert [finding["code"] for finding in plan["findings"]] == ["plan-without-gpu"]


def test_several_gpus_are_given_with_commas(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, model, "--vram", "12GiB,8GiB", "--ram", "64GiB")
    assert [device["free_bytes"] for device in plan["devices"]] == [12 * GIB, 8 * GIB, 64 * GIB]
    # one card holds all of it
    assert (plan["options"]["split_mode"], plan["options"]["main_gpu"]) == ("none", 0)


def test_a_recorded_machine_is_planned_for(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = GpuInfo(0, "NVIDIA RTX", vram_total_bytes=12 * GIB, vram_free_bytes=11 * GIB, drives_display=True)
    cpu = CpuInfo(physical_cores=8, performance_cores=6, usable_cores=8)
    host = HostInfo("Windows", "11", cpu, 64 * GIB, 48 * GIB)
    recording = tmp_path / "机器.json"
    save_recording(HardwareFacts(host, None, (gpu,)), recording)
    plan = planned(capsys, model, "--machine", recording)
    assert [device["free_bytes"] for device in plan["devices"]] == [11 * GIB, 46 * GIB]
    assert plan["options"]["n_threads"] == 6
    assert planned(capsys, model, "--machine", recording, "--vram", "0")["options"]["n_gpu_layers"] == 0


def test_this_machine_is_planned_for_when_none_is_named(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(capsys, model)
    assert plan["devices"][-1]["name"] == "CPU"
    assert plan["devices"][-1]["free_bytes"] > 0
    assert plan["options"]["n_threads"] >= 1


def test_a_file_no_engine_loads_has_findings_and_null_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<!DOCTYPE html>", encoding="utf-8")
    plan = planned(capsys, page, *MACHINE)
    assert plan["options"] is None
    assert plan["devices"] == plan["ladder"] == []
    assert plan["ram_bytes"] is None
    assert [finding["code"] for finding in plan["findings"]] == ["not-gguf"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vram", "lots"], ["--vram", "12GiB,"], ["--ram", "-1"], ["--ram", "9999999TiB"],
        ["--context", "long"], ["--context", "-5"], ["--context", "99999999"],
        ["--moe", "some"], ["--moe", "-1"], ["--kv", "q2"], ["--machine", "no-such.json"],
    ],
)  # fmt: skip
def test_a_bad_value_is_exit_2_and_one_sentence(
    arguments: list[str], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for language in ("en", "zh_CN"):
        assert main(["plan", str(model), *arguments, "--lang", language]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert len(printed.err.splitlines()) == 1


def test_a_folder_with_several_models_is_exit_2_and_names_them(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_gguf(model.parent / "second.gguf", *moe_model())
    assert main(["plan", str(model.parent), *MACHINE]) == 2
    assert "second.gguf" in capsys.readouterr().err


def test_people_read_a_table_per_device_in_their_language(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for language, words in (
        ("en", ("routed experts", "KV cache", "safe")),
        ("zh_CN", ("路由专家", "KV 缓存", "稳妥")),
    ):
        assert main(["plan", str(model), *MACHINE, "--moe", "2", "--lang", language]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        for word in (*words, "GPU0", "CPU", "2.0 GB"):
            assert word in printed.out


def test_people_are_told_what_is_read_from_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    big = write_gguf(tmp_path / "big.gguf", *moe_model(layers=8, experts=512))
    needed = planned(capsys, big, "--vram", "0", "--ram", "8GiB")["ram_bytes"]
    short = ["--vram", "0", "--ram", str(needed - 20 * 1024**2)]
    assert planned(capsys, big, *short)["disk_bytes"] == 20 * 1024**2
    assert main(["plan", str(big), *short]) == 0
    printed = capsys.readouterr().out
    assert "Disk: 20 MB" in printed
    assert "Warning: 20 MB of the routed experts" in printed


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("12GiB", 12 * GIB), ("12GB", 12 * GIB), ("12G", 12 * GIB), ("12g", 12 * GIB),
        ("7.5 GiB", 15 * GIB // 2), ("512MiB", GIB // 2), ("1T", 1024 * GIB), ("123", 123), ("123B", 123),
        ("0", 0), ("4K", 4096), ("", None), ("GiB", None), ("12 parsecs", None), ("-1", None),
        ("1e9", None), ("１２GiB", None), ("nan", None), ("99999999999999999999", None),
    ],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(value: str, size: int | None) -> None:
    assert parse_size(value) == size


@given(st.text(max_size=40))
def test_any_text_is_a_size_or_none(value: str) -> None:
    size = parse_size(value)
    assert size is None or 0 <= size <= 2**60


@given(st.text(max_size=20))
def test_any_text_is_a_moe_wish_or_bad_usage(value: str) -> None:
    try:
        wish = moe_wish(value, Texts("en"))
    except UsageError:
        return
    assert wish in ("auto", "off", "all") or isinstance(wish, int)
