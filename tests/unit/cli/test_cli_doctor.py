"""`moxie doctor`: this machine and recorded ones, as a card and as JSON, in both languages."""

import argparse
import io
import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import doctor
from app.cli.context import EXIT_OK, CliContext, UsageError
from app.findings import FindingCode, FindingError
from app.hardware.recording import load_recording
from app.settings import Settings
from app.texts import LANGUAGES, Texts

MACHINES = Path(__file__).resolve().parents[2] / "data" / "machines"


class Terminal:
    """Runs the subcommand and keeps what it prints."""

    def __init__(self, language: str = "en", settings: Settings | None = None) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.context = CliContext(Texts(language), settings or Settings(), self.out, self.err)

    def run(self, *arguments: str) -> int:
        parser = argparse.ArgumentParser()
        doctor.add_arguments(parser, self.context.texts)
        return doctor.run(parser.parse_args(arguments), self.context)

    def json(self, *arguments: str) -> Any:
        assert self.run("--json", *arguments) == EXIT_OK
        return json.loads(self.out.getvalue())


def machine(name: str) -> str:
    return str(MACHINES / f"{name}.json")


def test_a_machine_without_a_gpu_is_no_failure() -> None:
    answer = Terminal().json()
    assert list(answer) == [
        "gpus",
        "driver",
        "cuda",
        "cuda_versions",
        "host",
        "engines",
        "findings",
        "memory_speed",
        "storage_speeds",
        "runtime",
        "system",
    ]
    assert answer["host"]["ram_total_bytes"] > 0
    if not answer["gpus"]:
        assert (answer["driver"], answer["cuda"]) == (None, None)
        assert "gpu-not-found" in [finding["code"] for finding in answer["findings"]]


@pytest.mark.parametrize(
    ("name", "driver", "cuda"),
    [
        ("gtx-1660-and-rtx-3090-32gb", "551.61", "12.4"),
        ("rtx-4090-64gb", "591.44", "13.1"),
        ("no-gpu-16gb", None, None),
    ],
)
def test_cuda_is_the_highest_the_driver_runs(name: str, driver: str | None, cuda: str | None) -> None:
    answer = Terminal().json("--replay", machine(name))
    assert (answer["driver"], answer["cuda"]) == (driver, cuda)


def test_a_replayed_machine_is_shown_as_recorded() -> None:
    answer = Terminal().json("--replay", machine("gtx-1660-and-rtx-3090-32gb"))
    assert [gpu["name"] for gpu in answer["gpus"]] == [
        "NVIDIA GeForce GTX 1660 SUPER",
        "NVIDIA GeForce RTX 3090",
    ]
    assert answer["gpus"][1]["compute_capability"] == [8, 6]
    assert answer["engines"] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [file.stem for file in sorted(MACHINES.glob("*.json"))])
def test_the_card_names_every_part_in_both_languages(name: str, language: str) -> None:
    terminal = Terminal(language)
    assert terminal.run("--replay", machine(name)) == EXIT_OK
    facts = load_recording(Path(machine(name)))
    assert facts.host is not None
    assert facts.host.cpu.name is not None
    shown = terminal.out.getvalue()
    for part in (
        facts.host.cpu.name,
        *(gpu.name for gpu in facts.gpus),
        *(d.mount for d in facts.host.disks),
    ):
        assert part in shown
    for finding in facts.findings:
        assert terminal.context.texts.finding(finding).action in shown
    assert "{" not in shown


def test_a_value_the_driver_does_not_give_is_a_dash_and_not_zero(tmp_path: Path) -> None:
    recording = json.loads(Path(machine("rtx-3060-32gb")).read_text(encoding="utf-8"))
    del recording["facts"]["gpus"][0]["vram_free_bytes"]
    del recording["facts"]["driver"]["cuda_version"]
    file = tmp_path / "m.json"
    file.write_text(json.dumps(recording), encoding="utf-8")
    terminal = Terminal()
    terminal.run("--replay", str(file))
    lines = terminal.out.getvalue().splitlines()
    assert "— of 12.0 GB VRAM free" in lines[0]
    assert lines[1].endswith("CUDA up to —")


def test_what_is_saved_replays_the_same(tmp_path: Path) -> None:
    file = tmp_path / "我的 电脑.json"
    terminal = Terminal()
    assert terminal.run("--save", str(file)) == EXIT_OK
    assert str(file) in terminal.err.getvalue()
    replayed = Terminal().json("--replay", str(file))
    assert replayed["host"]["cpu"]["logical_cores"] >= 1
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_an_engine_chosen_but_gone_is_a_warning() -> None:
    answer = Terminal(settings=Settings(engine="gone")).json()
    (finding,) = [f for f in answer["findings"] if f["code"] == FindingCode.ENGINE_NOT_FOUND.value]
    assert finding["severity"] == "warning"
    assert finding["values"]["name"] == "gone"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_missing_recording_is_bad_usage_in_one_sentence(language: str, tmp_path: Path) -> None:
    for path in (tmp_path / "没有.json", tmp_path / ("n" * 300)):
        with pytest.raises(UsageError) as failure:
            Terminal(language).run("--replay", str(path))
        assert str(path) in str(failure.value)
        assert len(str(failure.value).splitlines()) == 1


def test_a_place_no_file_can_be_made_at_is_bad_usage_before_anything_is_probed(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "m.json", tmp_path, tmp_path / ("n" * 300)):
        terminal = Terminal()
        with pytest.raises(UsageError):
            terminal.run("--save", str(path))
        assert terminal.out.getvalue() == ""


def test_a_file_that_is_no_recording_is_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(FindingError) as failure:
        Terminal().run("--replay", str(file))
    assert failure.value.finding.code is FindingCode.RECORDING_INVALID
