"""Which AMD cards a HIP build holds code for: the list that begins its bundle of device programs.

Layout: clang's offload bundler. Compressed bundles (`CCOB`) do not show it; then nothing is known.
"""

import mmap
import re
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from app.files import open_regular
from app.findings import FindingError

MOST_BUNDLES: Final = 64
"""One per source file; the first of HIP names the same devices as the others."""

MOST_ENTRIES: Final = 256
LONGEST_ENTRY_BYTES: Final = 256

Content = mmap.mmap | bytes

_MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
_TARGET: Final = re.compile(rb"hip\w*-amdgcn-amd-amdhsa-[\w.-]*?-(gfx[0-9a-f]{3,5})(?::[\w+:-]*)?")


def hip_targets(program: Path) -> tuple[str, ...]:
    """Return the instruction sets in a program file, in its order; empty when it names none.

    A file that stays the same is read once: it can have hundreds of megabytes.
    """
    try:
        status = program.stat()
    except OSError:
        return ()
    return _targets_in(program, (status.st_size, status.st_mtime_ns))


def read_targets(content: Content) -> tuple[str, ...]:
    """Return the instruction sets of the first bundle that has any."""
    at = -1
    for _ in range(MOST_BUNDLES):
        at = content.find(_MAGIC, at + 1)
        if at < 0:
            return ()
        found = tuple(dict.fromkeys(_entries(content, at + len(_MAGIC))))
        if found:
            return found
    return ()


@lru_cache(maxsize=16)
def _targets_in(program: Path, _stamp: tuple[int, int]) -> tuple[str, ...]:
    try:
        with open_regular(program) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            return read_targets(whole)
    except (OSError, ValueError, FindingError):  # gone, locked, or empty
        return ()


def _entries(content: Content, at: int) -> Iterator[str]:
    size = len(content)
    if at + 8 > size:
        return
    (count,) = struct.unpack_from("<Q", content, at)
    at += 8
    for _ in range(min(count, MOST_ENTRIES)):
        if at + 24 > size:
            return
        _, _, length = struct.unpack_from("<3Q", content, at)
        at += 24
        if length > LONGEST_ENTRY_BYTES or at + length > size:
            return
        name = _TARGET.fullmatch(content[at : at + length])
        if name:
            yield name[1].decode("ascii")
        at += length
