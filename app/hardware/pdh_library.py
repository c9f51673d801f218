"""The calls of pdh.dll: Windows' performance counters as lists of instances and values."""

import ctypes
import math
from dataclasses import dataclass
from typing import Any, Final, Protocol

from app.hardware.windows_library import find_function, hresult_text, load_system_library

FORMAT_DOUBLE: Final = 0x200
FORMAT_UNCAPPED: Final = 0x8000
MORE_DATA: Final = 0x800007D2
VALID: Final = (0, 1)
"""PDH_CSTATUS_VALID_DATA and PDH_CSTATUS_NEW_DATA."""

_LARGEST_ANSWER_BYTES: Final = 16 * 1024**2
_TRIES: Final = 4
"""An answer can grow between the question for its size and the one for it."""


class CounterItemHead(ctypes.Structure):
    """PDH_FMT_COUNTERVALUE_ITEM_W of 64-bit Windows, its value as a double."""

    _fields_ = [
        ("name", ctypes.c_uint64),
        ("status", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
        ("value", ctypes.c_double),
    ]


@dataclass(frozen=True, slots=True)
class CounterItem:
    """One instance of a counter.

    Attributes:
        instance: e.g. `luid_0x00000000_0x0000D3F1_phys_0`; empty for a counter without instances.
        value: None when there is none yet: rates need two samples.
    """

    instance: str
    value: float | None


class PdhError(Exception):
    """A call of PDH failed.

    Attributes:
        status: PDH_STATUS.
    """

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"{call}: {hresult_text(status)}")
        self.status = status


class PdhLibrary(Protocol):
    """The calls of pdh.dll; in tests, recorded answers. Handles are opaque numbers. All raise `PdhError`."""

    def open(self) -> int:
        """Return a new query."""
        ...

    def add(self, query: int, path: str) -> int:
        """Return a counter added by its English path."""
        ...

    def collect(self, query: int) -> None:
        """Take one sample of all counters."""
        ...

    def items(self, counter: int) -> tuple[CounterItem, ...]:
        """Return the instances with their values of the last sample."""
        ...

    def remove(self, counter: int) -> None:
        """Take a counter out of its query."""
        ...

    def close(self, query: int) -> None:
        """End a query and its counters."""
        ...


class WindowsPdh:
    """The calls themselves."""

    def __init__(self) -> None:
        """Find the functions.

        Raises:
            SourceError: `library-missing` or `function-missing`.
        """
        library = load_system_library("pdh.dll")
        handle, word, pointer = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p

        def find(name: str, *argtypes: Any) -> Any:
            return find_function(library, name, ctypes.c_uint32, *argtypes)

        self._open = find("PdhOpenQueryW", ctypes.c_wchar_p, ctypes.c_size_t, pointer)
        self._add = find("PdhAddEnglishCounterW", handle, ctypes.c_wchar_p, ctypes.c_size_t, pointer)
        self._collect = find("PdhCollectQueryData", handle)
        self._array = find("PdhGetFormattedCounterArrayW", handle, word, pointer, pointer, pointer)
        self._remove = find("PdhRemoveCounter", handle)
        self._close = find("PdhCloseQuery", handle)

    def open(self) -> int:
        """Return a new query on this machine's live counters."""
        query = ctypes.c_void_p()
        _check("PdhOpenQueryW", self._open(None, 0, ctypes.byref(query)))
        return query.value or 0

    def add(self, query: int, path: str) -> int:
        """Return a counter added by its English path."""
        counter = ctypes.c_void_p()
        _check(f"PdhAddEnglishCounterW {path}", self._add(query, path, 0, ctypes.byref(counter)))
        return counter.value or 0

    def collect(self, query: int) -> None:
        """Take one sample."""
        _check("PdhCollectQueryData", self._collect(query))

    def items(self, counter: int) -> tuple[CounterItem, ...]:
        """Return the instances with their values."""
        size, count = ctypes.c_uint32(), ctypes.c_uint32()
        buffer: ctypes.Array[ctypes.c_char] | None = None
        status = MORE_DATA
        for _ in range(_TRIES):
            status = self._array(
                counter, FORMAT_DOUBLE | FORMAT_UNCAPPED, ctypes.byref(size), ctypes.byref(count), buffer
            )
            if status != MORE_DATA or size.value > _LARGEST_ANSWER_BYTES:
                break
            buffer = ctypes.create_string_buffer(size.value)
        _check("PdhGetFormattedCounterArrayW", status)
        if buffer is None:
            return ()
        return parse_items(buffer.raw, ctypes.addressof(buffer), count.value)

    def remove(self, counter: int) -> None:
        """Take a counter out."""
        _check("PdhRemoveCounter", self._remove(counter))

    def close(self, query: int) -> None:
        """End a query."""
        _check("PdhCloseQuery", self._close(query))


def parse_items(buffer: bytes, address: int, count: int) -> tuple[CounterItem, ...]:
    """Read what PdhGetFormattedCounterArrayW wrote.

    Args:
        address: Where the buffer lay then: names are pointers into it. Those that point elsewhere drop
            their item.
    """
    found: list[CounterItem] = []
    for i in range(min(count, len(buffer) // ctypes.sizeof(CounterItemHead))):
        head = CounterItemHead.from_buffer_copy(buffer, i * ctypes.sizeof(CounterItemHead))
        name = _name_at(buffer, head.name - address)
        if name is not None:
            is_valid = head.status in VALID and math.isfinite(head.value)
            found.append(CounterItem(name, head.value if is_valid else None))
    return tuple(found)


def _name_at(buffer: bytes, offset: int) -> str | None:
    if not 0 <= offset < len(buffer):
        return None
    end = offset
    while end + 2 <= len(buffer) and buffer[end : end + 2] != b"\0\0":
        end += 2
    return buffer[offset:end].decode("utf-16-le", errors="replace")


def _check(call: str, status: int) -> None:
    if status:
        raise PdhError(call, status)
