"""Power states from the device manager: layouts of 64-bit Windows, addresses, and who sleeps."""

import ctypes
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.windows_power import (
    PowerData,
    PowerStates,
    PropertyKey,
    parse_names,
    parse_place,
    parse_power,
)
from tests.windows_answers import FakeDevices


def test_structures_have_the_layout_of_64_bit_windows() -> None:
    assert ctypes.sizeof(PropertyKey) == 20
    assert ctypes.sizeof(PowerData) == 56
    assert (PowerData.state.offset, PowerData.mapping.offset) == (4, 24)


@pytest.mark.parametrize(
    ("state", "asleep"), [(0, None), (1, False), (2, False), (3, False), (4, True), (5, None)]
)
def test_only_a_card_that_is_off_sleeps(state: int, asleep: bool | None) -> None:
    assert parse_power(struct.pack("<14I", 56, state, *([0] * 12))) is asleep


def test_names_end_with_an_empty_one() -> None:
    assert parse_names("PCI\\A\0PCI\\B\0\0rest\0".encode("utf-16-le")) == ("PCI\\A", "PCI\\B")


def test_each_card_of_a_laptop_is_found_by_its_address() -> None:
    states = PowerStates(FakeDevices({(0, 2, 0): 1, (1, 0, 0): 4}))
    assert states.is_asleep("00000000:00:02.0") is False
    assert states.is_asleep("00000000:01:00.0") is True
    assert states.is_asleep("00000000:02:00.0") is None


def test_known_cards_are_not_listed_again_and_new_ones_are_found() -> None:
    devices = FakeDevices({(1, 0, 0): 1})
    states = PowerStates(devices)
    for _ in range(3):
        assert states.is_asleep("00000000:01:00.0") is False
    assert devices.listed == 1
    devices.states[3, 0, 0] = 4
    assert states.is_asleep("00000000:03:00.0") is True


@given(st.binary(max_size=80), st.binary(max_size=5))
def test_any_bytes_are_answers_or_none(content: bytes, other: bytes) -> None:
    assert parse_power(content) in (True, False, None)
    assert all(parse_names(content))
    place = parse_place(content, other)
    assert place is None or len(place) == 16
