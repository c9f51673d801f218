"""What an executable says of itself, old and new."""

import contextlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.llama_server_capabilities import (
    Capabilities,
    HelpError,
    ask,
    parse_devices,
    parse_help,
    parse_version,
    read_capabilities,
    read_devices,
    read_version,
)
from app.findings import FindingCode, FindingError
from tests.fake_pack import HELP, make_fake_pack
from tests.session_recorder import gone_within


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX script")
def test_a_question_without_an_answer_ends_and_leaves_nothing_running(tmp_path: Path) -> None:
    script, started = tmp_path / "llama-server", tmp_path / "started"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > '{started}'\nwait\n")
    script.chmod(0o755)
    with pytest.raises(FindingError) as caught:
        ask(script, ("--version",), limit_seconds=1.0)
    assert caught.value.finding.code is FindingCode.ENGINE_TIMED_OUT
    assert caught.value.finding.values == {"seconds": 1.0, "during": "start"}
    assert gone_within([int(started.read_text())], 5.0)


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX script")
def test_what_an_answered_question_left_running_ends(tmp_path: Path) -> None:
    script = tmp_path / "llama-server"
    script.write_text("#!/bin/sh\nsleep 1000 &\necho version: $!\n")
    script.chmod(0o755)
    assert gone_within([int(read_version(script))], 5.0)


def test_a_version_and_a_device_cannot_steer_a_terminal() -> None:
    assert parse_version("version: 1\x1b[2J.2\x07\n") == "1.2"
    (device,) = parse_devices("  GPU0: a\x1b[1m card (10 MiB, 5 MiB free)\n")
    assert device.description == "a card"


def test_every_spelling_of_a_switch_is_known() -> None:
    capabilities = parse_help(HELP)
    assert {"-fa", "--flash-attn", "-ngl", "--gpu-layers", "--n-gpu-layers", "--no-webui"} <= set(
        capabilities.switches
    )


def test_words_of_a_description_are_no_switches() -> None:
    capabilities = parse_help("-a, --aa N     see --bb\n               - 3: info\n               --cc too\n")
    assert set(capabilities.switches) == {"-a", "--aa"}


def test_a_description_may_go_on_below() -> None:
    capabilities = parse_help(HELP)
    assert capabilities.mentions("-ctk", "q8_0")
    assert not capabilities.mentions("-ctk", "q5_1")
    assert not capabilities.mentions("--unheard-of", "q8_0")


def test_the_first_known_spelling_wins() -> None:
    capabilities = Capabilities({"--old": "", "--new": ""})
    assert capabilities.first_known("--newest", "--new", "--old") == "--new"
    assert capabilities.first_known("--newest") is None


@given(st.text())
def test_any_help_text_is_read_or_the_named_error(text: str) -> None:
    with contextlib.suppress(HelpError):
        assert parse_help(text).switches
    parse_version(text)
    parse_devices(text)


def test_devices_carry_their_memory() -> None:
    text = (
        "Available devices:\n"
        "  CUDA0: NVIDIA GeForce RTX 4090 (24080 MiB, 22000 MiB free)\n"
        "  Vulkan0: llvmpipe (LLVM 15.0.6, 256 bits) (2048 MiB, 2047 MiB free)\n"
        "  RPC0: 127.0.0.1:50052 (100 MiB, 90 MiB free)\n"
    )
    cuda, vulkan, rpc = parse_devices(text)
    assert (cuda.name, cuda.description, cuda.kind) == ("CUDA0", "NVIDIA GeForce RTX 4090", "gpu")
    assert (cuda.total_bytes, cuda.free_bytes) == (24080 * 1024**2, 22000 * 1024**2)
    assert vulkan.description == "llvmpipe (LLVM 15.0.6, 256 bits)"
    assert (rpc.name, rpc.description) == ("RPC0", "127.0.0.1:50052")


def test_an_executable_without_gpu_still_has_the_cpu(tmp_path: Path) -> None:
    pack = make_fake_pack(tmp_path / "pack")
    assert [device.kind for device in read_devices(pack.folder / "llama-server")] == ["cpu"]
    assert read_version(pack.folder / "llama-server") == "9.9 (build 1, commit abc)"


def test_a_missing_executable_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(FindingError) as caught:
        read_version(tmp_path / "llama-server")
    assert caught.value.finding.code is FindingCode.ENGINE_START_FAILED


def test_an_executable_without_help_is_no_engine(tmp_path: Path) -> None:
    pack = make_fake_pack(tmp_path / "pack", questions={"--help": "hello"})
    with pytest.raises(FindingError) as caught:
        read_capabilities(pack.folder / "llama-server")
    assert caught.value.finding.code is FindingCode.ENGINE_START_FAILED


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    line = (
        "llama-server: error while loading shared libraries: libcudart.so.12: cannot open shared object file"
    )
    pack = make_fake_pack(tmp_path / "pack", [{"lines": [line], "exit": 127}], questions={})
    with pytest.raises(FindingError) as caught:
        read_version(pack.folder / "llama-server")
    assert caught.value.finding.code is FindingCode.ENGINE_MISSING_LIBRARY
    assert caught.value.finding.values["library"] == "libcudart.so.12"


@pytest.mark.engine
def test_the_real_executable_answers(engine_pack: Path) -> None:
    executable = engine_pack / "llama-server"
    assert "--n-cpu-moe" in read_capabilities(executable).switches
    assert "commit" in read_version(executable)
    assert read_devices(executable)[-1].name == "CPU"
