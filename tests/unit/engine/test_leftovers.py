"""What dead processes left is removed, what living ones hold stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.engine.leftovers import OLD_SECONDS, OwnedPath, remove_abandoned
from app.paths import source_root

OWN_AND_WAIT = """
import sys
from pathlib import Path
from app.engine.leftovers import OwnedPath
owned = OwnedPath(Path(sys.argv[1]), sys.argv[2])
owned.path.mkdir() if sys.argv[3] == "folder" else owned.path.write_text("key")
print(owned.path.name, flush=True)
sys.stdin.read()
"""


def owner(folder: Path, prefix: str, what: str) -> subprocess.Popen[str]:
    """Start a process that owns a file or folder until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-c", OWN_AND_WAIT, str(folder), prefix, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=source_root(),
    )


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_living_owners_stays_and_a_dead_ones_goes(tmp_path: Path, what: str) -> None:
    process = owner(tmp_path, ".adding-", what)
    try:
        assert process.stdout is not None
        path = tmp_path / process.stdout.readline().strip()
        remove_abandoned(tmp_path, ".adding-")
        assert path.exists()
    finally:
        process.kill()
        process.communicate()
    assert path.exists()
    remove_abandoned(tmp_path, ".adding-")
    assert list(tmp_path.iterdir()) == []


def test_ones_own_stays_until_it_is_released(tmp_path: Path) -> None:
    owned = OwnedPath(tmp_path, "key-")
    owned.path.write_bytes(b"x")
    remove_abandoned(tmp_path, "key-")
    assert owned.path.exists()
    owned.release()
    owned.release()
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_lock_is_judged_by_age(tmp_path: Path) -> None:
    young, old, other = tmp_path / "key-1", tmp_path / "key-2", tmp_path / "note"
    for file in (young, old, other):
        file.write_bytes(b"x")
    long_ago = old.stat().st_mtime - OLD_SECONDS - 60
    for file in (old, other):
        os.utime(file, (long_ago, long_ago))
    remove_abandoned(tmp_path, "key-")
    assert sorted(tmp_path.iterdir()) == [young, other]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    remove_abandoned(tmp_path / "no", "key-")
