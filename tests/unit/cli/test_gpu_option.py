"""`--gpu`, and what engines say of this machine on the command line."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli import chat_setup, doctor, engines, plan
from app.cli.context import EXIT_USAGE, CliContext
from app.cli.main import main
from app.engine import engine_devices
from app.engine.protocol import DeviceInfo
from app.hardware.facts import DriverInfo, GpuInfo, HardwareFacts
from app.paths import engines_folder, settings_file
from app.settings import Settings, save_settings
from tests.builders import moe_model, write_gguf
from tests.fakes import FAKE_HOST, GIB
from tests.unit.engine.test_binary_imports import linux_program

MACHINE = Path(__file__).parents[2] / "data" / "machines" / "gtx-1660-and-rtx-3090-32gb.json"
OLD = GpuInfo(0, "NVIDIA GeForce GTX 1660 SUPER", "nvidia", "GPU-aaaa", "01:00.0", 6 * GIB, 5 * GIB, (7, 5))
GOOD = GpuInfo(1, "NVIDIA GeForce RTX 3090", "nvidia", "GPU-bbbb", "02:00.0", 24 * GIB, 23 * GIB, (8, 6))
PC = HardwareFacts(FAKE_HOST, DriverInfo("551.61", (12, 4)), (OLD, GOOD))
SERVER = "llama-server.exe" if sys.platform == "win32" else "llama-server"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path / "home"))
    for module in (plan, engines, chat_setup):
        monkeypatch.setattr(module, "detect_this_machine", lambda: PC, raising=False)
    monkeypatch.setattr("app.hardware.this_machine.detect_this_machine", lambda *_: PC)
    monkeypatch.setattr(doctor, "detect_this_machine", lambda _: PC)
    monkeypatch.setattr(doctor, "with_measured_host", lambda facts: facts)
    return tmp_path


@pytest.fixture
def model(home: Path) -> Path:
    return write_gguf(home / "a model.gguf", *moe_model(layers=4))


@pytest.fixture
def cuda_pack(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = engines_folder() / "cuda-12.4"
    folder.mkdir(parents=True)
    (folder / SERVER).write_bytes(linux_program("libggml-cuda.so"))
    (folder / "libggml-cuda.so").write_bytes(linux_program("libmade-up.so.1"))
    listed = (DeviceInfo("CUDA0", GOOD.name, "gpu", 23 * GIB, 24 * GIB), DeviceInfo("CUDA1", OLD.name, "gpu"))
    monkeypatch.setattr(engine_devices, "read_devices", lambda _: listed)
    save_settings(settings_file(), Settings(engine=folder.name))
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert main([*map(str, arguments)]) == 0
    return json.loads(capsys.readouterr().out)


def free(document: Any) -> list[int]:
    return [device["free_bytes"] for device in document["devices"] if device["name"] != "CPU"]


def codes(document: Any) -> list[str]:
    return [finding["code"] for finding in document["findings"]]


@pytest.mark.parametrize("word", ["3090", "1", "0,1", "all", "none"])
def test_a_plan_counts_the_cards_it_was_given(
    model: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    whole = free(said(capsys, "plan", "--json", model, "--machine", MACHINE))
    assert len(whole) == 2
    expected = {"3090": whole[1:], "1": whole[1:], "none": []}.get(word, whole)
    assert free(said(capsys, "plan", "--json", model, "--machine", MACHINE, "--gpu", word)) == expected


def test_a_word_that_names_no_card_is_answered_with_those_there_are(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(model), "--machine", str(MACHINE), "--gpu", "4090"]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "4090" in told
    assert "RTX 3090" in told


def test_the_choice_of_the_settings_holds_without_a_word(
    model: Path, cuda_pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_settings(settings_file(), Settings(engine=cuda_pack.name, excluded_gpus=("uuid:gpu-aaaa",)))
    assert free(said(capsys, "plan", "--json", model)) == [23 * GIB]
    assert len(free(said(capsys, "plan", "--json", model, "--gpu", "all"))) == 2


def test_an_engine_for_the_processor_is_planned_without_cards_and_says_so(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = said(capsys, "plan", "--json", model)
    assert (free(document), document["options"]["n_gpu_layers"]) == ([], 0)
    assert "engine-flavour-unfit" in codes(document)
    assert "engine-flavour-unfit" in codes(said(capsys, "doctor", "--json"))
    assert "engine-flavour-unfit" in codes(said(capsys, "engines", "list", "--json"))
    by_hand = said(capsys, "plan", "--json", model, "--vram", "8GiB")
    assert free(by_hand) == [8 * GIB]
    assert "engine-flavour-unfit" not in codes(by_hand)


@pytest.mark.skipif(sys.platform == "win32", reason="the pack is made for Linux")
@pytest.mark.usefixtures("cuda_pack")
def test_what_an_engine_lacks_and_its_version_of_cuda_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    document = said(capsys, "doctor", "--json")
    assert document["cuda_versions"]["driver_highest"] == "12.4"
    assert document["cuda_versions"]["engine"] == "12.4"
    assert "engine-flavour-unfit" not in codes(document)
    listed = codes(said(capsys, "engines", "list", "--json"))
    assert "engine-flavour-unfit" not in listed  # the worker would be unfit, but is not the one in use


def test_a_chat_tells_its_process_which_card(
    model: Path, cuda_pack: Path, make_context: Callable[[], CliContext]
) -> None:
    from app.cli.chat_report import ChatReport
    from app.options import SamplingOptions
    from app.planner.facts import Wishes

    report = ChatReport(make_context(), is_json=True)
    request = chat_setup.ChatRequest(
        model, "hi", None, SamplingOptions(), Wishes(), engine=cuda_pack.name, gpu="3090"
    )
    launch = chat_setup.prepare(request, report)
    assert launch is not None
    assert dict(launch.spec.environment) == {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}
    assert launch.seen.budget.vram_free_bytes == (23 * GIB,)


@pytest.fixture
def make_context() -> Callable[[], CliContext]:
    import io

    from app.texts import Texts

    return lambda: CliContext(Texts("en"), Settings(), io.StringIO(), io.StringIO())
