"""The graphics kernel of Windows -> temperature, power, fan and PCI address of any maker's adapter.

Numbers and layouts: d3dkmthk.h. The performance data exist since WDDM 2.4 (Windows 10 1803).
"""

import ctypes
import logging
from dataclasses import dataclass
from typing import Final, Protocol

from app.hardware.ports import SourceError
from app.hardware.windows_library import Luid, find_function, hresult_text, load_system_library, parse_luid

_log = logging.getLogger(__name__)

QUERY_ADDRESS: Final = 6
QUERY_TYPE: Final = 15
QUERY_PERFORMANCE: Final = 62

HYBRID_DISCRETE: Final = 1 << 4
HYBRID_INTEGRATED: Final = 1 << 5

_PLAUSIBLE_CELSIUS: Final = range(1, 150)
_FULL_POWER_TENTHS: Final = 1000
_MOST_POWER_TENTHS: Final = 3000
"""More than three times the limit is no reading."""


class OpenAdapterFromLuid(ctypes.Structure):
    """D3DKMT_OPENADAPTERFROMLUID."""

    _fields_ = [("luid", Luid), ("adapter", ctypes.c_uint32)]


class QueryAdapterInfo(ctypes.Structure):
    """D3DKMT_QUERYADAPTERINFO of 64-bit Windows."""

    _fields_ = [
        ("adapter", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("data", ctypes.c_uint64),
        ("size", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
    ]


class AdapterAddress(ctypes.Structure):
    """D3DKMT_ADAPTERADDRESS."""

    _fields_ = [("bus", ctypes.c_uint32), ("device", ctypes.c_uint32), ("function", ctypes.c_uint32)]


class AdapterPerformance(ctypes.Structure):
    """D3DKMT_ADAPTER_PERFDATA: 0 where the driver gives no value."""

    _fields_ = [
        ("physical_adapter_index", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
        ("memory_hertz", ctypes.c_uint64),
        ("most_memory_hertz", ctypes.c_uint64),
        ("most_memory_hertz_overclocked", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("pcie_bytes", ctypes.c_uint64),
        ("fan_rpm", ctypes.c_uint32),
        ("power_tenths_percent", ctypes.c_uint32),
        ("temperature_tenths_celsius", ctypes.c_uint32),
        ("power_state_override", ctypes.c_uint8),
        ("tail", ctypes.c_uint8 * 3),
    ]


class KmtError(Exception):
    """The kernel refused one question."""


class KmtLibrary(Protocol):
    """The calls of gdi32.dll; in tests, recorded answers."""

    def open(self, luid: Luid) -> int:
        """Return a handle.

        Raises:
            KmtError: no such adapter.
        """
        ...

    def query(self, adapter: int, kind: int, question: bytes) -> bytes:
        """Return the answer, as long as the question.

        Raises:
            KmtError: the driver has none.
        """
        ...

    def close(self, adapter: int) -> None:
        """Give the handle back."""
        ...


@dataclass(frozen=True, slots=True)
class KmtAdapter:
    """What does not change.

    Attributes:
        pci_bus_id: As NVML writes it, e.g. `00000000:01:00.0`.
        is_hybrid_discrete: The strong card of a laptop that has two.
        is_hybrid_integrated: The other one of such a pair.
    """

    pci_bus_id: str | None = None
    is_hybrid_discrete: bool | None = None
    is_hybrid_integrated: bool | None = None


@dataclass(frozen=True, slots=True)
class KmtReading:
    """One reading.

    Attributes:
        power_percent: 0..100 of what the board may draw.
    """

    temperature_celsius: int | None = None
    power_percent: float | None = None
    fan_rpm: int | None = None


class D3dkmt:
    """Asks about adapters that DXGI found; without the library, nothing is known. Any thread."""

    def __init__(self, library: KmtLibrary | None = None) -> None:
        """Load nothing yet."""
        self._library = library
        self._is_missing = False
        self._logged: set[str] = set()

    def adapter(self, luid: str) -> KmtAdapter:
        """Return what does not change."""
        address = self._ask(luid, QUERY_ADDRESS, bytes(ctypes.sizeof(AdapterAddress)))
        kind = self._ask(luid, QUERY_TYPE, bytes(4))
        flags = None if kind is None else int.from_bytes(kind, "little")
        return KmtAdapter(
            pci_bus_id=None if address is None else parse_address(address),
            is_hybrid_discrete=None if flags is None else bool(flags & HYBRID_DISCRETE),
            is_hybrid_integrated=None if flags is None else bool(flags & HYBRID_INTEGRATED),
        )

    def read(self, luid: str) -> KmtReading:
        """Read the sensors once."""
        answer = self._ask(luid, QUERY_PERFORMANCE, bytes(ctypes.sizeof(AdapterPerformance)))
        return KmtReading() if answer is None else parse_performance(answer)

    def _ask(self, luid: str, kind: int, question: bytes) -> bytes | None:
        try:
            library = self._loaded()
            if library is None:
                return None
            # opened for each question: a handle kept would outlive a restart of the driver
            adapter = library.open(parse_luid(luid))
            try:
                return library.query(adapter, kind, question)
            finally:
                library.close(adapter)
        except (KmtError, ValueError, OSError) as reason:
            self._log_once(f"question {kind} about {luid}: {reason}")
            return None

    def _loaded(self) -> KmtLibrary | None:
        if self._library is None and not self._is_missing:
            try:
                self._library = WindowsKmt()
            except SourceError as reason:
                self._is_missing = True
                self._log_once(str(reason))
        return self._library

    def _log_once(self, what: str) -> None:
        if what not in self._logged:
            self._logged.add(what)
            _log.info("D3DKMT gives no answer: %s", what)


class WindowsKmt:
    """The calls themselves."""

    def __init__(self) -> None:
        """Find the functions.

        Raises:
            SourceError: `library-missing` or `function-missing`.
        """
        library = load_system_library("gdi32.dll")
        structure = ctypes.c_void_p
        self._open = find_function(library, "D3DKMTOpenAdapterFromLuid", ctypes.c_int32, structure)
        self._query = find_function(library, "D3DKMTQueryAdapterInfo", ctypes.c_int32, structure)
        self._close = find_function(library, "D3DKMTCloseAdapter", ctypes.c_int32, structure)

    def open(self, luid: Luid) -> int:
        """Return a handle."""
        question = OpenAdapterFromLuid(luid, 0)
        _check(self._open(ctypes.byref(question)))
        return int(question.adapter)

    def query(self, adapter: int, kind: int, question: bytes) -> bytes:
        """Return the answer."""
        buffer = ctypes.create_string_buffer(question, len(question))
        _check(
            self._query(
                ctypes.byref(QueryAdapterInfo(adapter, kind, ctypes.addressof(buffer), len(question), 0))
            )
        )
        return buffer.raw

    def close(self, adapter: int) -> None:
        """Give the handle back."""
        self._close(ctypes.byref(ctypes.c_uint32(adapter)))


def parse_address(content: bytes) -> str | None:
    """Return the PCI address in a D3DKMT_ADAPTERADDRESS; None when no PCI device has such a one."""
    try:
        address = AdapterAddress.from_buffer_copy(content)
    except ValueError:
        return None
    if address.bus > 0xFF or address.device > 0x1F or address.function > 7:
        return None
    return f"00000000:{address.bus:02X}:{address.device:02X}.{address.function:X}"


def parse_performance(content: bytes) -> KmtReading:
    """Return the sensors in a D3DKMT_ADAPTER_PERFDATA."""
    try:
        data = AdapterPerformance.from_buffer_copy(content)
    except ValueError:
        return KmtReading()
    celsius = round(data.temperature_tenths_celsius / 10)
    power = data.power_tenths_percent
    return KmtReading(
        temperature_celsius=celsius if celsius in _PLAUSIBLE_CELSIUS else None,
        # boards draw a little more than their limit for moments
        power_percent=min(power, _FULL_POWER_TENTHS) / 10 if 0 < power <= _MOST_POWER_TENTHS else None,
        fan_rpm=data.fan_rpm or None,
    )


def _check(status: int) -> None:
    if status < 0:
        raise KmtError(hresult_text(status))
