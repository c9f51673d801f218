"""Devices behind drive letters of Windows, from answers as its drivers write them."""

import ctypes
import struct
import sys
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingCode
from app.hardware.facts import DiskInfo
from app.hardware.verdicts_memory import judge_drive
from app.hardware.windows_drives import (
    DEVICE_PROPERTY,
    SEEK_PENALTY_PROPERTY,
    DeviceDescriptor,
    DeviceKind,
    PropertyQuery,
    SeekPenalty,
    ask_device,
    parse_bus_type,
    parse_seeks,
    read_device,
    with_device,
)

GIB = 1024**3
SATA, NVME, USB, SPACES = 11, 17, 7, 16


def descriptor(bus_type: int) -> bytes:
    """Return a STORAGE_DEVICE_DESCRIPTOR."""
    return struct.pack("<IIBBBB4III4x", 40, 40, 0, 0, 0, 1, 0, 0, 0, 0, bus_type, 0)


def seek_penalty(seeks: int) -> bytes:
    """Return a DEVICE_SEEK_PENALTY_DESCRIPTOR."""
    return struct.pack("<IIB3x", 12, 12, seeks)


class Device:
    """Recorded answers."""

    def __init__(self, answers: Mapping[int, bytes]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def __call__(self, drive: str, property_id: int) -> bytes | None:
        self.asked.append(drive)
        return self._answers.get(property_id)


def test_structures_have_the_layout_of_windows() -> None:
    assert ctypes.sizeof(PropertyQuery) == 12
    assert ctypes.sizeof(SeekPenalty) == 12
    assert SeekPenalty.seeks.offset == 8
    assert ctypes.sizeof(DeviceDescriptor) == 32
    assert DeviceDescriptor.removable_media.offset == 10
    assert DeviceDescriptor.bus_type.offset == 28


@pytest.mark.parametrize(
    ("seeks", "bus_type", "is_rotational", "is_removable", "code"),
    [
        (1, SATA, True, False, FindingCode.MODEL_ON_HARD_DISK),
        (0, NVME, False, False, None),
        (1, USB, True, True, FindingCode.MODEL_ON_REMOVABLE),  # a case that Windows calls a fixed drive
        (1, SPACES, None, False, None),
        (None, SATA, None, False, None),
        (0, None, False, False, None),
    ],
)
def test_a_drive_is_of_the_kind_its_device_says(
    seeks: int | None,
    bus_type: int | None,
    is_rotational: bool | None,
    is_removable: bool,
    code: FindingCode | None,
) -> None:
    answers: dict[int, bytes] = {}
    if seeks is not None:
        answers[SEEK_PENALTY_PROPERTY] = seek_penalty(seeks)
    if bus_type is not None:
        answers[DEVICE_PROPERTY] = descriptor(bus_type)
    told = DiskInfo("D:\\", 500 * GIB, GIB, "NTFS", is_network=False, is_removable=False)
    disk = with_device(told, read_device("D:\\", Device(answers)))
    assert (disk.is_rotational, disk.is_removable) == (is_rotational, is_removable)
    assert [finding.code for finding in judge_drive(disk)] == ([] if code is None else [code])


def test_a_folder_that_a_drive_is_mounted_in_is_not_asked_and_another_computers_drive_keeps_its_kind() -> (
    None
):
    device = Device({})
    assert read_device("C:\\mounts\\models", device) == DeviceKind()
    assert device.asked == []
    remote = DiskInfo("Z:\\", GIB, GIB, is_network=True)
    assert with_device(remote, DeviceKind(seeks=True, bus_type=USB)) == remote


@given(st.binary(max_size=64))
def test_any_answer_is_a_kind_or_none(answer: bytes) -> None:
    assert parse_seeks(answer) in (True, False, None)
    bus_type = parse_bus_type(answer)
    assert bus_type is None or bus_type >= 0


@pytest.mark.skipif(sys.platform != "win32", reason="asks Windows itself")
def test_the_drive_of_windows_answers_or_has_no_answer_and_none_is_made_up() -> None:
    for property_id in (SEEK_PENALTY_PROPERTY, DEVICE_PROPERTY):
        answer = ask_device("C:\\", property_id)
        assert answer is None or len(answer) >= 9
    assert ask_device("Q:\\", DEVICE_PROPERTY) is None


@pytest.mark.skipif(sys.platform == "win32", reason="the drives are there")
def test_elsewhere_than_on_windows_nothing_answers() -> None:
    assert ask_device("C:\\", DEVICE_PROPERTY) is None
