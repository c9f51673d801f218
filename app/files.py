"""Files written so that a crash or a full disk leaves the old or the new content, never half of one."""

import errno
import os
from pathlib import Path

from app.findings import FindingCode, FindingError, error


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
        raise FindingError(error(storage_code(reason), path=str(file), detail=str(reason))) from reason


def storage_code(reason: OSError) -> FindingCode:
    """Return what an error while writing means for the person."""
    full = reason.errno in (errno.ENOSPC, errno.EDQUOT)
    return FindingCode.DISK_FULL if full else FindingCode.STORE_READ_ONLY
