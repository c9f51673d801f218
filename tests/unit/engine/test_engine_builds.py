"""Which build an engine's files are is known before it runs again."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.engine_builds import LARGEST_FILE_BYTES, EngineBuilds, read_builds
from app.engine.protocol import DeviceInfo, Hello
from app.engine.spec import BackendKind, EngineSpec

HELLO = Hello("llama-server", "b10434", (DeviceInfo("CUDA0", "card", "gpu"),))


@pytest.fixture
def pack(tmp_path: Path) -> EngineSpec:
    """An engine of one file."""
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "llama-server").write_bytes(b"1")
    return EngineSpec("pack", BackendKind.LLAMA_SERVER, folder)


def test_a_build_is_known_after_a_restart_without_its_devices(tmp_path: Path, pack: EngineSpec) -> None:
    EngineBuilds(tmp_path / "b.json").keep(pack, HELLO)
    assert EngineBuilds(tmp_path / "b.json").known(pack) == Hello("llama-server", "b10434")


def test_other_files_are_another_build(tmp_path: Path, pack: EngineSpec) -> None:
    builds = EngineBuilds(tmp_path / "b.json")
    builds.keep(pack, HELLO)
    assert pack.pack_folder is not None
    os.utime(pack.pack_folder / "llama-server", (1, 1))
    assert builds.known(pack) is None


def test_an_engine_without_files_is_never_known(tmp_path: Path) -> None:
    builds = EngineBuilds(tmp_path / "b.json")
    echo = EngineSpec("echo", BackendKind.ECHO)
    builds.keep(echo, Hello("echo", "1"))
    assert builds.known(echo) is None
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": 1}', b'{"a": ["b"]}', b'{"a": ["", "c"]}', b"\xff"])
def test_a_damaged_file_knows_nothing(tmp_path: Path, pack: EngineSpec, content: bytes) -> None:
    (tmp_path / "b.json").write_bytes(content)
    builds = EngineBuilds(tmp_path / "b.json")
    assert builds.known(pack) is None
    builds.keep(pack, HELLO)
    assert builds.known(pack) is not None


def test_a_file_that_is_too_big_is_not_read(tmp_path: Path, pack: EngineSpec) -> None:
    (tmp_path / "b.json").write_bytes(b" " * (LARGEST_FILE_BYTES + 1) + b"{}")
    assert EngineBuilds(tmp_path / "b.json").known(pack) is None


@given(
    st.binary()
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_bytes_are_builds_or_none(content: bytes) -> None:
    assert all(len(value) == 2 for value in read_builds(content).values())
