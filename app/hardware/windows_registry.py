"""The registry of Windows, read without rights, and the display adapters it knows."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

DISPLAY_CLASS: Final = (
    r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"  # every display driver
)

STUCK_BYTES: Final = frozenset((4293918720, 4294967295))
"""What 32-bit fields say of any memory from 4 GiB on."""

_MOST_BYTES: Final = 2**48
"""256 TiB: more is an address or rubbish."""


class RegistryReader(Protocol):
    """Reads HKEY_LOCAL_MACHINE. Adapters: `WindowsRegistry`; in tests `FakeRegistry`."""

    def values(self, key: str) -> Mapping[str, object]:
        """Return a key's values by name; empty when there is no such key or it is forbidden."""
        ...

    def subkeys(self, key: str) -> tuple[str, ...]:
        """Return the names of the keys below; empty likewise."""
        ...


class WindowsRegistry:
    """The registry itself; empty elsewhere than on Windows."""

    def values(self, key: str) -> Mapping[str, object]:
        """Return a key's values by name."""
        if sys.platform != "win32":
            return {}
        import winreg

        found: dict[str, object] = {}
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
                for i in range(winreg.QueryInfoKey(opened)[1]):
                    name, value, _ = winreg.EnumValue(opened, i)
                    found[name] = value
        except OSError:  # no such key, no right to it, or it changed meanwhile
            pass
        return found

    def subkeys(self, key: str) -> tuple[str, ...]:
        """Return the names of the keys below."""
        if sys.platform != "win32":
            return ()
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
                return tuple(winreg.EnumKey(opened, i) for i in range(winreg.QueryInfoKey(opened)[0]))
        except OSError:
            return ()


@dataclass(frozen=True, slots=True)
class RegistryAdapter:
    """A display driver's entry. It may be left over from a card that is gone.

    Attributes:
        memory_bytes: What the driver wrote; None when the field cannot hold the truth.
    """

    name: str
    vendor_id: int | None = None
    device_id: int | None = None
    driver_version: str | None = None
    memory_bytes: int | None = None


def display_adapters(registry: RegistryReader) -> tuple[RegistryAdapter, ...]:
    """Return the entries of display drivers that have hardware behind them."""
    keys = [key for key in registry.subkeys(DISPLAY_CLASS) if key.isdecimal()]
    return tuple(_adapters(registry.values(f"{DISPLAY_CLASS}\\{key}") for key in keys))


def trusted_memory(value: int | None) -> int | None:
    """Return a size another source stated, or None where it is a sign of "unknown"."""
    return None if not value or value in STUCK_BYTES else counted(value)


def counted(value: int | None) -> int | None:
    """Return a size, or None where no memory has one like it."""
    return value if value is not None and 0 <= value < _MOST_BYTES else None


def _adapters(entries: Iterable[Mapping[str, object]]) -> Iterable[RegistryAdapter]:
    for entry in entries:
        name = entry.get("DriverDesc")
        device = str(entry.get("MatchingDeviceId") or "").upper()
        if not isinstance(name, str) or not device.startswith("PCI\\"):
            continue  # remote and virtual displays
        version = entry.get("DriverVersion")
        yield RegistryAdapter(
            name.strip(),
            vendor_id=_hex_after(device, "VEN_"),
            device_id=_hex_after(device, "DEV_"),
            driver_version=version if isinstance(version, str) and version else None,
            memory_bytes=_memory(entry),
        )


def _memory(entry: Mapping[str, object]) -> int | None:
    # the first has 64 bits; the second is the one that WMI calls AdapterRAM
    for name in ("HardwareInformation.qwMemorySize", "HardwareInformation.MemorySize"):
        value = trusted_memory(_number(entry.get(name)))
        if value is not None:
            return value
    return None


def _number(value: object) -> int | None:
    if isinstance(value, bytes):  # some drivers write the number as bytes
        return int.from_bytes(value, "little") if len(value) in (4, 8) else None
    return value if isinstance(value, int) else None


def _hex_after(text: str, mark: str) -> int | None:
    _, found, rest = text.partition(mark)
    try:
        return int(rest[:4], 16) if found else None
    except ValueError:
        return None
