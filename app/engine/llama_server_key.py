"""The file through which a llama-server learns the key only it and we know."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import Final

from app.engine.leftovers import OwnedPath, remove_abandoned
from app.files import storage_finding
from app.findings import FindingError
from app.paths import data_folder

_PREFIX: Final = "key-"


class KeyFile:
    """A key on disk for our eyes only: in the data folder, or the system's where that is read-only.

    Attributes:
        path: Its folder is the engine's working folder.
    """

    def __init__(self, key: str) -> None:
        """Write it.

        Raises:
            FindingError: neither folder takes it; says why of the data folder.
        """
        self._own_folder: Path | None = None
        self._owned: OwnedPath | None = None
        name = f"{_PREFIX}{secrets.token_hex(8)}"
        try:
            self._owned = _owned_path()
            self.path = _written(self._owned.path, key)
        except OSError as reason:
            self._release()
            try:
                self._own_folder = Path(tempfile.mkdtemp(prefix="moxie-engine-"))  # mode 0700
                self.path = _written(self._own_folder / name, key)
            except OSError:
                self._remove_folder()
                raise FindingError(storage_finding(reason, Path(reason.filename or name))) from reason

    def forget(self) -> None:
        """Delete it, and a folder made for it: the server has read it. Again is harmless.

        Windows: a virus scanner may hold the file for a moment, and the server holds its folder.
        """
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._release()
        self._remove_folder()

    def _release(self) -> None:
        if self._owned is not None:
            self._owned.release()

    def _remove_folder(self) -> None:
        if self._own_folder is not None:
            with contextlib.suppress(OSError):
                self._own_folder.rmdir()


def _owned_path() -> OwnedPath:
    """Return where the key goes; those whose Moxie was killed are removed first."""
    folder = data_folder() / "run"
    folder.mkdir(exist_ok=True)
    remove_abandoned(folder, _PREFIX)
    return OwnedPath(folder, _PREFIX)


def _written(file: Path, key: str) -> Path:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(f"{key}\n")
    except OSError:
        file.unlink()
        raise
    return file
