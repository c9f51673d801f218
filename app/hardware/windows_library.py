"""Libraries of Windows and COM objects through ctypes: nothing of either is installed with Python."""

import ctypes
import sys
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from app.hardware.ports import SourceError

_SEARCH_SYSTEM32: Final = 0x800
"""LOAD_LIBRARY_SEARCH_SYSTEM32: a file of that name beside the program or on the path is never taken."""

_RELEASE: Final = 2
"""Place of `IUnknown::Release` in every table of methods."""

GUID_BYTES: Final = 16


class Luid(ctypes.Structure):
    """LUID of winnt.h: Windows' name of an adapter until it restarts."""

    _fields_ = [("low", ctypes.c_uint32), ("high", ctypes.c_int32)]

    def text(self) -> str:
        """Return it as performance counters write it, `0xHHHHHHHH_0xLLLLLLLL`."""
        return luid_text(self.high & 0xFFFFFFFF, self.low)


def luid_text(high: int, low: int) -> str:
    """Return the one spelling of a LUID, whatever case its source writes."""
    return f"0x{high:08X}_0x{low:08X}"


def parse_luid(text: str) -> Luid:
    """Return the structure for `0xHHHHHHHH_0xLLLLLLLL`.

    Raises:
        ValueError: any other text.
    """
    high, separator, low = text.partition("_")
    if not separator:
        raise ValueError(text)
    return Luid(int(low, 16), ctypes.c_int32(int(high, 16)).value)


def guid(text: str) -> ctypes.Array[ctypes.c_char]:
    """Return a GUID as it lies in memory."""
    return ctypes.create_string_buffer(uuid.UUID(text).bytes_le, GUID_BYTES)


def load_system_library(name: str) -> Any:
    """Load a library that comes with Windows, from its own folder only.

    Raises:
        SourceError: `library-missing`; always so elsewhere than on Windows.
    """
    if sys.platform != "win32":
        raise SourceError("library-missing", name)
    try:
        return ctypes.WinDLL(name, winmode=_SEARCH_SYSTEM32)
    except OSError as reason:
        raise SourceError("library-missing", f"{name}: {reason}") from reason


def find_function(library: Any, name: str, restype: Any, *argtypes: Any) -> Callable[..., Any]:
    """Return a function of a library with its types set.

    Raises:
        SourceError: `function-missing`: this Windows is older than the function.
    """
    try:
        function = getattr(library, name)
    except AttributeError as reason:
        raise SourceError("function-missing", name) from reason
    function.restype, function.argtypes = restype, argtypes
    typed: Callable[..., Any] = function
    return typed


def method(this: ctypes.c_void_p, place: int, restype: Any, *argtypes: Any) -> Callable[..., Any]:
    """Return a method of a COM object by its place in the table, bound to the object.

    64-bit Windows has one calling convention, so this works with any table of C functions.
    """
    table = ctypes.cast(this, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    prototype = ctypes.CFUNCTYPE(restype, ctypes.c_void_p, *argtypes)
    return partial(prototype(table[place] or 0), this)


def release(this: ctypes.c_void_p) -> None:
    """Give a COM object back."""
    method(this, _RELEASE, ctypes.c_uint32)()


def hresult_text(code: int) -> str:
    """Return an HRESULT or NTSTATUS as people look it up, e.g. `0x887A0002`."""
    return f"0x{code & 0xFFFFFFFF:08X}"
