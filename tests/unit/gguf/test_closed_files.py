"""Files that are there and cannot be read now: why, and what to do, before anything is tried."""

import errno
import os
from pathlib import Path, PureWindowsPath

import pytest

import app.files
from app.files import is_elsewhere, reading_finding
from app.findings import FindingCode
from app.gguf.facts import FileKind
from app.gguf.inspect_file import inspect_path
from tests.builders import moe_model, u16, write_gguf

ARCHIVE, OFFLINE, RECALL_ON_OPEN, RECALL_ON_DATA, PINNED = 0x20, 0x1000, 0x40000, 0x400000, 0x80000
SPARSE, REPARSE_POINT = 0x200, 0x400


class RecordedStatus:
    """What `os.stat` gives on Windows, of which only the attributes are asked for."""

    def __init__(self, attributes: int) -> None:
        self.st_file_attributes = attributes


@pytest.mark.parametrize(
    ("attributes", "answer"),
    [
        (ARCHIVE, False),
        (ARCHIVE | SPARSE | REPARSE_POINT | PINNED, False),  # OneDrive, kept on this device
        (ARCHIVE | SPARSE | OFFLINE | REPARSE_POINT | RECALL_ON_DATA, True),  # OneDrive, in the cloud only
        (ARCHIVE | OFFLINE, True),  # moved to tape
        (ARCHIVE | RECALL_ON_OPEN, True),
    ],
)
def test_attributes_tell_whether_a_read_would_fetch_the_file(attributes: int, answer: bool) -> None:
    assert is_elsewhere(RecordedStatus(attributes)) is answer  # type: ignore[arg-type]  # only this is read


def test_a_status_without_attributes_is_of_a_file_that_is_here(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model())
    assert not is_elsewhere(file.stat())


def test_a_file_in_the_cloud_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model())
    opened: list[Path] = []
    monkeypatch.setattr("app.gguf.reader.is_elsewhere", lambda _: True)
    monkeypatch.setattr("app.gguf.reader.open_regular", opened.append)
    inspected = inspect_path(file)
    (finding,) = inspected.findings
    assert finding.code is FindingCode.FILE_IN_CLOUD
    assert finding.values["size_bytes"] == file.stat().st_size
    assert inspected.facts.kind is FileKind.UNKNOWN
    assert opened == []


def failure(number: int, winerror: int | None = None) -> OSError:
    """Return what Python raises on Windows (`winerror`) or on Linux."""
    reason = OSError(number, os.strerror(number))
    if winerror is not None:
        reason.winerror = winerror  # type: ignore[attr-defined,unused-ignore]  # typeshed has it for Windows
    return reason


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (failure(errno.EACCES), FindingCode.ACCESS_DENIED),
        (failure(errno.EACCES, 5), FindingCode.ACCESS_DENIED),
        (failure(errno.EACCES, 32), FindingCode.FILE_LOCKED),
        (failure(errno.EACCES, 33), FindingCode.FILE_LOCKED),
        (failure(errno.EACCES, 21), FindingCode.DRIVE_GONE),
        (failure(errno.ENOENT, 53), FindingCode.DRIVE_GONE),
        (failure(errno.EINVAL, 1117), FindingCode.DRIVE_GONE),
        (failure(errno.EIO), FindingCode.DRIVE_GONE),
        (failure(errno.ESTALE), FindingCode.DRIVE_GONE),
        (failure(errno.ENOENT, 2), FindingCode.PATH_MISSING),
        (failure(errno.ENOENT), FindingCode.PATH_MISSING),
    ],
)
def test_each_way_not_to_be_read_has_its_finding(reason: OSError, code: FindingCode, tmp_path: Path) -> None:
    assert reading_finding(reason, tmp_path / "m.gguf").code is code


def test_a_path_whose_very_root_is_missing_is_on_a_drive_that_is_gone() -> None:
    assert app.files._is_drive_gone(PureWindowsPath("Q:\\models\\m.gguf"))
    assert not app.files._is_drive_gone(Path("/models/m.gguf"))


@pytest.mark.parametrize("name", ["m.gguf.part", "m.gguf.crdownload", "m.gguf.!qB", "m.gguf.incomplete"])
def test_an_incomplete_file_with_the_name_of_a_download_is_one(tmp_path: Path, name: str) -> None:
    file = write_gguf(tmp_path / name, *moe_model())
    assert [finding.code for finding in inspect_path(file).findings] == []
    file.write_bytes(file.read_bytes()[:-40])
    codes = [finding.code for finding in inspect_path(file).findings]
    assert codes == [FindingCode.FILE_INCOMPLETE, FindingCode.DOWNLOAD_UNFINISHED]


def test_a_second_file_beside_it_tells_of_a_download(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(bytes(4096))
    (tmp_path / "m.gguf.aria2").touch()
    not_gguf, unfinished = inspect_path(file).findings
    assert (not_gguf.code, not_gguf.values["looks_like"]) == (FindingCode.NOT_GGUF, "zeros")
    assert unfinished.values == {"file": "m.gguf.aria2"}


def test_a_missing_part_that_is_still_coming_is_named(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    keys["split.count"], keys["split.no"] = u16(2), u16(0)
    first = write_gguf(tmp_path / "m-00001-of-00002.gguf", keys, tensors)
    (tmp_path / "m-00002-of-00002.gguf.part").touch()
    codes = {finding.code: finding.values for finding in inspect_path(first).findings}
    assert codes[FindingCode.SHARD_MISSING]["missing"] == ("m-00002-of-00002.gguf",)
    assert codes[FindingCode.DOWNLOAD_UNFINISHED]["file"] == "m-00002-of-00002.gguf.part"


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (b"\x80\x02}q\x00", "pickle"),
        (b"\x80\x05\x95", "pickle"),
        ((200).to_bytes(8, "little") + b'{"__metadata__":{}}', "safetensors"),
        ((200).to_bytes(8, "little") + b'{ "a": {}}', "safetensors"),
        (b"<!DOCTYPE html><html>404", "html"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs-pointer"),
        (b"PK\x03\x04", "zip"),
        (b'{"error":"Repository not found"}', "json"),
    ],
)
def test_what_a_file_is_instead_is_told_by_its_content(tmp_path: Path, head: bytes, word: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(head + b"\0" * 64)
    (finding,) = inspect_path(file).findings
    assert (finding.code, finding.values["looks_like"]) == (FindingCode.NOT_GGUF, word)
