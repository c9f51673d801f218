"""The process's own streams, whatever they are: closed, full, without a reader, in any encoding."""

import contextlib
import os
import sys
from typing import IO, Final, Protocol, TextIO

_STANDARD: Final = (0, 1, 2)
_CLOSED: Final = "closed"


class OutputError(Exception):
    """The results cannot be written: nobody would see them."""


class Writer(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> int:
        """Write all of it."""
        ...

    def flush(self) -> None:
        """Bring to its reader what was written."""
        ...

    def isatty(self) -> bool:
        """Say whether a person looks at it."""
        ...


class ResultStream:
    """Standard output. What cannot be written raises `OutputError`; a reader that left, `BrokenPipeError`."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write all of it."""
        if self._stream is None:
            raise OutputError(_CLOSED)
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as reason:
            raise OutputError(reason.strerror or str(reason)) from reason

    def flush(self) -> None:
        """Bring to its reader what was written."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as reason:
            raise OutputError(reason.strerror or str(reason)) from reason

    def isatty(self) -> bool:
        """Say whether a person looks at it."""
        return self._stream is not None and self._stream.isatty()


class ProgressStream:
    """Standard error. What cannot be written is lost and harms nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with contextlib.suppress(OSError):
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Bring to its reader what was written."""
        with contextlib.suppress(OSError):
            if self._stream is not None:
                self._stream.flush()

    def isatty(self) -> bool:
        """Say whether a person looks at it."""
        return self._stream is not None and self._stream.isatty()


def fill_closed_descriptors() -> None:
    """Open the null device where a standard stream is closed: else the next file of ours would become it."""
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def use_utf8() -> None:
    """Let all three streams speak UTF-8 on every system and never fail at a character."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def abandon(stream: IO[str] | None) -> None:
    """Send what a stream still holds to nowhere, so that flushing it at exit does not complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
