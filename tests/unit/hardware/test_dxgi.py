"""DXGI and DXCore: the layout of 64-bit Windows, and adapters read through real tables of methods."""

import ctypes
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.dxcore import Dxcore
from app.hardware.dxgi import (
    AdapterDescription,
    DxgiSource,
    driver_version_text,
    nvidia_version,
    parse_description,
)
from app.hardware.ports import SourceError
from app.hardware.windows_library import Luid, guid, load_system_library, parse_luid
from tests.windows_answers import Card, FakeDxcore, FakeDxgi

GIB = 1024**3
DRIVER_551_61 = 31 << 48 | 0 << 32 | 15 << 16 | 5161


def test_the_description_has_the_layout_of_64_bit_windows() -> None:
    assert ctypes.sizeof(AdapterDescription) == 312
    assert ctypes.sizeof(Luid) == 8
    offsets = {name: getattr(AdapterDescription, name).offset for name, *_ in AdapterDescription._fields_}
    assert (offsets["vendor_id"], offsets["device_id"]) == (256, 260)
    assert (offsets["dedicated_video_memory"], offsets["shared_system_memory"]) == (272, 288)
    assert (offsets["luid"], offsets["flags"]) == (296, 304)


def test_a_guid_lies_in_memory_with_its_first_parts_turned() -> None:
    assert guid("770aae78-f26f-4dba-a829-253c83d1b387").raw.hex() == "78ae0a776ff2ba4da829253c83d1b387"


def test_cards_are_listed_with_what_each_states_and_everything_is_given_back() -> None:
    fake = FakeDxgi(
        [
            Card(
                "NVIDIA GeForce RTX 4090",
                dedicated=24 * GIB,
                shared=32 * GIB,
                driver=DRIVER_551_61,
                screens=1,
            ),
            Card("AMD Radeon(TM) Graphics", 0x1002, 0x150E, GIB // 2, 16 * GIB, luid=0x1_0000_D500),
        ]
    )
    first, second = DxgiSource(fake.create).adapters()
    assert (first.name, first.luid) == ("NVIDIA GeForce RTX 4090", "0x00000000_0x0000D3F1")
    assert (first.dedicated_bytes, first.shared_bytes) == (24 * GIB, 32 * GIB)
    assert (first.driver_version, first.drives_display) == ("31.0.15.5161", True)
    assert (second.luid, second.driver_version, second.drives_display) == (
        "0x00000001_0x0000D500",
        None,
        False,
    )
    assert [adapter.released for adapter in fake.adapters] == [1, 1]
    assert (fake.factory.released, fake.screen.released) == (1, 1)


def test_what_draws_with_the_processor_is_no_card() -> None:
    fake = FakeDxgi(
        [
            Card("Microsoft Basic Render Driver", 0x1414, 0x8C, luid=1, flags=2),
            Card("Microsoft Basic Render Driver", 0x1414, 0x8C, luid=2),
            Card("Some other software", luid=3, flags=2),
        ]
    )
    assert DxgiSource(fake.create).adapters() == ()


def test_one_card_behind_two_screens_of_a_remote_session_counts_once() -> None:
    assert len(DxgiSource(FakeDxgi([Card(), Card()]).create).adapters()) == 1


def test_a_name_without_an_end_is_read_to_the_end_of_its_field() -> None:
    assert parse_description(Card(name="x" * 200).description()).name == "x" * 128


@pytest.mark.parametrize(
    ("version", "text"),
    [(DRIVER_551_61, "31.0.15.5161"), (0, None), (2**64 - 1, "65535.65535.65535.65535")],
)
def test_a_driver_version_is_four_numbers(version: int, text: str | None) -> None:
    assert driver_version_text(version) == text


@pytest.mark.parametrize(
    ("windows", "own"),
    [
        ("31.0.15.5161", "551.61"),
        ("32.0.15.6603", "566.03"),
        ("27.21.14.5671", "456.71"),
        ("31.0.0.9", None),
        ("31.0.15", None),
        ("", None),
        ("a.b.c.d", None),
    ],
)
def test_nvidia_counts_drivers_by_the_last_five_digits(windows: str, own: str | None) -> None:
    assert nvidia_version(windows) == own


@given(st.binary(max_size=400))
def test_any_bytes_are_an_adapter_or_too_few(content: bytes) -> None:
    try:
        adapter = parse_description(content)
    except ValueError:
        assert len(content) < 312
    else:
        assert parse_luid(adapter.luid).text() == adapter.luid


@pytest.mark.parametrize("text", ["", "0x1", "x_y", "1_"])
def test_other_text_is_no_luid(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|^$|0x1"):
        parse_luid(text)


@pytest.mark.parametrize("integrated", [True, False, None])
def test_dxcore_tells_who_shares_the_processors_memory(integrated: bool | None) -> None:
    card = Card(integrated=integrated)
    fake = FakeDxcore([card])
    assert Dxcore(fake.create).is_integrated(card.luid_text) is integrated
    assert fake.factory.released == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the libraries are there")
def test_elsewhere_than_on_windows_every_library_is_missing() -> None:
    with pytest.raises(SourceError) as caught:
        DxgiSource().adapters()
    assert caught.value.reason == "library-missing"
    assert Dxcore().is_integrated("0x00000000_0x00000001") is None
    with pytest.raises(SourceError):
        load_system_library("gdi32.dll")
