"""Performance counters: the layout of 64-bit Windows, instances, sums, first samples and wildcards."""

import ctypes
import logging
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware import pdh
from app.hardware.pdh import EXPANSION_SECONDS, AdapterUse, PdhCounters, parse_instance, reading_from
from app.hardware.pdh_library import CounterItem, CounterItemHead, parse_items
from app.hardware.ports import SourceError
from tests.windows_answers import FakeCounters

CARD = "0x00000000_0x0000D3F1"
OTHER = "0x00000000_0x0000E000"
ENGINES = [
    (f"pid_100_luid_{CARD}_phys_0_eng_0_engtype_3D", 10.0),
    (f"pid_200_luid_{CARD}_phys_0_eng_0_engtype_3D", 5.0),
    (f"pid_200_luid_{CARD}_phys_0_eng_9_engtype_Compute_0", 80.0),
    (f"pid_300_luid_{CARD}_phys_0_eng_9_engtype_Compute_0", 12.5),
    (f"pid_100_luid_{OTHER}_phys_0_eng_1_engtype_Copy", 70.0),
    (f"pid_200_luid_{OTHER}_phys_0_eng_1_engtype_Copy", 60.0),
]
ANSWERS = {
    pdh.ENGINE_USE: ENGINES,
    pdh.DEDICATED_USE: [(f"luid_{CARD}_phys_0", 5e9), (f"luid_{OTHER}_phys_0", 1e8)],
    pdh.SHARED_USE: [(f"luid_{CARD}_phys_0", 3e8), (f"luid_{OTHER}_phys_0", 2e9)],
    pdh.PROCESS_DEDICATED: [
        (f"pid_200_luid_{CARD}_phys_0", 4e9),
        (f"pid_300_luid_{CARD}_phys_0", 1e9),
        (f"pid_200_luid_{OTHER}_phys_0", 7e7),
    ],
    pdh.PROCESS_SHARED: [(f"pid_200_luid_{CARD}_phys_0", 2.5e8)],
    pdh.DISK_READ: [("_Total", 1.5e6)],
    pdh.PAGES_INPUT: [("", 12.0)],
}


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def written(items: Sequence[tuple[str, int, float]], address: int) -> bytes:
    """Return what PdhGetFormattedCounterArrayW writes for (name, status, value)."""
    heads, names = b"", b""
    start = address + len(items) * 24
    for name, status, value in items:
        heads += struct.pack("<QI4xd", start + len(names), status, value)
        names += name.encode("utf-16-le") + b"\0\0"
    return heads + names


def test_an_item_has_the_layout_of_64_bit_windows() -> None:
    assert ctypes.sizeof(CounterItemHead) == 24
    assert (CounterItemHead.status.offset, CounterItemHead.value.offset) == (8, 16)


def test_items_are_read_with_their_names_and_without_bad_values() -> None:
    buffer = written(
        [("显卡 0", 0, 1.5), ("new", 1, 2.0), ("bad", 0xC0000BC6, 9.0), ("odd", 0, float("nan"))], 4096
    )
    assert parse_items(buffer, 4096, 4) == (
        CounterItem("显卡 0", 1.5),
        CounterItem("new", 2.0),
        CounterItem("bad", None),
        CounterItem("odd", None),
    )


def test_a_name_that_points_elsewhere_drops_its_item() -> None:
    buffer = struct.pack("<QI4xd", 1, 0, 1.0) + struct.pack("<QI4xd", 4096 + 48, 0, 2.0) + b"x\0\0\0"
    assert parse_items(buffer, 4096, 2) == (CounterItem("x", 2.0),)


