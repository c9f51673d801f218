"""`--set`, `--flags` and `--command` of the command line."""

import json
from pathlib import Path

import pytest

from app.cli.main import main
from tests.controller_setup import write_model


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_what_is_set_is_in_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(write_model(tmp_path))
    sets = ("--set", "n_ubatch=256", "--set", "flash_attn=off", "--set", "check_tensors=on")
    status, out, _ = run(capsys, "plan", model, "--vram", "8G", "--ram", "16G", "--json", *sets)
    options = json.loads(out)["options"]
    assert status == 0
    assert (options["n_ubatch"], options["flash_attn"], options["check_tensors"]) == (256, "off", True)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--set", "nonsense=1"), "nonsense"),
        (("--set", "n_ubatch"), "n_ubatch"),
        (("--set", "n_ubatch=0"), "65,536"),
        (("--set", "flash_attn=maybe"), "auto, on, off"),
        (("--set", "swa_full=1"), "on, off"),
        (("--flags", "'open"), "open"),
    ],
)
def test_what_cannot_be_set_is_bad_usage_that_names_what_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], named: str
) -> None:
    status, out, err = run(capsys, "plan", str(write_model(tmp_path)), *given)
    assert (status, out) == (2, "")
    assert named in err


@pytest.mark.engine
def test_the_command_marks_what_was_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(write_model(tmp_path))
    status, out, _ = run(
        capsys, "plan", model, "--vram", "0", "--ram", "16G", "--command", "--set", "n_ubatch=256"
    )
    assert status == 0
    assert "- n_ubatch = 512" in out.splitlines()
    assert "+ n_ubatch = 256" in out.splitlines()
    assert "  n_batch = 512" in out.splitlines()


@pytest.mark.parametrize("given", [("--machine", "x.json"), ("--vram", "8G")])
def test_only_this_machine_can_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, str]
) -> None:
    machine = Path(__file__).parents[2] / "data" / "machines" / "strix-halo-windows-64gb.json"
    option, value = given
    wanted = str(machine) if option == "--machine" else value
    status, _, err = run(capsys, "plan", str(write_model(tmp_path)), "--measure", option, wanted)
    assert status == 2
    assert "--measure" in err
