"""detect(): what is found, what is missing, and what a hung or failing probe costs."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.findings import FindingCode, Severity, note, warning
from app.hardware.detect import detect
from app.hardware.facts import DiskInfo, DriverInfo, GpuInfo
from app.hardware.ports import SourceError
from tests.fakes import FAKE_HOST, GIB, FakeGpuSource, FakeHostSource

DRIVER = DriverInfo("551.61", (12, 4))
DISCRETE = GpuInfo(1, "A card", "nvidia", vram_total_bytes=8 * GIB, is_integrated=False)
INTEGRATED = GpuInfo(0, "A chip", "intel", is_integrated=True)


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """An event that fakes wait for; set at the end, so that no thread outlives its test."""
    event = threading.Event()
    yield event
    event.set()


def test_all_sources_come_together_without_a_finding() -> None:
    facts = detect(FakeGpuSource([DISCRETE], DRIVER), FakeHostSource())
    assert (facts.host, facts.driver, facts.gpus, facts.findings) == (FAKE_HOST, DRIVER, (DISCRETE,), ())


def test_discrete_cards_come_before_integrated_ones_and_keep_their_index() -> None:
    facts = detect(FakeGpuSource([INTEGRATED, DISCRETE, replace(DISCRETE, index=2)]), FakeHostSource())
    assert [gpu.index for gpu in facts.gpus] == [1, 2, 0]


def test_a_machine_without_gpus_is_noted_and_nothing_worse() -> None:
    facts = detect(FakeGpuSource(), FakeHostSource())
    assert facts.findings == (note(FindingCode.GPU_NOT_FOUND),)


def test_a_missing_driver_is_said_once_and_the_host_is_there() -> None:
    gpus = FakeGpuSource()
    gpus.error = SourceError("library-missing", "NVML Shared Library Not Found")
    facts = detect(gpus, FakeHostSource())
    assert facts.host == FAKE_HOST
    assert facts.findings == (note(FindingCode.NVIDIA_DRIVER_MISSING), note(FindingCode.GPU_NOT_FOUND))


@pytest.mark.parametrize("reason", ["driver-not-loaded", "version-mismatch", "start-failed"])
def test_a_driver_that_refuses_is_a_warning_with_its_reason(reason: str) -> None:
    gpus = FakeGpuSource()
    gpus.error = SourceError(reason, "its words")
    facts = detect(gpus, FakeHostSource())
    assert facts.findings == (warning(FindingCode.NVIDIA_DRIVER_FAILED, reason=reason, detail="its words"),)


def test_a_probe_that_fails_in_an_unknown_way_is_named() -> None:
    host = FakeHostSource()
    host.error = PermissionError("no")
    facts = detect(FakeGpuSource([DISCRETE], DRIVER), host)
    assert facts.host is None
    assert facts.gpus == (DISCRETE,)
    assert facts.findings == (warning(FindingCode.PROBE_FAILED, probe="host", detail="PermissionError: no"),)


def test_a_hung_gpu_driver_costs_the_gpus_and_nothing_else(hang: threading.Event) -> None:
    gpus = FakeGpuSource([DISCRETE], DRIVER)
    gpus.hang = hang
    facts = detect(gpus, FakeHostSource(), probe_timeout_seconds=0.2)
    assert (facts.host, facts.driver, facts.gpus) == (FAKE_HOST, None, ())
    assert facts.findings == tuple(
        warning(FindingCode.PROBE_TIMED_OUT, probe=name, seconds=0.2) for name in ("driver", "gpus")
    )


def test_probes_that_all_hang_cost_one_time_limit_together(hang: threading.Event) -> None:
    gpus, host = FakeGpuSource(), FakeHostSource()
    gpus.hang = host.hang = hang
    started = time.monotonic()
    facts = detect(gpus, host, probe_timeout_seconds=1.0)
    assert time.monotonic() - started < 2.5
    assert len(facts.findings) == 3


def test_a_hung_host_probe_costs_the_host_only(hang: threading.Event) -> None:
    host = FakeHostSource()
    host.hang = hang
    facts = detect(FakeGpuSource([DISCRETE], DRIVER), host, probe_timeout_seconds=0.2)
    assert (facts.host, facts.gpus) == (None, (DISCRETE,))


def test_hung_probes_never_keep_the_program_alive(hang: threading.Event) -> None:
    gpus = FakeGpuSource()
    gpus.hang = hang
    detect(gpus, FakeHostSource(), probe_timeout_seconds=0.05)
    left = [thread for thread in threading.enumerate() if thread.name.startswith("probe-")]
    assert left
    assert all(thread.daemon for thread in left)


def test_a_big_disk_without_room_for_a_model_is_a_warning_and_a_small_full_one_is_not() -> None:
    disks = (
        DiskInfo("/", 500 * GIB, 9 * GIB),
        DiskInfo("/srv", 500 * GIB, 10 * GIB),
        DiskInfo("/boot", GIB, 0),
    )
    facts = detect(FakeGpuSource([DISCRETE]), FakeHostSource(replace(FAKE_HOST, disks=disks)))
    (finding,) = facts.findings
    assert (finding.code, finding.severity) == (FindingCode.DISK_ALMOST_FULL, Severity.WARNING)
    assert finding.values == {"mount": "/", "free_bytes": 9 * GIB, "total_bytes": 500 * GIB}
