"""A write that fails leaves what was there."""

import errno
import os
import sys
from pathlib import Path

import pytest

from app.files import (
    PathKind,
    folder_finding,
    path_kind,
    read_regular,
    storage_code,
    system_finding,
    write_atomically,
)
from app.findings import FindingCode, FindingError, Severity
from tests.pipes import make_pipe


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "设置 x.json"
    write_atomically(file, b"old")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.json"
    write_atomically(file, b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FindingError) as caught:
        write_atomically(file, b"new")
    assert caught.value.finding.code is FindingCode.DISK_FULL
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_gone_is_not_called_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(FindingError) as caught:
        write_atomically(tmp_path / "gone" / "settings.json", b"x")
    assert caught.value.finding.code is FindingCode.STORE_READ_ONLY


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, FindingCode.DISK_FULL),
        (errno.EDQUOT, FindingCode.DISK_FULL),
        (errno.EROFS, FindingCode.STORE_READ_ONLY),
        (errno.EACCES, FindingCode.STORE_READ_ONLY),
    ],
)
def test_the_errno_decides_the_finding(number: int, code: FindingCode) -> None:
    assert storage_code(OSError(number, "")) is code


def test_a_failure_that_cannot_even_be_cleaned_up_is_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "fsync", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(FindingError) as caught:
        write_atomically(tmp_path / "x", b"x")
    assert caught.value.finding.code is FindingCode.STORE_READ_ONLY


def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    write_atomically(file, b"x")
    assert file.read_bytes() == b"x"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_stays_and_what_it_leads_to_changes(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert list((tmp_path / "elsewhere").iterdir()) == [target]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
def test_a_pipe_or_device_is_neither_replaced_nor_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    make_pipe(pipe)
    for odd in (pipe, Path("/dev/null"), tmp_path):
        for call in (lambda: write_atomically(odd, b"x"), lambda: read_regular(odd, 10)):  # noqa: B023 called at once
            with pytest.raises(FindingError) as caught:
                call()
            assert caught.value.finding.code is FindingCode.NOT_A_FILE
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


def test_what_is_at_a_path_is_told_without_an_error(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"")
    assert path_kind(file) is PathKind.FILE
    assert path_kind(tmp_path) is PathKind.FOLDER
    for nothing in ("no", "n" * 300, "f/below", "nul\0byte"):
        assert path_kind(tmp_path / nothing) is None


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOENT, FindingCode.PATH_MISSING),
        (errno.ENAMETOOLONG, FindingCode.PATH_MISSING),
        (errno.EACCES, FindingCode.ACCESS_DENIED),
        (errno.EROFS, FindingCode.STORE_READ_ONLY),
        (errno.ENOSPC, FindingCode.DISK_FULL),
        (errno.EIO, FindingCode.DRIVE_GONE),
    ],
)
def test_an_error_nobody_translated_becomes_a_finding(number: int, code: FindingCode) -> None:
    assert system_finding(OSError(number, os.strerror(number), "somewhere")).code is code


def test_a_folder_that_takes_files_has_nothing_to_say(tmp_path: Path) -> None:
    assert folder_finding(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file", "missing"])
def test_a_folder_that_takes_no_files_is_said(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    (tmp_path / "file").write_text("")
    finding = folder_finding(folder)
    assert finding is not None
    assert (finding.code, finding.severity) == (FindingCode.STORE_READ_ONLY, Severity.WARNING)
    assert finding.values["path"] == str(folder)
