"""All sources -> HardwareFacts and findings, each probe with its own thread and time limit."""

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from app.findings import Finding, FindingCode, note, warning
from app.hardware.all_gpus import members_of, merged_by
from app.hardware.facts import DiskInfo, GpuInfo, HardwareFacts
from app.hardware.ports import GpuSource, HostSource, SourceError, SurroundingsSource
from app.hardware.probe import Outcome, Probe
from app.hardware.verdicts import judge_machine

PROBE_TIMEOUT_SECONDS: Final = 5.0
"""A healthy driver answers in milliseconds; one without persistence mode first wakes the card, 1 to 3 s."""

SMALLEST_JUDGED_DISK_BYTES: Final = 32 * 1024**3
ALMOST_FULL_BYTES: Final = 10 * 1024**3
"""Less holds no mixture-of-experts model beside the system's own needs."""

T = TypeVar("T")


class Detection:
    """One look at the whole machine that is under way: its probes run since it was made.

    Each source of GPUs has a probe of its own, so that one that hangs costs its own cards only.
    """

    def __init__(
        self,
        gpu_source: GpuSource,
        host_source: HostSource,
        surroundings: SurroundingsSource | None = None,
    ) -> None:
        self._started = time.monotonic()
        self._source = gpu_source
        news = self._news = threading.Event()
        self._host = Probe("host", host_source.host, news.set)
        self._driver = Probe("driver", gpu_source.driver, news.set)
        self._gpus = {
            name: Probe(name, source.gpus, news.set) for name, source in members_of(gpu_source).items()
        }
        self._runtime = None if surroundings is None else Probe("runtime", surroundings.runtime, news.set)
        self._system = None if surroundings is None else Probe("system", surroundings.system, news.set)

    def facts(self, timeout_seconds: float) -> HardwareFacts:
        """Return what is known this long after the beginning; waits only for what is missing.

        May be asked again: a probe that was `PROBE_TIMED_OUT` can have answered by then.
        """
        look = _Look(timeout_seconds, self._started)
        host = look.value(self._host)
        driver = look.value(self._driver)
        lists = {name: look.value(probe) for name, probe in self._gpus.items()}
        runtime = None if self._runtime is None else look.value(self._runtime)
        system = None if self._system is None else look.value(self._system)
        known = {name: gpus for name, gpus in lists.items() if gpus is not None}
        gpus = merged_by(self._source, known)
        is_complete = len(known) == len(lists) or look.has(FindingCode.NVIDIA_DRIVER_MISSING)
        look.judge_cards(gpus, is_complete=is_complete)
        if host is not None:
            look.extend(_full_disks(host.disks))
        facts = HardwareFacts(host, driver, discrete_first(gpus), runtime=runtime, system=system)
        look.extend(judge_machine(facts))
        return replace(facts, findings=look.findings())

    def arrivals(self, timeout_seconds: float) -> Iterator[HardwareFacts]:
        """Yield what is known each time another probe has answered, until all have or the time is over.

        These have no findings: what is missing may still come.
        """
        deadline = self._started + timeout_seconds
        while not self._is_complete() and self._news.wait(max(0.0, deadline - time.monotonic())):
            self._news.clear()
            yield replace(self.facts(0.0), findings=())

    def has_news(self) -> bool:
        """Return whether a probe has answered since this was asked last, or an arrival was yielded."""
        has_news = self._news.is_set()
        self._news.clear()
        return has_news

    def _is_complete(self) -> bool:
        others: tuple[Probe[Any] | None, ...] = (self._host, self._driver, self._runtime, self._system)
        return all(probe.has_ended for probe in (*others, *self._gpus.values()) if probe is not None)


def detect(
    gpu_source: GpuSource,
    host_source: HostSource,
    surroundings: SurroundingsSource | None = None,
    *,
    probe_timeout_seconds: float = PROBE_TIMEOUT_SECONDS,
) -> HardwareFacts:
    """Look at the whole machine once. Takes as long as the slowest probe, at most the time limit."""
    return Detection(gpu_source, host_source, surroundings).facts(probe_timeout_seconds)


def discrete_first(gpus: Iterable[GpuInfo]) -> tuple[GpuInfo, ...]:
    """Return the GPUs with those that share the CPU's RAM last, otherwise in their source's order."""
    return tuple(sorted(gpus, key=lambda gpu: gpu.is_integrated is True))


class _Look:
    """Collects outcomes under one deadline for all, and says the same thing once."""

    def __init__(self, timeout_seconds: float, started: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._deadline = started + timeout_seconds
        self._findings: list[Finding] = []

    def value(self, probe: Probe[T]) -> T | None:
        outcome = probe.outcome(self._deadline - time.monotonic())
        finding = self._judge(probe.name, outcome)
        if finding is not None:
            self.add(finding)
        return outcome.value

    def add(self, finding: Finding) -> None:
        if finding not in self._findings:
            self._findings.append(finding)

    def extend(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.add(finding)

    def has(self, code: FindingCode) -> bool:
        return any(finding.code is code for finding in self._findings)

    def judge_cards(self, gpus: tuple[GpuInfo, ...], *, is_complete: bool) -> None:
        """Say that there is no card, or that NVIDIA's driver is missing, only where that matters."""
        if not gpus and is_complete and not self.has(FindingCode.NVIDIA_DRIVER_FAILED):
            self.add(note(FindingCode.GPU_NOT_FOUND))
        if gpus and self.has(FindingCode.NVIDIA_DRIVER_MISSING):
            self._findings.remove(note(FindingCode.NVIDIA_DRIVER_MISSING))
            for gpu in gpus:
                if gpu.vendor == "nvidia":
                    self.add(warning(FindingCode.NVIDIA_CARD_WITHOUT_DRIVER, gpu=gpu.name))

    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._findings)

    def _judge(self, name: str, outcome: Outcome[T]) -> Finding | None:
        if outcome.is_timed_out:
            return warning(FindingCode.PROBE_TIMED_OUT, probe=name, seconds=self._timeout_seconds)
        match outcome.error:
            case None:
                return None
            case SourceError(reason="library-missing"):
                return note(FindingCode.NVIDIA_DRIVER_MISSING)
            case SourceError() as failure:
                return warning(FindingCode.NVIDIA_DRIVER_FAILED, reason=failure.reason, detail=failure.detail)
            case failure:
                return warning(
                    FindingCode.PROBE_FAILED, probe=name, detail=f"{type(failure).__name__}: {failure}"
                )


def _full_disks(disks: Iterable[DiskInfo]) -> Iterable[Finding]:
    for disk in disks:
        # small ones are system, recovery and camera partitions: full is how they are meant to be
        if disk.total_bytes >= SMALLEST_JUDGED_DISK_BYTES and disk.free_bytes < ALMOST_FULL_BYTES:
            yield warning(
                FindingCode.DISK_ALMOST_FULL,
                mount=disk.mount,
                free_bytes=disk.free_bytes,
                total_bytes=disk.total_bytes,
            )
