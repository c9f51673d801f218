"""A write that fails leaves what was there."""

import errno
import os
from pathlib import Path

import pytest

from app.files import storage_code, write_atomically
from app.findings import FindingCode, FindingError


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
