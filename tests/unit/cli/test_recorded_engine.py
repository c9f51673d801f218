"""A machine with its engine gives the same verdict and plan from its recording, where neither is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cli import doctor
from app.cli.main import main
from app.engine import engine_devices
from app.engine.engine_on_machine import build_on_machine
from app.engine.protocol import DeviceInfo
from app.hardware.facts import CpuInfo, DriverInfo, GpuInfo, HardwareFacts, HostInfo, RuntimeFacts
from app.hardware.gpu_choice import gpu_key
from app.hardware.pseudonyms import cleaner_for
from app.paths import engines_folder, settings_file
from app.settings import Settings, save_settings
from tests.builders import moe_model, write_gguf
from tests.fakes import GIB
from tests.unit.cli.test_gpu_option import SERVER
from tests.unit.engine.test_binary_imports import linux_program

NAME = "NVIDIA GeForce RTX 3060"
UUID = "GPU-0a1b2c3d-0000-1111-2222-33334444555"
GPUS = (
    GpuInfo(0, NAME, "nvidia", f"{UUID}0", "0000:01:00.0", 12 * GIB, 9 * GIB, (8, 6), drives_display=True),
    GpuInfo(1, NAME, "nvidia", f"{UUID}1", "0000:02:00.0", 12 * GIB, 11 * GIB, (8, 6)),
    GpuInfo(2, "AMD Radeon RX 7600", "amd", None, "0000:03:00.0", 8 * GIB, 7 * GIB),
)
PC = HardwareFacts(
    HostInfo("Windows", "11", CpuInfo("A CPU", 8, 16, 8, 8), 32 * GIB, 28 * GIB, 36 * GIB, 36 * GIB),
    DriverInfo("550.54", (12, 4)),
    GPUS,
    runtime=RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", f"{UUID}1,0"),)),
)
LISTED = tuple(DeviceInfo(f"X{gpu.index}", gpu.name, "gpu", 6 * GIB, 12 * GIB) for gpu in GPUS[1:])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file for the recording; this computer is `PC` with the chosen engine pack."""
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path / "here"))
    monkeypatch.setattr("app.hardware.this_machine.detect_this_machine", lambda *_: PC)
    monkeypatch.setattr(doctor, "detect_this_machine", lambda _: PC)
    monkeypatch.setattr(doctor, "with_measured_host", lambda facts: facts)
    monkeypatch.setattr(engine_devices, "read_devices", lambda _: LISTED)
    return tmp_path / "m.json"


def use_pack(name: str, library: str, asks_for: str, excluded: tuple[int, ...]) -> None:
    folder = engines_folder() / name
    folder.mkdir(parents=True)
    (folder / SERVER).write_bytes(linux_program(library))
    (folder / library).write_bytes(linux_program(asks_for))
    keys = tuple(gpu_key(GPUS[index]) for index in excluded)
    save_settings(settings_file(), Settings(engine=folder.name, excluded_gpus=keys))


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    capsys.readouterr()
    assert main([*map(str, arguments)]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("excluded", [(), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize(
    ("pack", "library", "asks_for", "code"),
    [
        ("cuda-13.0", "libggml-cuda.so", "libcublas.so.13", "driver-too-old"),
        ("alice", "libggml-vulkan.so", "libvulkan.so.1", "vulkan-loader-missing"),
        ("only-cpu", "libggml-cpu.so", "libmade-up.so.1", "engine-flavour-unfit"),
    ],
)
def test_verdict_and_plan_are_those_of_the_machine_with_its_engine(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    excluded: tuple[int, ...],
    pack: str,
    library: str,
    asks_for: str,
    code: str,
) -> None:
    use_pack(pack, library, asks_for, excluded)
    model = write_gguf(here.parent / "a model.gguf", *moe_model(layers=4))
    live = said(capsys, "doctor", "--json", "--save", here)
    live_plan = said(capsys, "plan", "--json", model)
    if not excluded:
        assert code in [finding["code"] for finding in live["findings"]]

    monkeypatch.setenv("MOXIE_HOME", str(here.parent / "elsewhere"))
    monkeypatch.setattr("app.hardware.this_machine.detect_this_machine", lambda *_: HardwareFacts(None))
    replayed = said(capsys, "doctor", "--json", "--replay", here)
    anonymous = json.loads(cleaner_for(PC)(json.dumps(live)))
    of_the_folder = ("engine-missing", "engine-not-found", "store-read-only", "pack-without-server")
    assert replayed["findings"] == [f for f in anonymous["findings"] if f["code"] not in of_the_folder]
    for key in ("gpus", "driver", "cuda", "cuda_versions", "host"):
        assert replayed[key] == anonymous[key]
    replayed_plan = said(capsys, "plan", "--json", model, "--machine", here)
    live_plan["findings"] = json.loads(cleaner_for(PC)(json.dumps(live_plan["findings"])))
    assert replayed_plan == live_plan


def test_sizes_given_and_gpus_named_decide_over_what_was_recorded(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use_pack("only-cpu", "libggml-cpu.so", "libmade-up.so.1", (0,))
    model = write_gguf(here.parent / "a model.gguf", *moe_model(layers=4))
    said(capsys, "doctor", "--json", "--save", here)
    for arguments, names in (
        ((), ["CPU"]),
        (("--vram", "8G,4G"), ["GPU0", "GPU1", "CPU"]),
        (("--gpu", "all"), ["CPU"]),
    ):
        plan = said(capsys, "plan", "--json", model, "--machine", here, *arguments)
        assert [device["name"] for device in plan["devices"]] == names


def test_a_list_of_visible_gpus_counts_all_of_them_also_when_one_is_excluded() -> None:
    runtime = RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", "1,0"),))
    pc = replace(PC, gpus=GPUS[:2], runtime=runtime)
    for index, free in ((0, 11 * GIB), (1, 9 * GIB)):
        budget = build_on_machine(None, pc, [gpu_key(GPUS[index])]).budget
        assert budget.vram_free_bytes == (free,)


def test_gpus_excluded_there_are_left_out_and_gpus_excluded_here_are_not(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use_pack("a", "libggml-vulkan.so", "libmade-up.so.1", (2,))
    model = write_gguf(here.parent / "a model.gguf", *moe_model(layers=4))
    said(capsys, "doctor", "--json", "--save", here)
    save_settings(settings_file(), replace(Settings(), excluded_gpus=tuple(map(gpu_key, GPUS))))
    plan = said(capsys, "plan", "--json", model, "--machine", here)
    assert [device["name"] for device in plan["devices"]] == ["GPU0", "CPU"]
    everything = said(capsys, "plan", "--json", model, "--machine", here, "--gpu", "all")
    assert len(everything["devices"]) == 3
