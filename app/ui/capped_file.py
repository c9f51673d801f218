"""Logs that never grow beyond a limit."""

from pathlib import Path
from typing import Final

LOG_LIMIT_BYTES: Final = 256 * 1024


def append_capped(file: Path, text: str) -> None:
    """Add lines to a log.

    Raises:
        OSError: it cannot be written.
    """
    cap(file)
    with file.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(f"{text}\n")


def cap(file: Path) -> None:
    """Keep the newer half of a log that has grown too long.

    Raises:
        OSError: it cannot be read or written.
    """
    if not file.exists() or file.stat().st_size <= LOG_LIMIT_BYTES:
        return
    kept = file.read_bytes()[-LOG_LIMIT_BYTES // 2 :]
    file.write_bytes(kept[kept.find(b"\n") + 1 :])
