"""What Windows knows of the device behind a drive letter: whether it seeks, and by what it is attached.

Numbers and structures: winioctl.h, ntddstor.h. A handle without any right to the data is enough, and so no
administrator is needed; the device is asked by its own driver and need not spin up.
"""

import ctypes
import sys
from dataclasses import dataclass, replace
from typing import Final, Protocol

from app.hardware.facts import DiskInfo

QUERY_PROPERTY: Final = 0x2D1400
DEVICE_PROPERTY: Final = 0
SEEK_PENALTY_PROPERTY: Final = 7

USB: Final = 7
PULLED_OUT: Final = (USB, 12, 13)
"""STORAGE_BUS_TYPE: USB, and cards of both kinds."""

VIRTUAL: Final = (14, 15, 16)
"""Images, and pools of several drives: what they say of seeking is not about one device."""

_LARGEST_ANSWER_BYTES: Final = 1024
_SHARE_ALL: Final = 7
_OPEN_EXISTING: Final = 3


class PropertyQuery(ctypes.Structure):
    """STORAGE_PROPERTY_QUERY."""

    _fields_ = [
        ("property", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("more", ctypes.c_uint8 * 4),
    ]


class SeekPenalty(ctypes.Structure):
    """DEVICE_SEEK_PENALTY_DESCRIPTOR."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("seeks", ctypes.c_uint8),
        ("padding", ctypes.c_uint8 * 3),
    ]


class DeviceDescriptor(ctypes.Structure):
    """STORAGE_DEVICE_DESCRIPTOR up to the names; its serial number is not read."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("device_type", ctypes.c_uint8),
        ("device_type_modifier", ctypes.c_uint8),
        ("removable_media", ctypes.c_uint8),
        ("command_queueing", ctypes.c_uint8),
        ("offsets", ctypes.c_uint32 * 4),
        ("bus_type", ctypes.c_uint32),
    ]


class AskDevice(Protocol):
    """Asks for one property. Adapter: `ask_device`; in tests, recorded answers."""

    def __call__(self, drive: str, property_id: int) -> bytes | None:
        """Return the answer; None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """What a device says of itself."""

    seeks: bool | None = None
    bus_type: int | None = None


def ask_device(drive: str, property_id: int) -> bytes | None:
    """Return what the device of a drive such as `C:\\` answers; None elsewhere than on Windows."""
    if sys.platform != "win32":
        return None
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateFileW.restype = ctypes.c_void_p
    name = rf"\\.\{drive.rstrip(chr(92))}"
    handle = kernel.CreateFileW(ctypes.c_wchar_p(name), 0, _SHARE_ALL, None, _OPEN_EXISTING, 0, None)
    if handle is None or handle == ctypes.c_void_p(-1).value:
        return None
    try:
        query, size = PropertyQuery(property_id), ctypes.c_uint32()
        buffer = ctypes.create_string_buffer(_LARGEST_ANSWER_BYTES)
        is_answered = kernel.DeviceIoControl(
            ctypes.c_void_p(handle),
            QUERY_PROPERTY,
            ctypes.byref(query),
            ctypes.sizeof(query),
            buffer,
            len(buffer),
            ctypes.byref(size),
            None,
        )
        return buffer.raw[: size.value] if is_answered else None
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


def read_device(drive: str, ask: AskDevice = ask_device) -> DeviceKind:
    """Return what is known of the device of a drive letter; nothing for a drive without one."""
    if len(drive.rstrip("\\")) != 2:  # a folder that a drive is mounted in
        return DeviceKind()
    return DeviceKind(
        parse_seeks(ask(drive, SEEK_PENALTY_PROPERTY)), parse_bus_type(ask(drive, DEVICE_PROPERTY))
    )


def parse_seeks(answer: bytes | None) -> bool | None:
    """Return whether the device loses time between places, as only spinning ones do."""
    if answer is None or len(answer) <= SeekPenalty.seeks.offset:
        return None
    return bool(answer[SeekPenalty.seeks.offset])


def parse_bus_type(answer: bytes | None) -> int | None:
    """Return the STORAGE_BUS_TYPE of a device."""
    if answer is None or len(answer) < ctypes.sizeof(DeviceDescriptor):
        return None
    return int(DeviceDescriptor.from_buffer_copy(answer).bus_type)


def with_device(disk: DiskInfo, device: DeviceKind) -> DiskInfo:
    """Return a local drive with what its device says; a drive of another computer has none here."""
    if disk.is_network:
        return disk
    is_pulled_out = device.bus_type in PULLED_OUT
    return replace(
        disk,
        is_rotational=None if device.bus_type in VIRTUAL else device.seeks,
        is_removable=True if is_pulled_out else disk.is_removable,
    )
