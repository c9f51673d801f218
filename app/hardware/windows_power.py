"""Windows' device manager -> whether a graphics card is powered down. Asking it wakes no card.

Properties: devpkey.h, all of one group; the power state is CM_POWER_DATA of winnt.h.
"""

import ctypes
import logging
import uuid
from collections.abc import Mapping
from typing import Any, Final, Protocol

from app.hardware.ports import SourceError
from app.hardware.windows_library import find_function, load_system_library

_log = logging.getLogger(__name__)

DISPLAY_CLASS: Final = "{4d36e968-e325-11ce-bfc1-08002be10318}"
PROPERTY_GROUP: Final = "a45c254e-df1c-4efd-8020-67d146a850e0"
BUS_NUMBER: Final = 23
ADDRESS: Final = 30
POWER_DATA: Final = 32

DEVICE_D3: Final = 4
"""DEVICE_POWER_STATE: off. 1 is fully on, 0 says nothing."""

_FILTER_PRESENT_OF_CLASS: Final = 0x100 | 0x200
_LARGEST_PROPERTY_BYTES: Final = 256


class PropertyKey(ctypes.Structure):
    """DEVPROPKEY."""

    _fields_ = [("group", ctypes.c_uint8 * 16), ("number", ctypes.c_uint32)]


class PowerData(ctypes.Structure):
    """CM_POWER_DATA."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("capabilities", ctypes.c_uint32),
        ("latencies", ctypes.c_uint32 * 3),
        ("mapping", ctypes.c_uint32 * 7),
        ("deepest_wake", ctypes.c_uint32),
    ]


class DeviceLibrary(Protocol):
    """The calls of cfgmgr32.dll; in tests, recorded answers."""

    def display_devices(self) -> tuple[int, ...]:
        """Return handles of the display devices that are plugged in."""
        ...

    def value(self, device: int, number: int) -> bytes | None:
        """Return a property of `PROPERTY_GROUP`; None when the device has none."""
        ...


class PowerStates:
    """Tells sleeping cards by their PCI address. Any thread; without the library nothing is known."""

    def __init__(self, library: DeviceLibrary | None = None) -> None:
        """Load nothing yet."""
        self._library = library
        self._is_missing = False
        self._devices: Mapping[str, int] = {}

    def is_asleep(self, pci_bus_id: str) -> bool | None:
        """Return whether the card is off; None when nobody says."""
        library = self._loaded()
        if library is None:
            return None
        if pci_bus_id not in self._devices:
            self._devices = _by_address(library)
        device = self._devices.get(pci_bus_id)
        content = None if device is None else library.value(device, POWER_DATA)
        return None if content is None else parse_power(content)

    def _loaded(self) -> DeviceLibrary | None:
        if self._library is None and not self._is_missing:
            try:
                self._library = WindowsDevices()
            except SourceError as reason:
                self._is_missing = True
                _log.info("no power states of cards: %s", reason)
        return self._library


class WindowsDevices:
    """The calls themselves."""

    def __init__(self) -> None:
        """Find the functions.

        Raises:
            SourceError: `library-missing` or `function-missing`.
        """
        library = load_system_library("cfgmgr32.dll")
        word, pointer, text = ctypes.c_uint32, ctypes.c_void_p, ctypes.c_wchar_p

        def find(name: str, *argtypes: Any) -> Any:
            return find_function(library, name, word, *argtypes)

        self._size = find("CM_Get_Device_ID_List_SizeW", pointer, text, word)
        self._list = find("CM_Get_Device_ID_ListW", text, pointer, word, word)
        self._locate = find("CM_Locate_DevNodeW", pointer, text, word)
        self._property = find("CM_Get_DevNode_PropertyW", word, pointer, pointer, pointer, pointer, word)

    def display_devices(self) -> tuple[int, ...]:
        """Return handles of the display devices that are plugged in."""
        found: list[int] = []
        for name in self._names():
            device = ctypes.c_uint32()
            if self._locate(ctypes.byref(device), name, 0) == 0:
                found.append(device.value)
        return tuple(found)

    def value(self, device: int, number: int) -> bytes | None:
        """Return a property."""
        group = (ctypes.c_uint8 * 16)(*uuid.UUID(PROPERTY_GROUP).bytes_le)
        key = PropertyKey(group, number)
        kind, size = ctypes.c_uint32(), ctypes.c_uint32(_LARGEST_PROPERTY_BYTES)
        buffer = ctypes.create_string_buffer(size.value)
        status = self._property(device, ctypes.byref(key), ctypes.byref(kind), buffer, ctypes.byref(size), 0)
        return buffer.raw[: size.value] if status == 0 else None

    def _names(self) -> tuple[str, ...]:
        size = ctypes.c_uint32()
        if self._size(ctypes.byref(size), DISPLAY_CLASS, _FILTER_PRESENT_OF_CLASS) or not size.value:
            return ()
        buffer = ctypes.create_string_buffer(2 * size.value)
        if self._list(DISPLAY_CLASS, buffer, size.value, _FILTER_PRESENT_OF_CLASS):
            return ()
        return parse_names(buffer.raw)


def parse_names(content: bytes) -> tuple[str, ...]:
    """Return the texts of a list in UTF-16 that an empty one ends."""
    text = content[: len(content) // 2 * 2].decode("utf-16-le", errors="replace")
    names: list[str] = []
    for name in text.split("\0"):
        if not name:
            break
        names.append(name)
    return tuple(names)


def parse_power(content: bytes) -> bool | None:
    """Return whether a CM_POWER_DATA says "off"; None when it says nothing."""
    try:
        state = PowerData.from_buffer_copy(content).state
    except ValueError:
        return None
    return bool(state == DEVICE_D3) if 0 < state <= DEVICE_D3 else None


def parse_place(bus: bytes | None, address: bytes | None) -> str | None:
    """Return the PCI address of a bus number and an address of device and function, as NVML writes it."""
    if bus is None or address is None or len(bus) != 4 or len(address) != 4:
        return None
    number, both = int.from_bytes(bus, "little"), int.from_bytes(address, "little")
    device, function = both >> 16, both & 0xFFFF
    if number > 0xFF or device > 0x1F or function > 7:
        return None
    return f"00000000:{number:02X}:{device:02X}.{function:X}"


def _by_address(library: DeviceLibrary) -> dict[str, int]:
    found: dict[str, int] = {}
    for device in library.display_devices():
        place = parse_place(library.value(device, BUS_NUMBER), library.value(device, ADDRESS))
        if place is not None:
            found[place] = device
    return found
