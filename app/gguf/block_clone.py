"""Lets two files share blocks on disk (reflink), where the file system can: a copy that takes no space.

Linux: `FICLONERANGE` (btrfs, XFS, bcachefs, ZFS). Windows: `FSCTL_DUPLICATE_EXTENTS_TO_FILE` (ReFS).
"""

import contextlib
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Final, Protocol

MOST_BYTES: Final = 1024**3
"""In one call: ReFS takes less than 4 GiB, and between calls a person can cancel."""


class BlockCloner(Protocol):
    """Shares blocks. Adapters: LinuxCloner, WindowsCloner; in tests a fake."""

    def block_bytes(self, folder: Path) -> int:
        """Return the size of a block of the file system there, a power of two; offsets are multiples of it.

        Raises:
            OSError: the system does not tell.
        """
        ...

    def clone(self, source: int, target: int, source_offset: int, target_offset: int, size: int) -> None:
        """Let the file open as descriptor `target` share `size` bytes of `source`.

        Args:
            size: A multiple of the block size, `MOST_BYTES` at most.

        Raises:
            OSError: this file system cannot.
        """
        ...


class LinuxCloner:
    """`ioctl_ficlonerange(2)`."""

    _FICLONERANGE: Final = 0x4020940D
    _RANGE: Final = struct.Struct("=qQQQ")

    def block_bytes(self, folder: Path) -> int:
        """As the protocol says."""
        if sys.platform == "win32":
            raise OSError("not on this system")
        return os.statvfs(folder).f_bsize

    def clone(self, source: int, target: int, source_offset: int, target_offset: int, size: int) -> None:
        """As the protocol says."""
        if sys.platform == "win32":
            raise OSError("not on this system")
        import fcntl

        asked = self._RANGE.pack(source, source_offset, size, target_offset)
        fcntl.ioctl(target, self._FICLONERANGE, asked)


class WindowsCloner:
    """`FSCTL_DUPLICATE_EXTENTS_TO_FILE`; the target must already be long enough."""

    _DUPLICATE_EXTENTS: Final = 0x00098344

    def block_bytes(self, folder: Path) -> int:
        """As the protocol says: the volume's cluster."""
        if sys.platform != "win32":
            raise OSError("not on this system")
        import ctypes

        sectors, sector_bytes = ctypes.c_ulong(), ctypes.c_ulong()
        free, total = ctypes.c_ulong(), ctypes.c_ulong()
        root = os.path.join(os.path.splitdrive(folder.absolute())[0], os.sep)  # noqa: PTH118  # also shares
        got = ctypes.windll.kernel32.GetDiskFreeSpaceW(
            root, ctypes.byref(sectors), ctypes.byref(sector_bytes), ctypes.byref(free), ctypes.byref(total)
        )
        if not got:
            raise ctypes.WinError()
        return sectors.value * sector_bytes.value

    def clone(self, source: int, target: int, source_offset: int, target_offset: int, size: int) -> None:
        """As the protocol says."""
        if sys.platform != "win32":
            raise OSError("not on this system")
        import ctypes
        import msvcrt

        asked = duplicate_extents(msvcrt.get_osfhandle(source), source_offset, target_offset, size)
        returned = ctypes.c_ulong()
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(target))
        done = ctypes.windll.kernel32.DeviceIoControl(
            handle, self._DUPLICATE_EXTENTS, asked, len(asked), None, 0, ctypes.byref(returned), None
        )
        if not done:
            raise ctypes.WinError()


def duplicate_extents(handle: int, source_offset: int, target_offset: int, size: int) -> bytes:
    """Return a `DUPLICATE_EXTENTS_DATA`: the source's handle, both offsets, the number of bytes."""
    return struct.pack("<Qqqq", handle, source_offset, target_offset, size)


def system_cloner() -> BlockCloner:
    """Return the adapter of this system."""
    return WindowsCloner() if sys.platform == "win32" else LinuxCloner()


def block_for_cloning(source: Path, folder: Path, cloner: BlockCloner) -> int | None:
    """Return the block size with which files in `folder` can share blocks of `source`; None when they cannot.

    Tried with one block and a file that is gone afterwards.
    """
    with contextlib.suppress(OSError), source.open("rb", buffering=0) as original:
        block = cloner.block_bytes(folder)
        if not _is_power_of_two(block) or os.fstat(original.fileno()).st_size < block:
            return None
        with tempfile.TemporaryFile(dir=folder, buffering=0) as trial:
            trial.truncate(block)
            cloner.clone(original.fileno(), trial.fileno(), 0, 0, block)
        return block
    return None


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
