"""DXGI -> the graphics adapters of Windows, of every maker, with their memory. Needs no driver of ours.

Places in the tables of methods and sizes: dxgi.h; a compiler's offsets confirm them.
"""

import ctypes
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from app.hardware.ports import SourceError
from app.hardware.windows_library import (
    Luid,
    find_function,
    guid,
    hresult_text,
    load_system_library,
    method,
    release,
)

_log = logging.getLogger(__name__)

IID_FACTORY: Final = "770aae78-f26f-4dba-a829-253c83d1b387"
IID_DEVICE: Final = "54ec77fa-1377-44e6-8c32-88fd5f44c84c"

FACTORY_ENUM_ADAPTERS: Final = 12
ADAPTER_ENUM_OUTPUTS: Final = 7
ADAPTER_CHECK_INTERFACE: Final = 9
ADAPTER_DESCRIPTION: Final = 10

FLAG_SOFTWARE: Final = 2
NOT_FOUND: Final = ctypes.c_int32(0x887A0002).value
MICROSOFT_VENDOR_ID: Final = 0x1414
BASIC_RENDER_DEVICE_ID: Final = 0x8C

_MOST_ADAPTERS: Final = 64
"""More than any machine has: a broken list must end."""


class AdapterDescription(ctypes.Structure):
    """DXGI_ADAPTER_DESC1 of 64-bit Windows."""

    _fields_ = [
        ("description", ctypes.c_uint16 * 128),
        ("vendor_id", ctypes.c_uint32),
        ("device_id", ctypes.c_uint32),
        ("subsystem_id", ctypes.c_uint32),
        ("revision", ctypes.c_uint32),
        ("dedicated_video_memory", ctypes.c_uint64),
        ("dedicated_system_memory", ctypes.c_uint64),
        ("shared_system_memory", ctypes.c_uint64),
        ("luid", Luid),
        ("flags", ctypes.c_uint32),
    ]


@dataclass(frozen=True, slots=True)
class DxgiAdapter:
    """One adapter as DXGI states it.

    Attributes:
        dedicated_bytes: Memory of its own, or set aside for it by the firmware.
        shared_bytes: RAM it may use besides, at most.
        driver_version: Four numbers, as Windows counts drivers.
        drives_display: A screen hangs on it.
        is_software: Draws with the processor.
    """

    luid: str
    name: str | None
    vendor_id: int
    device_id: int
    dedicated_bytes: int
    shared_bytes: int
    driver_version: str | None = None
    drives_display: bool | None = None
    is_software: bool = False


class DxgiSource:
    """Lists the adapters. Any thread; each call asks Windows anew."""

    def __init__(self, create_factory: Callable[[], ctypes.c_void_p] | None = None) -> None:
        """Load nothing yet; `create_factory` stands in for CreateDXGIFactory1."""
        self._create_factory = create_factory or _create_factory

    def adapters(self) -> tuple[DxgiAdapter, ...]:
        """Return the adapters that are hardware, each once, in Windows' order: the main screen's first.

        Raises:
            SourceError: `library-missing`, `function-missing` or `start-failed`.
        """
        factory = self._create_factory()
        try:
            found: dict[str, DxgiAdapter] = {}
            for adapter in _listed(factory):
                if not adapter.is_software:
                    found.setdefault(adapter.luid, adapter)
            return tuple(found.values())
        finally:
            release(factory)


def parse_description(content: bytes) -> DxgiAdapter:
    """Read a DXGI_ADAPTER_DESC1.

    Raises:
        ValueError: it is shorter than one.
    """
    description = AdapterDescription.from_buffer_copy(content)
    basic = (description.vendor_id, description.device_id) == (MICROSOFT_VENDOR_ID, BASIC_RENDER_DEVICE_ID)
    return DxgiAdapter(
        luid=description.luid.text(),
        name=_text(bytes(description.description)),
        vendor_id=description.vendor_id,
        device_id=description.device_id,
        dedicated_bytes=description.dedicated_video_memory,
        shared_bytes=description.shared_system_memory,
        is_software=bool(description.flags & FLAG_SOFTWARE) or basic,
    )


