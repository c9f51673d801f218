"""What Windows answers about graphics adapters, as bytes and at the small ports of the adapters."""

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.hardware import dxcore, dxgi
from app.hardware.d3dkmt import QUERY_ADDRESS, QUERY_PERFORMANCE, QUERY_TYPE, KmtError
from app.hardware.pdh_library import CounterItem, PdhError
from app.hardware.windows_library import Luid
from app.hardware.windows_power import ADDRESS, BUS_NUMBER, POWER_DATA
from tests.fake_com import FakeObject, prototype, put_pointer

NO_COUNTER = 0xC0000BB9
INVALID_DATA = 0xC0000BC6
OUTPUT_MISSING = ctypes.c_int32(0x887A0002).value
PVOID, U32 = ctypes.c_void_p, ctypes.c_uint32


@dataclass(frozen=True)
class Card:
    """One adapter as a test states it; `driver` is the 64-bit number of its driver."""

    name: str = "A card"
    vendor_id: int = 0x10DE
    device_id: int = 0x2684
    dedicated: int = 0
    shared: int = 0
    luid: int = 0xD3F1
    flags: int = 0
    driver: int | None = None
    screens: int = 0
    integrated: bool | None = None

    @property
    def luid_text(self) -> str:
        return f"0x{self.luid >> 32:08X}_0x{self.luid & 0xFFFFFFFF:08X}"

    def description(self) -> bytes:
        """Return its DXGI_ADAPTER_DESC1."""
        name = self.name.encode("utf-16-le").ljust(256, b"\0")[:256]
        numbers = struct.pack("<4I", self.vendor_id, self.device_id, 0, 0xA1)
        sizes = struct.pack("<3Q", self.dedicated, 0, self.shared)
        return (
            name
            + numbers
            + sizes
            + struct.pack("<Ii", self.luid & 0xFFFFFFFF, self.luid >> 32)
            + (struct.pack("<I4x", self.flags))
        )


class FakeDxgi:
    """A DXGI factory over cards; all it made is released or a test says so."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self._cards = cards
        self.screen = FakeObject({})
        self.adapters = [self._adapter(card) for card in cards]
        place, types = dxgi.FACTORY_ENUM_ADAPTERS, prototype(U32, PVOID)
        self.factory = FakeObject({place: (types, self._enum)})

    def create(self) -> ctypes.c_void_p:
        return self.factory.pointer

    def _enum(self, this: int, i: int, out: int) -> int:
        if i >= len(self.adapters):
            return OUTPUT_MISSING
        put_pointer(out, self.adapters[i].pointer)
        return 0

    def _adapter(self, card: Card) -> FakeObject:
        def describe(this: int, out: int) -> int:
            ctypes.memmove(out, card.description(), len(card.description()))
            return 0

        def check(this: int, iid: int, out: int) -> int:
            if card.driver is None:
                return -1
            ctypes.c_uint64.from_address(out).value = card.driver
            return 0

        def screens(this: int, i: int, out: int) -> int:
            if i >= card.screens:
                return OUTPUT_MISSING
            put_pointer(out, self.screen.pointer)
            return 0

        return FakeObject(
            {
                dxgi.ADAPTER_DESCRIPTION: (prototype(PVOID), describe),
                dxgi.ADAPTER_CHECK_INTERFACE: (prototype(PVOID, PVOID), check),
                dxgi.ADAPTER_ENUM_OUTPUTS: (prototype(U32, PVOID), screens),
            }
        )


class FakeDxcore:
    """A DXCore factory over the same cards."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self._adapters = {card.luid: self._adapter(card) for card in cards if card.integrated is not None}
        types = prototype(ctypes.POINTER(Luid), PVOID, PVOID)
        self.factory = FakeObject({dxcore.FACTORY_ADAPTER_BY_LUID: (types, self._by_luid)})

    def create(self) -> ctypes.c_void_p:
        return self.factory.pointer

    def _by_luid(self, this: int, luid: Any, iid: int, out: int) -> int:
        adapter = self._adapters.get(luid.contents.high << 32 | luid.contents.low)
        if adapter is None:
            return -1
        put_pointer(out, adapter.pointer)
        return 0

    def _adapter(self, card: Card) -> FakeObject:
        def answer(this: int, kind: int, size: int, out: int) -> int:
            if size != 1:
                return -1
            ctypes.c_bool.from_address(out).value = bool(card.integrated)
            return 0

        supported = ctypes.CFUNCTYPE(ctypes.c_bool, PVOID, U32)
        return FakeObject(
            {
                dxcore.ADAPTER_IS_SUPPORTED: (supported, lambda this, kind: kind == dxcore.IS_INTEGRATED),
                dxcore.ADAPTER_PROPERTY: (prototype(U32, ctypes.c_size_t, PVOID), answer),
            }
        )


