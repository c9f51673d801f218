"""Files written so that a crash or a full disk leaves the old or the new content, never half of one."""

import errno
import os
import shutil
from pathlib import Path

from app.findings import Finding, FindingCode, FindingError, error


def write_atomically(file: Path, content: bytes) -> None:
    """Replace `file` by `content` in one step, on disk when this returns.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`; the old file is untouched.
    """
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except OSError as reason:
        part.unlink(missing_ok=True)
        raise FindingError(storage_finding(reason, file, len(content))) from reason


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
        detail=str(reason),
    )


def storage_code(reason: OSError) -> FindingCode:
    """Return what an error while writing means for the person."""
    full = reason.errno in (errno.ENOSPC, errno.EDQUOT)
    return FindingCode.DISK_FULL if full else FindingCode.STORE_READ_ONLY