def driver_version_text(version: int) -> str | None:
    """Return the 64 bits of a user-mode driver's version as four numbers; None when all are zero."""
    parts = [version >> shift & 0xFFFF for shift in (48, 32, 16, 0)]
    return ".".join(map(str, parts)) if any(parts) else None


def nvidia_version(windows_version: str) -> str | None:
    """Return NVIDIA's own number in a Windows driver version: `31.0.15.5161` is 551.61."""
    parts = windows_version.split(".")
    if len(parts) != 4 or not all(part.isdecimal() for part in parts):
        return None
    digits = f"{int(parts[2])}{int(parts[3]):04d}"[-5:]
    return f"{digits[:-2]}.{digits[-2:]}" if len(digits) == 5 and digits[0] != "0" else None


def _create_factory() -> ctypes.c_void_p:
    library = load_system_library("dxgi.dll")
    pointer = ctypes.c_void_p()
    create = find_function(
        library, "CreateDXGIFactory1", ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    )
    status = create(guid(IID_FACTORY), ctypes.byref(pointer))
    if status < 0 or not pointer.value:
        raise SourceError("start-failed", f"CreateDXGIFactory1: {hresult_text(status)}")
    return pointer


def _listed(factory: ctypes.c_void_p) -> Iterator[DxgiAdapter]:
    enum_adapters = method(
        factory,
        FACTORY_ENUM_ADAPTERS,
        ctypes.c_int32,
        ctypes.c_uint32,
        ctypes.POINTER(ctypes.c_void_p),
    )
    for i in range(_MOST_ADAPTERS):
        pointer = ctypes.c_void_p()
        status = enum_adapters(i, ctypes.byref(pointer))
        if status < 0 or not pointer.value:
            if status != NOT_FOUND:
                _log.info("DXGI ends its list at adapter %d: %s", i, hresult_text(status))
            return
        try:
            adapter = _read(pointer)
        finally:
            release(pointer)
        if adapter is not None:
            yield adapter


def _read(pointer: ctypes.c_void_p) -> DxgiAdapter | None:
    buffer = ctypes.create_string_buffer(ctypes.sizeof(AdapterDescription))
    status = method(pointer, ADAPTER_DESCRIPTION, ctypes.c_int32, ctypes.c_void_p)(buffer)
    if status < 0:
        _log.info("DXGI describes an adapter not: %s", hresult_text(status))
        return None
    stated = parse_description(buffer.raw)
    return DxgiAdapter(
        stated.luid,
        stated.name,
        stated.vendor_id,
        stated.device_id,
        stated.dedicated_bytes,
        stated.shared_bytes,
        driver_version=_driver_version(pointer),
        drives_display=_drives_display(pointer),
        is_software=stated.is_software,
    )


def _driver_version(pointer: ctypes.c_void_p) -> str | None:
    version = ctypes.c_uint64()
    check: Any = method(
        pointer,
        ADAPTER_CHECK_INTERFACE,
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_uint64),
    )
    status = check(guid(IID_DEVICE), ctypes.byref(version))
    return driver_version_text(version.value) if status >= 0 else None


def _drives_display(pointer: ctypes.c_void_p) -> bool | None:
    output = ctypes.c_void_p()
    enum_outputs = method(
        pointer, ADAPTER_ENUM_OUTPUTS, ctypes.c_int32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p)
    )
    status = enum_outputs(0, ctypes.byref(output))
    if status >= 0 and output.value:
        release(output)
        return True
    return False if status == NOT_FOUND else None


def _text(utf16: bytes) -> str | None:
    return utf16.decode("utf-16-le", errors="replace").partition("\0")[0].strip() or None