@dataclass
class FakeKernel:
    """Answers of D3DKMT by question; a question without one fails as drivers do."""

    address: tuple[int, int, int] | None = None
    kind: int | None = None
    fan: int = 0
    power: int = 0
    temperature: int = 0
    has_performance: bool = True
    opened: int = field(default=0)

    def open(self, luid: Luid) -> int:
        self.opened += 1
        return 7

    def query(self, adapter: int, kind: int, question: bytes) -> bytes:
        if kind == QUERY_ADDRESS and self.address is not None:
            return struct.pack("<3I", *self.address)
        if kind == QUERY_TYPE and self.kind is not None:
            return struct.pack("<I", self.kind)
        if kind == QUERY_PERFORMANCE and self.has_performance:
            return performance(self.fan, self.power, self.temperature)
        raise KmtError("0xC000000D")

    def close(self, adapter: int) -> None:
        self.opened -= 1


def performance(fan: int, power: int, temperature: int) -> bytes:
    """Return a D3DKMT_ADAPTER_PERFDATA."""
    return struct.pack("<I4x5Q3IB3x", 0, 0, 0, 0, 0, 0, fan, power, temperature, 1)


class FakeCounters:
    """Performance counters by English path; one that is not listed does not exist on this Windows."""

    def __init__(self, answers: Mapping[str, Sequence[tuple[str, float | None]]]) -> None:
        self.answers = dict(answers)
        self.paths: dict[int, str] = {}
        self.samples = 0
        self.sampled: dict[int, int] = {}
        self.is_open = False
        self.open_status = 0

    def open(self) -> int:
        if self.open_status:
            raise PdhError("PdhOpenQueryW", self.open_status)
        self.is_open = True
        return 1

    def add(self, query: int, path: str) -> int:
        if path not in self.answers:
            raise PdhError(path, NO_COUNTER)
        handle = max(self.paths, default=10) + 1
        self.paths[handle] = path
        return handle

    def collect(self, query: int) -> None:
        self.samples += 1
        for handle in self.paths:
            self.sampled[handle] = self.sampled.get(handle, 0) + 1

    def items(self, counter: int) -> tuple[CounterItem, ...]:
        path = self.paths[counter]
        is_rate = path.endswith(("Percentage", "/sec"))
        if is_rate and self.sampled.get(counter, 0) < 2:
            raise PdhError("PdhGetFormattedCounterArrayW", INVALID_DATA)
        return tuple(CounterItem(name, value) for name, value in self.answers[path])

    def remove(self, counter: int) -> None:
        del self.paths[counter]

    def close(self, query: int) -> None:
        self.is_open = False
        self.paths.clear()
        self.sampled.clear()


@dataclass
class FakeDevices:
    """The device manager: one device per (bus, device, function) with its power state."""

    states: dict[tuple[int, int, int], int]
    listed: int = 0

    def display_devices(self) -> tuple[int, ...]:
        self.listed += 1
        return tuple(range(len(self.states)))

    def value(self, device: int, number: int) -> bytes | None:
        (bus, slot, function), state = list(self.states.items())[device]
        values = {
            BUS_NUMBER: struct.pack("<I", bus),
            ADDRESS: struct.pack("<I", slot << 16 | function),
            POWER_DATA: struct.pack("<14I", 56, state, *([0] * 12)),
        }
        return values.get(number)


class FakeRegistry:
    """HKEY_LOCAL_MACHINE as key -> values; keys of another case are the same, as in Windows."""

    def __init__(self, keys: Mapping[str, Mapping[str, object]] | None = None) -> None:
        self._keys = {key.lower(): (key, values) for key, values in (keys or {}).items()}

    def values(self, key: str) -> Mapping[str, object]:
        return self._keys.get(key.lower(), ("", {}))[1]

    def subkeys(self, key: str) -> tuple[str, ...]:
        prefix = key.lower() + "\\"
        below = [name[len(prefix) :] for low, (name, _) in self._keys.items() if low.startswith(prefix)]
        return tuple(dict.fromkeys(name.split("\\")[0] for name in below))
