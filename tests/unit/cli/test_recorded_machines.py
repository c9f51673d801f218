"""A recording gives the same verdict and the same plan on any machine, to the last byte."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli import doctor
from app.cli.main import main
from app.findings import FindingCode, warning
from app.hardware.facts import CpuInfo, HardwareFacts, HostInfo
from app.hardware.raw_answers import RawAnswers
from app.hardware.recording import save_recording
from app.hardware.speeds import DepthSpeed, MemorySpeed, StorageSpeed
from tests.builders import moe_model, write_gguf
from tests.fakes import GIB

ROOT = Path(__file__).resolve().parents[3]
MACHINES = ROOT / "tests" / "data" / "machines"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "模型 a.gguf", *moe_model(layers=4, leading_dense=1, shared=True))


def printed(home: Path, seed: str, *arguments: str | Path) -> bytes:
    """Return what a process of its own prints, on one CPU of this machine where that can be chosen."""
    environment = {**os.environ, "MOXIE_HOME": str(home), "PYTHONHASHSEED": seed, "TZ": f"UTC-{seed}"}
    environment |= {"CUDA_VISIBLE_DEVICES": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "app", *map(str, arguments)]
    if sys.platform == "linux":
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, check=True)
    return done.stdout


def test_a_plan_for_a_recorded_machine_is_the_same_to_the_byte_anywhere(tmp_path: Path, model: Path) -> None:
    machine = MACHINES / "rtx-4060-laptop-32gb.json"
    homes = [tmp_path / "one", tmp_path / "另一个"]
    for home in homes:
        home.mkdir()
    arguments = ("plan", "--json", model, "--machine", machine)
    one, other = (printed(home, seed, *arguments) for home, seed in zip(homes, "12", strict=True))
    assert one == other
    assert json.loads(one)["options"]["n_threads"] > 1  # of the recorded machine, not of this one


def test_a_verdict_is_the_same_before_it_is_saved_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cpu = CpuInfo("A CPU", 8, 16, 8, 8, ("avx2", "avx512f"), failing_instruction_sets=("avx512f",))
    slow = StorageSpeed("/", 2**20, 20 * GIB, "direct", (DepthSpeed(1, 90_000_000, 90, 0.01, 0.02),), 1)
    facts = HardwareFacts(
        HostInfo("Linux", "6.1", cpu, 32 * GIB, 28 * GIB),
        findings=(warning(FindingCode.PROBE_TIMED_OUT, probe="driver", seconds=5.0),),
        memory_speed=MemorySpeed(40_000_000_000, 8, GIB, 0.07, True),
        storage_speeds=(slow,),
    )
    monkeypatch.setattr(doctor, "detect_this_machine", lambda _: facts)
    monkeypatch.setattr(doctor, "with_measured_host", lambda found: found)
    live = verdict(capsys, "--save", tmp_path / "m.json")
    replayed = verdict(capsys, "--replay", tmp_path / "m.json")
    assert [f["code"] for f in replayed["findings"]][:3] == [
        "probe-timed-out",
        "cpu-instructions-false",
        "model-drive-slow",
    ]
    assert live["findings"][:3] == replayed["findings"][:3]
    for key in ("gpus", "driver", "cuda", "host", "memory_speed", "storage_speeds"):
        assert live[key] == replayed[key]


def verdict(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert main(["doctor", "--json", *map(str, arguments)]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_this_machine_saves_holds_raw_answers_and_plans(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.json"
    live = verdict(capsys, "--save", file)
    document = json.loads(file.read_text(encoding="utf-8"))
    assert {answer["source"] for answer in document["raw"]} >= {"nvml"}
    replayed = verdict(capsys, "--replay", file)
    assert replayed["host"]["cpu"] == live["host"]["cpu"]
    assert replayed["memory_speed"] == live["memory_speed"] != None  # noqa: E711
    assert main(["plan", "--json", str(model), "--machine", str(file)]) == 0


def test_a_measured_drive_is_told_kept_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path / "home"))
    model = write_gguf(tmp_path / "a.gguf", *moe_model(layers=4))
    live = verdict(capsys, "--disk", model, "--save", tmp_path / "m.json")
    (speed,) = live["storage_speeds"]
    assert [depth["queue_depth"] for depth in speed["depths"]] == [1, 8, 32]
    assert speed["has_ended"]
    assert verdict(capsys, "--replay", tmp_path / "m.json")["storage_speeds"][0]["depths"] == speed["depths"]
    if speed["mount"] is not None:
        kept = json.loads((tmp_path / "home" / "storage-speeds.json").read_text(encoding="utf-8"))
        assert kept[0]["speed"]["depths"] == speed["depths"]


def test_a_recording_keeps_more_than_facts_only_when_something_was_asked(tmp_path: Path) -> None:
    facts = HardwareFacts(None)
    save_recording(facts, tmp_path / "a.json", raw=RawAnswers())
    save_recording(facts, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
