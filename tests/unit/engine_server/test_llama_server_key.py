"""Where the key of a server lies."""

import sys
import tempfile
from pathlib import Path

import pytest

from app.engine.llama_server_key import KeyFile
from app.findings import FindingCode, FindingError
from tests.small_disks import read_only_disk

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@posix
def test_a_key_lies_in_the_data_folder_for_its_owner_alone(data_home: Path, temporary: Path) -> None:
    key = KeyFile("secret")
    assert key.path.parent == data_home / "run"
    assert key.path.read_text() == "secret\n"
    assert key.path.stat().st_mode & 0o777 == 0o600
    key.forget()
    assert list((data_home / "run").iterdir()) == []
    assert list(temporary.iterdir()) == []


@posix
def test_the_key_of_a_killed_program_goes_and_that_of_a_living_one_stays(data_home: Path) -> None:
    living = KeyFile("living")
    dead = data_home / "run" / "key-dead"
    dead.touch()
    (data_home / "run" / "key-dead.lock").touch()  # nobody holds it
    another = KeyFile("another")
    assert not dead.exists()
    assert living.path.read_text() == "living\n"
    living.forget()
    another.forget()
    assert list((data_home / "run").iterdir()) == []


@posix
def test_a_read_only_data_folder_makes_it_a_private_folder_elsewhere(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with read_only_disk(tmp_path) as folder:
        monkeypatch.setenv("MOXIE_HOME", str(folder))
        key = KeyFile("secret")
    assert key.path.parent.parent == temporary
    assert key.path.parent.stat().st_mode & 0o777 == 0o700
    assert key.path.stat().st_mode & 0o777 == 0o600
    assert key.path.read_text() == "secret\n"
    key.forget()
    key.forget()
    assert list(temporary.iterdir()) == []


def test_a_key_that_can_be_written_nowhere_is_a_finding(data_home: Path, temporary: Path) -> None:
    data_home.mkdir()
    (data_home / "run").touch()
    temporary.rmdir()
    with pytest.raises(FindingError) as caught:
        KeyFile("secret")
    assert caught.value.finding.code is FindingCode.STORE_READ_ONLY
    assert str(caught.value.finding.values["path"]).startswith(str(data_home))
