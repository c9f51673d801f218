"""Reads one piece of a file as near to the drive as the system lets us: past its cache where possible."""

import contextlib
import ctypes
import errno
import mmap
import os
import sys
from pathlib import Path
from typing import Final, Protocol

PAGE_BYTES: Final = 4096
"""Offsets, sizes and buffers of unbuffered reads are multiples of a sector; none is bigger than this."""

DIRECT: Final = "direct"
NO_BUFFERING: Final = "no-buffering"
DROPPED: Final = "dropped"


class PieceReader(Protocol):
    """One open file and one buffer: for one thread.

    Attributes:
        method: As in `StorageSpeed`.
    """

    method: str

    def read(self, offset: int) -> None:
        """Read the piece at `offset`, a multiple of `PAGE_BYTES`.

        Raises:
            OSError: the drive does not give it.
        """
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def open_reader(file: Path, piece_bytes: int) -> PieceReader:
    """Open a file for reads of `piece_bytes`, a multiple of `PAGE_BYTES`.

    Raises:
        OSError: it cannot be opened, or not read.
    """
    return _SystemReader(file, piece_bytes)


if sys.platform == "win32":
    _GENERIC_READ: Final = 0x80000000
    _SHARE_ALL: Final = 0x7
    _OPEN_EXISTING: Final = 3
    _NO_BUFFERING_RANDOM: Final = 0x20000000 | 0x10000000
    _NO_HANDLE: Final = ctypes.c_void_p(-1).value

    class _Overlapped(ctypes.Structure):
        """OVERLAPPED of 64-bit Windows; of a handle opened for waiting, only where to read from counts."""

        _fields_ = [
            ("internal", ctypes.c_uint64),
            ("internal_high", ctypes.c_uint64),
            ("offset", ctypes.c_uint32),
            ("offset_high", ctypes.c_uint32),
            ("event", ctypes.c_void_p),
        ]

    class _SystemReader:
        method = NO_BUFFERING

        def __init__(self, file: Path, piece_bytes: int) -> None:
            self._library = ctypes.WinDLL("kernel32", use_last_error=True)
            create = self._library.CreateFileW
            create.restype = ctypes.c_void_p
            create.argtypes = (
                *(ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p),
                *(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p),
            )
            handle = create(
                str(file), _GENERIC_READ, _SHARE_ALL, None, _OPEN_EXISTING, _NO_BUFFERING_RANDOM, None
            )
            if handle in (None, _NO_HANDLE):
                raise ctypes.WinError(ctypes.get_last_error())
            self._handle = ctypes.c_void_p(handle)
            self._bytes = piece_bytes
            self._buffer = mmap.mmap(-1, piece_bytes)
            self._place = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self._buffer)))

        def read(self, offset: int) -> None:
            where = _Overlapped(offset=offset & 0xFFFFFFFF, offset_high=offset >> 32)
            done = ctypes.c_uint32(0)
            if not self._library.ReadFile(
                self._handle,
                self._place,
                ctypes.c_uint32(self._bytes),
                ctypes.byref(done),
                ctypes.byref(where),
            ):
                raise ctypes.WinError(ctypes.get_last_error())
            _require_all(done.value, self._bytes)

        def close(self) -> None:
            self._library.CloseHandle(self._handle)

else:

    class _SystemReader:
        def __init__(self, file: Path, piece_bytes: int) -> None:
            self._file = file
            self._bytes = piece_bytes
            self._descriptor = self._open()
            self._buffer = mmap.mmap(-1, piece_bytes)  # begins at a page

        def read(self, offset: int) -> None:
            if self.method == DROPPED:
                self._advise(offset, self._bytes, "POSIX_FADV_DONTNEED")
            try:
                done = os.preadv(self._descriptor, [self._buffer], offset)
            except OSError as reason:
                if self.method == DROPPED or reason.errno != errno.EINVAL:
                    raise
                os.close(self._descriptor)  # some file systems refuse only now
                self._descriptor = self._open_buffered()
                return self.read(offset)
            return _require_all(done, self._bytes)

        def close(self) -> None:
            os.close(self._descriptor)
            self._buffer.close()

        def _open(self) -> int:
            direct = getattr(os, "O_DIRECT", 0)
            try:
                self.method = DIRECT if direct else DROPPED
                return os.open(self._file, os.O_RDONLY | os.O_CLOEXEC | direct)
            except OSError as reason:
                if not direct or reason.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
            return self._open_buffered()

        def _open_buffered(self) -> int:
            self.method = DROPPED
            self._descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
            self._advise(0, 0, "POSIX_FADV_RANDOM")
            return self._descriptor

        def _advise(self, offset: int, length: int, advice: str) -> None:
            with contextlib.suppress(OSError, AttributeError):  # a wish; some systems have no such call
                os.posix_fadvise(self._descriptor, offset, length, getattr(os, advice))


def _require_all(read_bytes: int, wanted_bytes: int) -> None:
    if read_bytes < wanted_bytes:  # it became shorter meanwhile
        raise OSError(errno.EIO, f"{read_bytes} of {wanted_bytes} bytes")
