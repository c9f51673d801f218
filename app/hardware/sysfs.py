"""Linux' files of one value: /sys and /proc. A file that cannot be read gives no value."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

LONGEST_VALUE_BYTES: Final = 64 * 1024
LONGEST_COUNT: Final = 20


def read_bytes(file: Path) -> bytes | None:
    """Return what the file says; drivers answer with errors of many kinds when they have no value."""
    try:
        with file.open("rb") as opened:
            return opened.read(LONGEST_VALUE_BYTES)
    except OSError:
        return None


def read_text(file: Path) -> str | None:
    """Return the file's text without the line end; None when it is empty or cannot be read."""
    content = read_bytes(file)
    return None if content is None else content.decode("utf-8", errors="replace").strip() or None


def read_number(file: Path) -> int | None:
    """Return a count, decimal or `0x...`; None for anything else, negative ones included."""
    text = read_text(file) or ""
    count = parse_count(text)
    if count is not None:
        return count
    digits = text.removeprefix("0x")
    if digits != text and 0 < len(digits) <= 16 and all(d in "0123456789abcdefABCDEF" for d in digits):
        value = int(digits, 16)
        return value if value < 2**63 else None
    return None


def parse_count(text: str) -> int | None:
    """Return a decimal count below 2 to the 63; None for anything else, and for -1 written without a sign."""
    if not text.isascii() or not text.isdecimal() or len(text) > LONGEST_COUNT:
        return None
    return int(text) if int(text) < 2**63 else None


def entries(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield what matches in a folder, in the order of names; nothing when there is no such folder."""
    try:
        yield from sorted(folder.glob(pattern))
    except OSError:
        return
