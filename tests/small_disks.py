"""Small real file systems that can be full or read-only; skips where none can be mounted."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """A file system of a few MiB."""

    folder: Path

    def fill(self) -> None:
        """Leave no free block."""
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"\0" * 4096)
            except OSError:
                return

    def empty(self) -> None:
        """Undo `fill`."""
        (self.folder / "filler").unlink()


@contextmanager
def full_disk(parent: Path) -> Iterator[SmallDisk]:
    """Mount 2 MiB."""
    with _mounted(parent / "small disk", "size=2m") as folder:
        yield SmallDisk(folder)


@contextmanager
def read_only_disk(parent: Path) -> Iterator[Path]:
    """Yield a folder nobody can write to: a read-only mount for root, else a folder without that right."""
    if sys.platform != "win32" and os.geteuid() != 0:
        folder = parent / "read-only"
        folder.mkdir(mode=0o500)
        yield folder
        return
    with _mounted(parent / "read-only disk", "ro") as folder:
        yield folder


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if sys.platform == "win32" or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a file system here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
