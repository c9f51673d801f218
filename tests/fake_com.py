"""COM objects made of ctypes callbacks: the real calls through a table of methods run on every system."""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

METHODS = 16


class FakeObject:
    """An object with methods at the places given; it counts how often it was released.

    Attributes:
        pointer: What the code under test gets.
        released: Calls of `Release`.
    """

    def __init__(self, methods: Mapping[int, tuple[Any, Callable[..., int]]]) -> None:
        """Make it of place -> (prototype, function); the prototype begins with the object's pointer."""
        self.released = 0
        release = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(self._release)
        self._callbacks: list[Any] = [release]
        table = (ctypes.c_void_p * METHODS)()
        table[2] = ctypes.cast(release, ctypes.c_void_p).value
        for place, (prototype, function) in methods.items():
            callback = prototype(function)
            self._callbacks.append(callback)
            table[place] = ctypes.cast(callback, ctypes.c_void_p).value
        self._table = table
        self._head = ctypes.c_void_p(ctypes.addressof(table))
        self.pointer = ctypes.c_void_p(ctypes.addressof(self._head))

    def _release(self, this: int) -> int:
        self.released += 1
        return 0


def prototype(*argtypes: Any) -> Any:
    """Return the type of a method that answers with an HRESULT."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *argtypes)


def put_pointer(address: int, pointer: ctypes.c_void_p) -> None:
    """Store a pointer where a method was told to."""
    ctypes.c_void_p.from_address(address).value = pointer.value