@given(st.binary(max_size=200), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_any_buffer_gives_a_list(buffer: bytes, address: int, count: int) -> None:
    assert len(parse_items(buffer, address, count)) <= len(buffer) // 24


def test_an_instance_names_its_parts_in_one_spelling() -> None:
    parts = parse_instance("pid_42_luid_0x00000000_0x0000d3f1_phys_0_eng_9_engtype_Video Decode_1")
    assert parts == {"pid": "42", "luid": CARD, "phys": "0", "eng": "9", "engtype": "Video Decode_1"}


@given(st.text())
def test_any_instance_name_has_parts_or_none(instance: str) -> None:
    parts = parse_instance(instance)
    assert len(parts.get("luid", CARD)) == len(CARD)
    reading_from({path: (CounterItem(instance, 1.0),) for path in pdh.PATHS})


def test_load_is_that_of_the_busiest_kind_of_engine_at_most_all_of_it() -> None:
    load = pdh.engine_use(CounterItem(name, value) for name, value in ENGINES)
    assert load == {CARD: 92.5, OTHER: 100.0}


def test_the_first_sample_has_memory_and_no_rates(clock: Clock) -> None:
    reading = PdhCounters(FakeCounters(ANSWERS), clock=clock).read()
    assert reading.adapters[CARD] == AdapterUse(None, 5_000_000_000, 300_000_000)
    assert (reading.disk_read_bytes_per_second, reading.pages_input_per_second) == (None, None)


def test_the_second_sample_has_all(clock: Clock) -> None:
    counters = PdhCounters(FakeCounters(ANSWERS), clock=clock)
    counters.read()
    clock.now += 1
    reading = counters.read()
    assert reading.adapters[CARD].utilization_percent == 92.5
    assert (reading.disk_read_bytes_per_second, reading.pages_input_per_second) == (1.5e6, 12.0)


def test_memory_of_the_engines_processes_is_added_per_card(clock: Clock) -> None:
    reading = PdhCounters(FakeCounters(ANSWERS), clock=clock).read()
    assert reading.process_memory(CARD, {200, 300}) == (5_000_000_000, 250_000_000)
    assert reading.process_memory(OTHER, {200, 300}) == (70_000_000, None)
    assert reading.process_memory(CARD, {999}) == (None, None)


def test_several_cards_of_one_tick_share_one_sample(clock: Clock) -> None:
    library = FakeCounters(ANSWERS)
    counters = PdhCounters(library, clock=clock)
    first = counters.read()
    clock.now += 0.1
    assert counters.read() is first
    assert library.samples == 1


def test_wildcards_are_expanded_again_without_losing_a_sample(clock: Clock) -> None:
    library = FakeCounters(ANSWERS)
    counters = PdhCounters(library, clock=clock)
    counters.read()
    before = set(library.paths)
    loads = []
    for _ in range(3):
        clock.now += EXPANSION_SECONDS / 2
        loads.append(counters.read().adapters[CARD].utilization_percent)
    assert loads == [92.5, 92.5, 92.5]
    assert len(library.paths) == len(ANSWERS)
    assert not before & set(library.paths)


def test_a_counter_that_appears_later_is_found_then(clock: Clock) -> None:
    library = FakeCounters({pdh.PAGES_INPUT: [("", 12.0)]})
    counters = PdhCounters(library, clock=clock)
    assert counters.read().adapters == {}
    library.answers.update(ANSWERS)
    for _ in range(2):
        clock.now += EXPANSION_SECONDS
        reading = counters.read()
    assert reading.adapters[CARD].dedicated_bytes == 5_000_000_000


def test_counters_that_windows_lacks_are_none_and_logged_once(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    counters = PdhCounters(FakeCounters({}), clock=clock)
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            reading = counters.read()
            clock.now += EXPANSION_SECONDS
    assert (reading.adapters, reading.processes, reading.disk_read_bytes_per_second) == ({}, (), None)
    assert len(caplog.records) == len(pdh.PATHS)


def test_switched_off_counters_are_said_to_be(clock: Clock) -> None:
    library = FakeCounters(ANSWERS)
    library.open_status = 0xC0000BDF
    with pytest.raises(SourceError) as caught:
        PdhCounters(library, clock=clock).read()
    assert (caught.value.reason, caught.value.detail) == ("start-failed", "PdhOpenQueryW: 0xC0000BDF")


def test_closing_ends_the_query_and_reading_opens_it_again(clock: Clock) -> None:
    library = FakeCounters(ANSWERS)
    counters = PdhCounters(library, clock=clock)
    counters.read()
    counters.close()
    counters.close()
    assert not library.is_open
    assert counters.read().adapters[CARD].utilization_percent is None
    assert library.is_open
