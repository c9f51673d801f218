"""Display adapters in the registry: 64-bit sizes are read, 32-bit ones that are stuck are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.windows_registry import (
    DISPLAY_CLASS,
    RegistryAdapter,
    WindowsRegistry,
    display_adapters,
    trusted_memory,
)
from tests.windows_answers import FakeRegistry

GIB = 1024**3
CARD = {"DriverDesc": "A card", "MatchingDeviceId": r"pci\ven_1002&dev_744c&subsys_1"}


def listed(**values: object) -> RegistryAdapter:
    entry = {**CARD, **{name.replace("__", "."): value for name, value in values.items()}}
    (adapter,) = display_adapters(FakeRegistry({rf"{DISPLAY_CLASS}\0000": entry}))
    return adapter


def test_the_size_in_64_bits_is_read_as_number_and_as_bytes() -> None:
    size = 24 * GIB
    assert listed(HardwareInformation__qwMemorySize=size).memory_bytes == size
    assert listed(HardwareInformation__qwMemorySize=size.to_bytes(8, "little")).memory_bytes == size


@pytest.mark.parametrize(
    "stuck", [4293918720, 4294967295, 0, b"\xff\xff\xff\xff", b"\0\0\xf0\xff", "4 GB", b"1"]
)
def test_a_stuck_or_odd_32_bit_size_is_unknown(stuck: object) -> None:
    assert listed(HardwareInformation__MemorySize=stuck).memory_bytes is None


def test_a_32_bit_size_that_fits_is_taken_where_no_other_is() -> None:
    assert listed(HardwareInformation__MemorySize=2 * GIB).memory_bytes == 2 * GIB


def test_numbers_of_maker_and_device_are_read_in_any_case() -> None:
    adapter = listed(DriverVersion="31.0.1")
    assert (adapter.vendor_id, adapter.device_id, adapter.driver_version) == (0x1002, 0x744C, "31.0.1")


def test_remote_displays_and_settings_are_no_adapters() -> None:
    registry = FakeRegistry(
        {
            rf"{DISPLAY_CLASS}\0000": {"DriverDesc": "Remote", "MatchingDeviceId": r"SWD\RemoteDisplayEnum"},
            rf"{DISPLAY_CLASS}\0001": {"MatchingDeviceId": r"PCI\VEN_1002"},
            rf"{DISPLAY_CLASS}\Properties": CARD,
            rf"{DISPLAY_CLASS}\0002": CARD,
        }
    )
    assert [adapter.name for adapter in display_adapters(registry)] == ["A card"]


def test_a_key_that_is_not_there_is_empty() -> None:
    assert WindowsRegistry().values(r"SOFTWARE\Moxie\Not There") == {}
    assert WindowsRegistry().subkeys(r"SOFTWARE\Moxie\Not There") == ()


@given(
    st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.binary(max_size=9)),
    st.binary(max_size=9),
)
def test_any_entry_is_an_adapter_with_a_likely_size(extra: dict[str, object], size: bytes) -> None:
    entry = {**extra, **CARD, "HardwareInformation.qwMemorySize": size}
    (adapter,) = display_adapters(FakeRegistry({rf"{DISPLAY_CLASS}\0000": entry}))
    assert adapter.memory_bytes == trusted_memory(adapter.memory_bytes)
