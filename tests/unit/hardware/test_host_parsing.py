"""The parts of the host adapter that judge: text, limits, which mounts are disks, what counts as busy."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from app.hardware.cgroup import MemoryLimit
from app.hardware.host import PsutilHostSource, limited_memory, parse_cpuinfo

GIB = 1024**3

INTEL = """processor\t: 0
model name\t: 13th Gen Intel(R) Core(TM) i7-13700H
flags\t\t: fpu sse2 pni ssse3 sse4_1 sse4_2 avx f16c fma avx2 bmi2 avx_vnni

processor\t: 1
model name\t: another
flags\t\t: fpu
"""

ARM = """processor\t: 0
Features\t: fp asimd fphp asimddp sve i8mm bf16
CPU part\t: 0xd4f
"""


def test_an_x86_processor_is_named_with_the_instruction_sets_builds_differ_by() -> None:
    name, sets = parse_cpuinfo(INTEL)
    assert name == "13th Gen Intel(R) Core(TM) i7-13700H"
    expected = ("sse3", "ssse3", "sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "bmi2", "avx_vnni")
    assert sets == expected


def test_an_arm_processor_without_a_name_has_none_and_its_sets_in_common_words() -> None:
    assert parse_cpuinfo(ARM) == (None, ("neon", "dotprod", "fphp", "i8mm", "bf16", "sve"))


@pytest.mark.parametrize("text", ["", "\x00", "no colon here"])
def test_a_cpuinfo_without_content_gives_nothing(text: str) -> None:
    assert parse_cpuinfo(text) == (None, ())


def test_a_limit_below_the_machine_counts_and_one_above_does_not() -> None:
    assert limited_memory(64 * GIB, 50 * GIB, None) == (64 * GIB, 50 * GIB)
    assert limited_memory(64 * GIB, 50 * GIB, MemoryLimit(8 * GIB, 6 * GIB)) == (8 * GIB, 6 * GIB)
    assert limited_memory(64 * GIB, 50 * GIB, MemoryLimit(99 * GIB, 98 * GIB)) == (64 * GIB, 50 * GIB)


def test_disks_are_listed_once_without_images_and_single_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("disk", "disk-again", "snap", "loop"):
        (tmp_path / name).mkdir()
    (tmp_path / "hosts").touch()
    mounts = [
        ("disk-again", "/dev/sdb1", "ext4"),
        ("disk", "/dev/sdb1", "ext4"),
        ("snap", "/dev/sdc", "squashfs"),
        ("loop", "/dev/loop3", "ext4"),
        ("hosts", "/dev/sdd", "ext4"),
        ("gone", "/dev/sde", "ext4"),
    ]
    partitions = [
        SimpleNamespace(mountpoint=str(tmp_path / name), device=device, fstype=kind, opts="rw")
        for name, device, kind in mounts
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: partitions)
    disks = PsutilHostSource().host().disks
    assert [disk.mount for disk in disks if disk.mount != "/"] == [str(tmp_path / "disk")]


@pytest.mark.parametrize(
    ("later", "percent"),
    [
        ({"user": 14.0, "idle": 21.0}, 80.0),
        # a guest's time is in user already, waiting for a disk is idling, and clocks may stand still
        ({"user": 14.0, "idle": 21.0, "guest": 4.0}, 80.0),
        ({"user": 11.0, "idle": 23.0, "iowait": 1.0}, 20.0),
        ({"user": 10.0, "idle": 20.0}, None),
    ],
)
def test_the_load_is_the_share_of_time_not_idle(
    later: dict[str, float], percent: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = type(psutil.cpu_times())

    def at(**seconds: float) -> Any:
        return times(**{name: seconds.get(name, 0.0) for name in times._fields})

    if not set(later) <= set(times._fields):
        pytest.skip("this system does not count that")
    monkeypatch.setattr(psutil, "cpu_times", lambda: at(user=10.0, idle=20.0))
    source = PsutilHostSource()
    monkeypatch.setattr(psutil, "cpu_times", lambda: at(**later))
    measured = source.read().cpu_percent
    assert measured == (None if percent is None else pytest.approx(percent))


def test_a_system_that_counts_no_processor_time_has_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(1, "Invalid function")

    monkeypatch.setattr(psutil, "cpu_times", refuse)
    sample = PsutilHostSource().read()
    assert sample.cpu_percent is None
    assert sample.ram_used_bytes is not None
