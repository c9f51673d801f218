"""DXCore (Windows 10 2004 and later) -> whether an adapter shares the processor's RAM, as its driver says.

Places and identifiers: dxcore_interface.h of the Windows SDK.
"""

import ctypes
from collections.abc import Callable
from typing import Final

from app.hardware.ports import SourceError
from app.hardware.windows_library import (
    Luid,
    find_function,
    guid,
    hresult_text,
    load_system_library,
    method,
    parse_luid,
    release,
)

IID_FACTORY: Final = "78ee5945-c36e-4b13-a669-005dd11c0f06"
IID_ADAPTER: Final = "f0db4c7f-fe5a-42a2-bd62-f2a6cf6fc83e"

FACTORY_ADAPTER_BY_LUID: Final = 4
ADAPTER_IS_SUPPORTED: Final = 5
ADAPTER_PROPERTY: Final = 6
IS_INTEGRATED: Final = 12


class Dxcore:
    """Asks DXCore about adapters that DXGI found."""

    def __init__(self, create_factory: Callable[[], ctypes.c_void_p] | None = None) -> None:
        """Load nothing yet; `create_factory` stands in for DXCoreCreateAdapterFactory."""
        self._create_factory = create_factory or _create_factory

    def is_integrated(self, luid: str) -> bool | None:
        """Return the driver's word; None without one, or without DXCore."""
        try:
            factory = self._create_factory()
        except SourceError:
            return None
        try:
            return _ask(factory, parse_luid(luid))
        finally:
            release(factory)


def _create_factory() -> ctypes.c_void_p:
    library = load_system_library("dxcore.dll")
    create = find_function(
        library,
        "DXCoreCreateAdapterFactory",
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_void_p),
    )
    pointer = ctypes.c_void_p()
    status = create(guid(IID_FACTORY), ctypes.byref(pointer))
    if status < 0 or not pointer.value:
        raise SourceError("start-failed", f"DXCoreCreateAdapterFactory: {hresult_text(status)}")
    return pointer


def _ask(factory: ctypes.c_void_p, luid: Luid) -> bool | None:
    by_luid = method(
        factory,
        FACTORY_ADAPTER_BY_LUID,
        ctypes.c_int32,
        ctypes.POINTER(Luid),
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_void_p),
    )
    adapter = ctypes.c_void_p()
    if by_luid(ctypes.byref(luid), guid(IID_ADAPTER), ctypes.byref(adapter)) < 0 or not adapter.value:
        return None
    try:
        return _property(adapter)
    finally:
        release(adapter)


def _property(adapter: ctypes.c_void_p) -> bool | None:
    if not method(adapter, ADAPTER_IS_SUPPORTED, ctypes.c_bool, ctypes.c_uint32)(IS_INTEGRATED):
        return None
    answer = ctypes.c_bool()
    ask = method(
        adapter,
        ADAPTER_PROPERTY,
        ctypes.c_int32,
        ctypes.c_uint32,
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_bool),
    )
    status = ask(IS_INTEGRATED, ctypes.sizeof(answer), ctypes.byref(answer))
    return answer.value if status >= 0 else None
