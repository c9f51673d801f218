"""Places beside a target for what is not complete: gone at the end, and after a kill at the next start.

Each place has a lock file that its process holds. Only the system can tell for sure that a process is gone:
it lets go of the lock then, however the process ended.
"""

import contextlib
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PREFIX: Final = ".moxie-"
PART: Final = ".part"
LOCK: Final = ".lock"


@contextlib.contextmanager
def unfinished_place(folder: Path) -> Iterator[Path]:
    """Return a free path in `folder` for a file or a folder; what is still there afterwards is removed.

    What killed processes left in `folder` is removed first.

    Raises:
        OSError: nothing can be written to the folder.
    """
    remove_left_behind(folder)
    place = folder / f"{PREFIX}{uuid.uuid4().hex}{PART}"
    lock = place.with_suffix(LOCK)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if not _is_held(descriptor):  # a file system without locks: nobody may take it for left behind
            os.close(descriptor)
            descriptor = -1
            lock.unlink(missing_ok=True)
        yield place
    finally:
        _remove(place)
        if descriptor >= 0:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                lock.unlink(missing_ok=True)


def remove_left_behind(folder: Path) -> None:
    """Remove what processes that are gone left in a folder, as far as the system lets us."""
    with contextlib.suppress(OSError):
        for lock in sorted(folder.glob(f"{PREFIX}*{LOCK}")):
            with contextlib.suppress(OSError):
                _remove_if_left(lock)


def _remove_if_left(lock: Path) -> None:
    if lock.is_symlink() or not lock.is_file():
        return
    descriptor = os.open(lock, os.O_RDWR)
    try:
        is_left = _is_held(descriptor)
        if is_left:
            _remove(lock.with_suffix(PART))
    finally:
        os.close(descriptor)
    if is_left:
        lock.unlink(missing_ok=True)


def _is_held(descriptor: int) -> bool:
    """Take a lock if nobody has it; it goes with the descriptor, or the process."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)
