"""Walks through the header of a file in small reads, never past its end."""

import re
import struct
from functools import cache
from typing import BinaryIO, Final

WINDOW_BYTES: Final = 256 * 1024
FIRST_WINDOW_BYTES: Final = 8 * 1024
"""After a jump: what lies there may be a length and another jump."""

MAX_READ_BYTES: Final = 256 * 1024**2
"""In all. The largest vocabularies take 20 MB; a header made of jumps ends here, after 32 768 of them."""

_U64 = struct.Struct("<Q")

_RUN: Final = 64
"""Strings passed in one step where all of them are short."""

_SHORT: Final = 64
_USUAL: Final = 6
"""Bytes of a short string, and of the commonest ones in vocabularies."""


class GgufError(Exception):
    """The file is not a GGUF file this program can read.

    Attributes:
        reason: Stable word: `not-gguf`, `version`, `big-endian`, `truncated`, `bad-count`, `bad-length`,
            `value-type`, `nested-array`, `alignment`, `dimensions`, `access-denied`, `not-a-file`,
            `unreadable`, `elsewhere` (in a cloud).
        values: The numbers behind it, e.g. `offset` where it was met, or `needed_bytes` when truncated.
    """

    def __init__(self, reason: str, **values: int | str) -> None:
        super().__init__(f"{reason}: {values}")
        self.reason = reason
        self.values = values


class ByteCursor:
    """A position in a file and a window of it in memory.

    Plain reads, not a memory map: a file that shrinks while it is mapped kills the process.
    """

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        """Start at the beginning of `file`, opened unbuffered, `size_bytes` long."""
        self._file = file
        self._size_bytes = size_bytes
        self._window = b""
        self._start = 0
        self._at = 0
        self._next_bytes = FIRST_WINDOW_BYTES
        self._read_bytes = 0
        self._read_until = 0

    @property
    def offset(self) -> int:
        """Bytes from the start of the file."""
        return self._start + self._at

    def is_at_end(self) -> bool:
        """Return whether nothing comes any more."""
        return self.offset >= self._size_bytes

    def seek(self, offset: int) -> None:
        """Go to `offset` bytes from the start of the file, forward or back."""
        if self._start <= offset <= self._start + len(self._window):
            self._at = offset - self._start
        else:
            self._start, self._at, self._window = offset, 0, b""

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes.

        Raises:
            GgufError: `truncated`, the file ends before.
        """
        end = self._at + count
        if end > len(self._window):
            self._refill(count)
            end = count
        taken = self._window[self._at : end]
        self._at = end
        return taken

    def unpack(self, layout: struct.Struct) -> tuple[int | float | bool, ...]:
        """Return the next values of `layout`; raises as `take` does."""
        return layout.unpack(self.take(layout.size))

    def skip(self, count: int) -> None:
        """Move on by `count` bytes without reading them; raises as `take` does."""
        self._require(count)
        if self._at + count <= len(self._window):
            self._at += count
            return
        self._start, self._at, self._window = self.offset + count, 0, b""

    def skip_strings(self, count: int) -> None:
        """Move on past `count` strings, each a length and that many bytes; raises as `take` does."""
        self._require(count * _U64.size)
        left = count
        while left:
            left -= self._skip_strings_in_window(left)
            self._require(0)
            if left:
                self._refill(_U64.size)

    def _skip_strings_in_window(self, count: int) -> int:
        """Skip up to `count` strings whose lengths lie in the window; the last one may end behind it."""
        # The hot loop of the whole reader, half a million strings: in runs, as far as all of a run are
        # short and whole, else length by length.
        window, at, run_of_short = self._window, self._at, _run_of_short().match
        done = 0
        while done < count and at < len(window):  # the last one may claim to be longer than any file
            if count - done >= _RUN and (run := run_of_short(window, at)):
                at = run.end()
                done += _RUN
                continue
            wanted = min(_RUN, count - done)
            passed, at = _skip_each(window, at, wanted)
            done += passed
            if passed < wanted:
                break
        self._at = at
        return done

    def _require(self, count: int) -> None:
        if count > self._size_bytes - self.offset:
            raise GgufError("truncated", offset=self.offset, needed_bytes=self.offset + count)

    def _refill(self, count: int) -> None:
        self._require(count)
        self._start, self._at = self.offset, 0
        is_jump = self._start - self._read_until > FIRST_WINDOW_BYTES
        self._next_bytes = FIRST_WINDOW_BYTES if is_jump else min(8 * self._next_bytes, WINDOW_BYTES)
        self._file.seek(self._start)
        self._window = _read_fully(self._file, max(count, self._next_bytes))
        self._read_bytes += len(self._window)
        self._read_until = self._start + len(self._window)
        if len(self._window) < count:  # it shrank since it was opened
            raise GgufError("truncated", offset=self._start, needed_bytes=self._start + count)
        if self._read_bytes > MAX_READ_BYTES:
            raise GgufError("bad-length", length=self._read_bytes, offset=self._start)


@cache
def _run_of_short() -> re.Pattern[bytes]:
    """Return what matches `_RUN` strings shorter than `_SHORT`, each a length of 8 bytes and as many more.

    A third faster than a loop on real vocabularies. Never goes back: a string has one length.
    """
    lengths = sorted(range(_SHORT), key=lambda length: abs(length - _USUAL))
    strings = b"|".join(re.escape(_U64.pack(length)) + b".{%d}" % length for length in lengths)
    return re.compile(b"(?:%s){%d}+" % (strings, _RUN), re.DOTALL)


def _skip_each(window: bytes, at: int, count: int) -> tuple[int, int]:
    """Return how many of `count` strings at `at` have their lengths in the window, and where the next is."""
    # That the window ends is told by `unpack_from`, which is cheaper than asking before each.
    read_length = _U64.unpack_from
    done = 0
    try:
        for done in range(count):  # noqa: B007 how far it came
            (length,) = read_length(window, at)
            at += length + 8
    except (struct.error, OverflowError):  # behind the window, or further than any file is long
        return done, at
    return count, at


def _read_fully(file: BinaryIO, count: int) -> bytes:
    pieces = []
    while count > 0 and (piece := file.read(count)):
        pieces.append(piece)
        count -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
