"""Windows structures have the sizes of 64-bit Windows on every system, and its bytes are read right."""

import ctypes
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.topology import Core, performance_core_count
from app.hardware.windows import (
    GroupAffinity,
    PerformanceInformation,
    ProcessorRelationship,
    parse_cores,
    windows_version,
)


def core_record(mask: int, efficiency_class: int = 0, group: int = 0) -> bytes:
    """Return a record as Windows writes one for a core."""
    head = struct.pack("<IIBB20xH", 0, 48, int(mask & (mask - 1) != 0), efficiency_class, 1)
    return head + struct.pack("<QH6x", mask, group)


def test_structures_have_the_sizes_of_64_bit_windows() -> None:
    assert ctypes.sizeof(ProcessorRelationship) == 32
    assert ctypes.sizeof(GroupAffinity) == 16
    assert ctypes.sizeof(PerformanceInformation) == 104
    assert PerformanceInformation.commit_total.offset == 8
    assert PerformanceInformation.commit_limit.offset == 16
    assert PerformanceInformation.page_size.offset == 80
    assert ProcessorRelationship.efficiency_class.offset == 9
    assert ProcessorRelationship.group_count.offset == 30


def test_a_hybrid_has_its_fast_cores_in_the_highest_class() -> None:
    buffer = (
        core_record(0b11, 1) + core_record(0b1100, 1) + b"".join(core_record(1 << cpu) for cpu in (4, 5, 6))
    )
    cores = parse_cores(buffer)
    assert [core.cpus for core in cores] == [{0, 1}, {2, 3}, {4}, {5}, {6}]
    assert performance_core_count(cores) == 2


def test_cores_of_one_kind_are_all_fast() -> None:
    assert performance_core_count(parse_cores(core_record(1) + core_record(2))) == 2


def test_processors_of_a_second_group_get_numbers_of_their_own() -> None:
    assert parse_cores(core_record(1, group=1)) == (Core(frozenset((64,))),)


def test_records_of_another_kind_are_passed_over() -> None:
    cache = struct.pack("<II", 2, 56) + bytes(48)
    assert parse_cores(cache + core_record(1)) == (Core(frozenset((0,))),)


@pytest.mark.parametrize("size", [0, 1, 47, 2**32 - 1])
def test_a_record_of_impossible_size_ends_the_list(size: int) -> None:
    broken = struct.pack("<II", 0, size) + core_record(2)[8:]
    assert parse_cores(core_record(1) + broken + core_record(4)) == (Core(frozenset((0,))),)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_list_of_cores(buffer: bytes) -> None:
    assert all(core.cpus for core in parse_cores(buffer))


@given(st.lists(st.integers(min_value=1, max_value=2**64 - 1), max_size=4), st.binary(max_size=40))
def test_whole_records_count_and_a_torn_one_does_not(masks: list[int], rest: bytes) -> None:
    torn = struct.pack("<II", 0, 48 + len(rest)) + rest
    cores = parse_cores(b"".join(core_record(mask) for mask in masks) + torn)
    assert [len(core.cpus) for core in cores[: len(masks)]] == [mask.bit_count() for mask in masks]


@pytest.mark.parametrize(
    ("numbers", "version"),
    [
        ((10, 0, 19045), "10 (10.0.19045)"),
        ((10, 0, 22631), "11 (10.0.22631)"),
        ((10, 0, 26100), "11 (10.0.26100)"),
        ((6, 3, 9600), "6 (6.3.9600)"),
    ],
)
def test_windows_11_is_told_by_its_build(numbers: tuple[int, int, int], version: str) -> None:
    assert windows_version(*numbers) == version
