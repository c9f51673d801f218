"""What a process makes for itself and may leave behind when it is killed: found and removed by the next one.

A file lock says whose owner still lives: the system lets go of it when a process ends, however it ends.
"""

import contextlib
import os
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_SUFFIX: Final = ".lock"
OLD_SECONDS: Final = 24 * 3600
"""A thing without a lock is older Moxie's, or its lock is just being made: only age tells."""

_TOKEN_BYTES: Final = 8


class OwnedPath:
    """A free path for a file or folder of this process, and the claim to it until `release`."""

    def __init__(self, folder: Path, prefix: str) -> None:
        """Choose a name in `folder` that begins with `prefix`; nothing is made there but the lock.

        Raises:
            OSError: the lock cannot be made.
        """
        self.path = folder / f"{prefix}{secrets.token_hex(_TOKEN_BYTES)}"
        self._lock_file = _lock_of(self.path)
        self._handle: int | None = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _try_lock(self._handle)

    def release(self) -> None:
        """Remove what is left at the path, then the claim. Twice is harmless, and failing too."""
        _remove(self.path)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        if not os.path.lexists(self.path):
            _remove(self._lock_file)


def remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what dead processes left of an `OwnedPath` with this prefix; never a living one's."""
    paths = {path.with_name(path.name.removesuffix(LOCK_SUFFIX)) for path in folder.glob(f"{prefix}*")}
    for path in paths:
        lock_file = _lock_of(path)
        try:
            handle = os.open(lock_file, os.O_RDWR)
        except FileNotFoundError:
            if _is_old(path):
                _remove(path)
            continue
        except OSError:
            continue
        is_abandoned = _try_lock(handle)
        if is_abandoned:
            _remove(path)
        os.close(handle)
        if is_abandoned and not os.path.lexists(path):
            _remove(lock_file)


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{LOCK_SUFFIX}")


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > OLD_SECONDS
    except OSError:
        return False


def _remove(path: Path) -> None:
    # Windows: a virus scanner may hold it for a moment; the next start tries again
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
