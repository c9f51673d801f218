"""Files read and written so that no name, device or full disk surprises: regular files, whole contents."""

import errno
import os
import shutil
import stat
import tempfile
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from io import FileIO
from pathlib import Path, PurePath
from typing import Final

from app.findings import Finding, FindingCode, FindingError, Severity, error

LONGEST_PART_STEM: Final = 60
"""Characters of a name that its unfinished copy keeps, so that this one fits where the name just did."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_NOTHING_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
"""`EINVAL` is what Windows answers to a name with a character it does not allow."""

_LOCKED: Final = (32, 33)
"""Windows: ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION."""

_GONE: Final = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN)
_GONE_ON_WINDOWS: Final = (15, 20, 21, 53, 55, 59, 64, 67, 121, 1005, 1006, 1117, 1167, 1231, 1232)
"""No such drive or unit, drive not ready, network path or share gone, I/O error, device not connected."""

_ELSEWHERE: Final = 0x00001000 | 0x00040000 | 0x00400000
"""FILE_ATTRIBUTE_OFFLINE, _RECALL_ON_OPEN and _RECALL_ON_DATA_ACCESS: reading fetches the content first."""


class PathKind(StrEnum):
    """What a path leads to, links followed."""

    FILE = "file"
    FOLDER = "folder"
    OTHER = "device-or-pipe"


def path_kind(path: Path) -> PathKind | None:
    """Return what is at `path`; None when nothing is, or no file can have that name.

    Raises:
        FindingError: `ACCESS_DENIED`, the system does not let anyone look.
    """
    try:
        mode = path.stat().st_mode
    except ValueError:  # a NUL byte
        return None
    except OSError as reason:
        if reason.errno in _NOTHING_THERE:
            return None
        raise FindingError(reading_finding(reason, path)) from reason
    return _kind_of(mode)


def is_regular(path: Path) -> bool:
    """Return whether a regular file is there that one may look at."""
    try:
        return path_kind(path) is PathKind.FILE
    except FindingError:
        return False


def is_elsewhere(status: os.stat_result) -> bool:
    """Return whether the content lies in a cloud or an archive, so that a read would fetch it.

    Windows only; other systems do not say, so the answer is no.
    """
    return bool(getattr(status, "st_file_attributes", 0) & _ELSEWHERE)


def open_regular(file: Path) -> FileIO:
    """Open a file for reading, unbuffered; a device or pipe, which may have no end, is refused.

    Raises:
        FindingError: `NOT_A_FILE`.
        OSError: as `open` does.
    """
    _require_regular(file, file.stat().st_mode)  # opening a pipe would wait for a writer
    stream = file.open("rb", buffering=0)
    try:
        _require_regular(file, os.fstat(stream.fileno()).st_mode)
    except BaseException:
        stream.close()
        raise
    return stream


def read_regular(file: Path, most_bytes: int) -> bytes:
    """Return the first `most_bytes` of a file at most.

    Raises:
        FindingError: `NOT_A_FILE`, `PATH_MISSING` or `ACCESS_DENIED`.
    """
    try:
        with open_regular(file) as stream:
            pieces = []
            while most_bytes > 0 and (piece := stream.read(most_bytes)):
                pieces.append(piece)
                most_bytes -= len(piece)
            return b"".join(pieces)
    except OSError as reason:
        raise FindingError(reading_finding(reason, file)) from reason


def write_atomically(file: Path, content: bytes) -> None:
    """Replace `file` by `content` in one step, on disk when this returns. A link stays, its target changes.

    Raises:
        FindingError: `DISK_FULL`, `STORE_READ_ONLY` or `NOT_A_FILE`; the old file is untouched.
    """
    part = None
    try:
        target = Path(os.path.realpath(file)) if file.is_symlink() else file
        if target.exists():
            _require_regular(file, target.stat().st_mode)
        part = target.with_name(f"{target.name[:LONGEST_PART_STEM]}.part")
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except OSError as reason:
        if part is not None:
            _remove(part)
        raise FindingError(storage_finding(reason, file, len(content))) from reason


def free_name(file: Path, now: datetime) -> Path:
    """Return a free name beside `file` for a damaged one: `settings-damaged-20260131-120000-1.json`."""
    stem = f"{file.stem}-damaged-{now:%Y%m%d-%H%M%S}"
    number = 1
    while (candidate := file.with_name(f"{stem}-{number}{file.suffix}")).exists():
        number += 1
    return candidate


def storage_finding(reason: OSError, file: Path, needed_bytes: int | None = None) -> Finding:
    """Return an error while writing `file` as a finding, with the room on its disk.

    Args:
        needed_bytes: What was to be written in all; None when nobody counted.
    """
    free_bytes: int | None
    try:
        free_bytes = shutil.disk_usage(file.parent).free
    except OSError:
        free_bytes = None
    return error(
        storage_code(reason),
        path=str(file),
        needed_bytes=needed_bytes,
        free_bytes=free_bytes,
        detail=reason.strerror or str(reason),
    )


def folder_finding(folder: Path) -> Finding | None:
    """Return why nothing can be saved in `folder`, a warning; None when it takes files."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as reason:
        return replace(storage_finding(reason, folder), severity=Severity.WARNING)


def storage_code(reason: OSError) -> FindingCode:
    """Return what an error while writing means for the person."""
    return FindingCode.DISK_FULL if reason.errno in _FULL else FindingCode.STORE_READ_ONLY


def reading_finding(reason: OSError, path: Path) -> Finding:
    """Return an error while reading `path` as a finding."""
    detail = reason.strerror or str(reason)
    windows_code = getattr(reason, "winerror", None)
    if windows_code in _LOCKED:
        return error(FindingCode.FILE_LOCKED, path=str(path), detail=detail)
    if windows_code in _GONE_ON_WINDOWS or reason.errno in _GONE:
        return error(FindingCode.DRIVE_GONE, path=str(path), detail=detail)
    if reason.errno in _NOTHING_THERE:
        if _is_drive_gone(path):
            return error(FindingCode.DRIVE_GONE, path=str(path), detail=detail)
        return error(FindingCode.PATH_MISSING, path=str(path))
    return error(FindingCode.ACCESS_DENIED, path=str(path), detail=detail)


def system_finding(reason: OSError) -> Finding:
    """Return an error that nobody nearer to it has translated as a finding."""
    path = Path(reason.filename if isinstance(reason.filename, str) else ".")
    if reason.errno in (*_FULL, errno.EROFS):
        return storage_finding(reason, path)
    return reading_finding(reason, path)


def _is_drive_gone(path: PurePath) -> bool:
    """Return whether not even the root of `path` is there: `E:\\` or a share; never so on Linux."""
    try:
        return bool(path.drive) and not Path(path.anchor).exists()
    except (OSError, ValueError):
        return True


def _kind_of(mode: int) -> PathKind:
    if stat.S_ISREG(mode):
        return PathKind.FILE
    return PathKind.FOLDER if stat.S_ISDIR(mode) else PathKind.OTHER


def _require_regular(file: Path, mode: int) -> None:
    kind = _kind_of(mode)
    if kind is not PathKind.FILE:
        raise FindingError(error(FindingCode.NOT_A_FILE, path=str(file), kind=kind.value))


def _remove(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return  # what made writing impossible keeps it there
