"""The host adapter on this machine, and the fake held to its types."""

import shutil
import sys
import time
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from app.hardware.cgroup import ControlGroups
from app.hardware.host import PsutilHostSource
from tests.fakes import FakeHostSource

DEADLINE_SECONDS = 10.0


@pytest.fixture
def source() -> PsutilHostSource:
    return PsutilHostSource()


def types_of(value: Any) -> Any:
    """Return the types of a record's fields; a field without a value fits any."""
    if is_dataclass(value):
        return {f.name: types_of(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return types_of(value[0]) if value else None
    return None if value is None else type(value)


def assert_same_types(real: Any, fake: Any, at: str = "") -> None:
    if isinstance(real, dict) and isinstance(fake, dict):
        assert real.keys() == fake.keys()
        for name in real:
            assert_same_types(real[name], fake[name], f"{at}.{name}")
    elif real is not None and fake is not None:
        assert real == fake, at


def test_the_fake_answers_with_the_types_of_the_real_source(source: PsutilHostSource) -> None:
    fake = FakeHostSource()
    assert_same_types(types_of(source.host()), types_of(fake.host()))
    assert_same_types(types_of(_sample_with_load(source)), types_of(fake.read()))


def test_memory_and_cores_of_this_machine_are_consistent(source: PsutilHostSource) -> None:
    host = source.host()
    assert host.ram_total_bytes is not None
    assert host.ram_available_bytes is not None
    assert 0 < host.ram_available_bytes <= host.ram_total_bytes
    cpu = host.cpu
    assert cpu.physical_cores is not None
    assert cpu.logical_cores is not None
    assert cpu.performance_cores is not None
    assert cpu.usable_cores is not None
    assert 1 <= cpu.performance_cores <= cpu.physical_cores <= cpu.logical_cores
    assert 1 <= cpu.usable_cores <= cpu.physical_cores
    assert cpu.instruction_sets


def test_the_disk_of_this_file_is_listed_once_with_its_true_size(source: PsutilHostSource) -> None:
    disks = source.host().disks
    root = Path(__file__).resolve().anchor
    (disk,) = [disk for disk in disks if disk.mount == root]
    assert disk.total_bytes == shutil.disk_usage(root).total
    assert 0 <= disk.free_bytes <= disk.total_bytes
    assert len({disk.mount for disk in disks}) == len(disks)


def test_the_system_is_named(source: PsutilHostSource) -> None:
    host = source.host()
    assert host.os_name == ("Windows" if sys.platform == "win32" else "Linux")
    assert host.os_version


def test_the_commit_limit_is_there_on_windows_only(source: PsutilHostSource) -> None:
    host = source.host()
    assert (host.commit_limit_bytes is not None) == (sys.platform == "win32")


def test_the_load_is_measured_from_reading_to_reading(source: PsutilHostSource) -> None:
    sample = _sample_with_load(source)
    assert sample.cpu_percent is not None
    assert 0.0 < sample.cpu_percent <= 100.0


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_a_container_limit_counts_as_the_whole_memory(tmp_path: Path) -> None:
    root, membership = tmp_path / "cgroup", tmp_path / "membership"
    root.mkdir()
    membership.write_text("0::/\n", encoding="ascii")
    for name, text in (
        ("memory.max", "500000000"),
        ("memory.current", "100000000"),
        ("cpu.max", "100000 100000"),
    ):
        (root / name).write_text(text + "\n", encoding="ascii")
    host = PsutilHostSource(ControlGroups(root, membership)).host()
    assert (host.ram_total_bytes, host.ram_available_bytes) == (500_000_000, 400_000_000)
    assert host.cpu.usable_cores == 1


def _sample_with_load(source: PsutilHostSource) -> Any:
    """Return a reading over a stretch in which this thread kept a core busy."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        busy_until = time.monotonic() + 0.05
        while time.monotonic() < busy_until:
            pass
        sample = source.read()
        if sample.cpu_percent:
            return sample
    pytest.fail("the processor's times never moved")
