"""The graphics kernel's answers: layouts of 64-bit Windows, sensors, addresses, and their absence."""

import ctypes
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.d3dkmt import (
    AdapterAddress,
    AdapterPerformance,
    D3dkmt,
    KmtReading,
    OpenAdapterFromLuid,
    QueryAdapterInfo,
    parse_address,
    parse_performance,
)
from tests.windows_answers import FakeKernel, performance

LUID = "0x00000000_0x0000D3F1"


def test_structures_have_the_layout_of_64_bit_windows() -> None:
    assert ctypes.sizeof(OpenAdapterFromLuid) == 12
    assert ctypes.sizeof(QueryAdapterInfo) == 24
    assert (QueryAdapterInfo.data.offset, QueryAdapterInfo.size.offset) == (8, 16)
    assert ctypes.sizeof(AdapterAddress) == 12
    assert ctypes.sizeof(AdapterPerformance) == 64
    assert AdapterPerformance.memory_hertz.offset == 8
    assert AdapterPerformance.fan_rpm.offset == 48
    assert AdapterPerformance.power_tenths_percent.offset == 52
    assert AdapterPerformance.temperature_tenths_celsius.offset == 56


def test_sensors_count_in_tenths() -> None:
    assert parse_performance(performance(1450, 435, 612)) == KmtReading(61, 43.5, 1450)


def test_a_sensor_that_is_zero_is_none() -> None:
    assert parse_performance(performance(0, 0, 0)) == KmtReading()


def test_what_no_sensor_can_say_is_none() -> None:
    assert parse_performance(performance(1, 2**32 - 1, 2**32 - 1)) == KmtReading(fan_rpm=1)


def test_a_board_over_its_limit_is_at_its_limit() -> None:
    assert parse_performance(performance(0, 1043, 0)).power_percent == 100.0


def test_an_address_is_written_as_nvml_writes_it() -> None:
    assert parse_address(struct.pack("<3I", 1, 0, 0)) == "00000000:01:00.0"
    assert parse_address(struct.pack("<3I", 0xC1, 0x1F, 7)) == "00000000:C1:1F.7"


@pytest.mark.parametrize("numbers", [(256, 0, 0), (0, 32, 0), (0, 0, 8), (2**32 - 1,) * 3])
def test_an_address_off_the_bus_is_none(numbers: tuple[int, int, int]) -> None:
    assert parse_address(struct.pack("<3I", *numbers)) is None


def test_a_laptops_pair_is_told_apart() -> None:
    strong = D3dkmt(FakeKernel(address=(1, 0, 0), kind=0b01_0001)).adapter(LUID)
    assert (strong.pci_bus_id, strong.is_hybrid_discrete, strong.is_hybrid_integrated) == (
        "00000000:01:00.0",
        True,
        False,
    )
    weak = D3dkmt(FakeKernel(kind=0b10_0011)).adapter(LUID)
    assert (weak.pci_bus_id, weak.is_hybrid_discrete, weak.is_hybrid_integrated) == (None, False, True)


def test_a_question_the_driver_refuses_costs_its_own_field_and_no_handle() -> None:
    kernel = FakeKernel(address=(1, 0, 0), has_performance=False)
    source = D3dkmt(kernel)
    assert source.read(LUID) == KmtReading()
    assert source.adapter(LUID).pci_bus_id == "00000000:01:00.0"
    assert kernel.opened == 0


def test_an_adapter_without_a_name_for_it_is_not_asked() -> None:
    kernel = FakeKernel(temperature=500)
    assert D3dkmt(kernel).read("nonsense") == KmtReading()
    assert D3dkmt(kernel).read(LUID).temperature_celsius == 50


@given(st.binary(max_size=100))
def test_any_bytes_are_a_reading_within_bounds(content: bytes) -> None:
    reading = parse_performance(content)
    assert reading.temperature_celsius is None or 0 < reading.temperature_celsius < 150
    assert reading.power_percent is None or 0 < reading.power_percent <= 100
    address = parse_address(content)
    assert address is None or len(address) == 16
