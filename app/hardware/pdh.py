"""Windows' performance counters -> load and memory of GPUs, memory of processes on them, disk and paging.

GPU counters exist since Windows 10 1709. Counter names are the English ones: others change with the
language of the system.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from app.hardware.pdh_library import CounterItem, PdhError, PdhLibrary, WindowsPdh
from app.hardware.ports import SourceError
from app.hardware.sysfs import parse_count
from app.hardware.windows_library import luid_text

_log = logging.getLogger(__name__)

ENGINE_USE: Final = r"\GPU Engine(*)\Utilization Percentage"
DEDICATED_USE: Final = r"\GPU Adapter Memory(*)\Dedicated Usage"
SHARED_USE: Final = r"\GPU Adapter Memory(*)\Shared Usage"
PROCESS_DEDICATED: Final = r"\GPU Process Memory(*)\Dedicated Usage"
PROCESS_SHARED: Final = r"\GPU Process Memory(*)\Shared Usage"
DISK_READ: Final = r"\PhysicalDisk(_Total)\Disk Read Bytes/sec"
PAGES_INPUT: Final = r"\Memory\Pages Input/sec"
PATHS: Final = (
    *(ENGINE_USE, DEDICATED_USE, SHARED_USE, PROCESS_DEDICATED, PROCESS_SHARED),
    *(DISK_READ, PAGES_INPUT),
)

RATES: Final = frozenset((ENGINE_USE, DISK_READ, PAGES_INPUT))
"""Measured between two samples: the first gives none."""

EXPANSION_SECONDS: Final = 30.0
"""A wildcard stands for the instances there were when it was added; new processes want a new one."""

FRESH_SECONDS: Final = 0.4
"""A younger sample is given again: several cards are read in one tick, and rates need time between."""

_LARGEST_COUNT: Final = 2**48


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """One GPU's counters.

    Attributes:
        utilization_percent: 0..100 of its busiest kind of engine, all processes together.
    """

    utilization_percent: float | None = None
    dedicated_bytes: int | None = None
    shared_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """Memory of one process on one GPU."""

    pid: int
    luid: str
    dedicated_bytes: int | None = None
    shared_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PdhReading:
    """One sample.

    Attributes:
        adapters: By LUID; a GPU that no process uses may be missing.
        disk_read_bytes_per_second: All disks.
        pages_input_per_second: Pages read back from disk, mapped files included.
    """

    adapters: Mapping[str, AdapterUse] = field(default_factory=dict)
    processes: tuple[ProcessUse, ...] = ()
    disk_read_bytes_per_second: float | None = None
    pages_input_per_second: float | None = None

    def process_memory(self, luid: str, pids: Collection[int]) -> tuple[int | None, int | None]:
        """Return (dedicated, shared) bytes that these processes hold together on one GPU."""
        of_them = [use for use in self.processes if use.luid == luid and use.pid in pids]
        return _sum(use.dedicated_bytes for use in of_them), _sum(use.shared_bytes for use in of_them)


class PdhCounters:
    """All counters in one query that stays open. Any thread."""

    def __init__(
        self, library: PdhLibrary | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Open nothing yet."""
        self._library = library
        self._clock = clock
        self._lock = threading.Lock()
        self._query: int | None = None
        self._counters: dict[str, int] = {}
        self._expanded_at = 0.0
        self._last: tuple[float, PdhReading] | None = None
        self._logged: set[str] = set()

    def read(self) -> PdhReading:
        """Take a sample, or return the last one when it is fresh. A counter this Windows lacks is None.

        Raises:
            SourceError: `library-missing`, `function-missing` or `start-failed`.
        """
        with self._lock:
            now = self._clock()
            if self._last is not None and 0 <= now - self._last[0] < FRESH_SECONDS:
                return self._last[1]
            reading = reading_from(self._sample(now))
            self._last = (now, reading)
            return reading

    def close(self) -> None:
        """End the query; a later reading opens it again. One that hangs is left alone."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            query, self._query = self._query, None
            self._counters, self._last = {}, None
            if query is not None and self._library is not None:
                self._try("close", self._library.close, query)
        finally:
            self._lock.release()

    def _sample(self, now: float) -> dict[str, tuple[CounterItem, ...]]:
        library, query = self._opened(now)
        fresh: dict[str, int] = {}
        if now - self._expanded_at >= EXPANSION_SECONDS:
            self._expanded_at = now
            fresh = self._add_all(library, query)
        self._try("sample", library.collect, query)
        answer = {path: self._items(library, path, counter) for path, counter in self._counters.items()}
        if fresh:
            # the new ones have their first sample now, so that the next one has rates without a gap
            for counter in self._counters.values():
                self._try("remove", library.remove, counter)
            self._counters = fresh
        return answer

    def _opened(self, now: float) -> tuple[PdhLibrary, int]:
        library = self._library = self._library or WindowsPdh()
        if self._query is None:
            try:
                self._query = library.open()
            except PdhError as reason:
                raise SourceError("start-failed", str(reason)) from reason
            self._counters = self._add_all(library, self._query)
            self._expanded_at = now
        return library, self._query

    def _add_all(self, library: PdhLibrary, query: int) -> dict[str, int]:
        counters: dict[str, int] = {}
        for path in PATHS:
            try:
                counters[path] = library.add(query, path)
            except PdhError as reason:
                self._log_once(str(reason))
        return counters

    def _items(self, library: PdhLibrary, path: str, counter: int) -> tuple[CounterItem, ...]:
        try:
            return library.items(counter)
        except PdhError as reason:
            if path not in RATES:  # those have no value at first, which is no fault
                self._log_once(f"{path}: {reason}")
            return ()

    def _try(self, what: str, call: Callable[[int], None], handle: int) -> None:
        try:
            call(handle)
        except (PdhError, OSError) as reason:
            self._log_once(f"{what}: {reason}")

    def _log_once(self, what: str) -> None:
        if what not in self._logged:
            self._logged.add(what)
            _log.info("performance counters: %s", what)


def reading_from(answers: Mapping[str, tuple[CounterItem, ...]]) -> PdhReading:
    """Put the counters' answers together."""
    dedicated = _by_adapter(answers.get(DEDICATED_USE, ()))
    shared = _by_adapter(answers.get(SHARED_USE, ()))
    load = engine_use(answers.get(ENGINE_USE, ()))
    adapters = {
        luid: AdapterUse(load.get(luid), dedicated.get(luid), shared.get(luid))
        for luid in {*dedicated, *shared, *load}
    }
    return PdhReading(
        adapters,
        _processes(answers),
        _only(answers.get(DISK_READ, ())),
        _only(answers.get(PAGES_INPUT, ())),
    )


def engine_use(items: Iterable[CounterItem]) -> dict[str, float]:
    """Return each GPU's load as the task manager shows it.

    All processes' shares of one kind of engine are added, at most 100, and the busiest kind counts: CUDA
    runs on `Compute` or `Cuda`, Vulkan on AMD on `3D`.
    """
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for item in items:
        parts = parse_instance(item.instance)
        value = _counted(item)
        if value is not None and "luid" in parts:
            sums[parts["luid"]][parts.get("engtype", "")] += value
    return {luid: min(100.0, max(kinds.values())) for luid, kinds in sums.items()}


def parse_instance(instance: str) -> Mapping[str, str]:
    """Return the parts of a GPU counter's instance name: `pid`, `luid`, `phys`, `eng`, `engtype`."""
    parts: dict[str, str] = {}
    words = instance.split("_")
    while len(words) > 1:
        key = words.pop(0)
        if key == "luid" and len(words) > 1:
            luid = _luid(words.pop(0), words.pop(0))
            if luid is not None:
                parts[key] = luid
        elif key == "engtype":  # the rest: an engine's name may have the separator in it
            parts[key] = "_".join(words)
            break
        else:
            parts[key] = words.pop(0)
    return parts


def _luid(high: str, low: str) -> str | None:
    try:
        return luid_text(int(high, 16) & 0xFFFFFFFF, int(low, 16) & 0xFFFFFFFF)
    except ValueError:
        return None


def _processes(answers: Mapping[str, tuple[CounterItem, ...]]) -> tuple[ProcessUse, ...]:
    dedicated = _by_process(answers.get(PROCESS_DEDICATED, ()))
    shared = _by_process(answers.get(PROCESS_SHARED, ()))
    return tuple(
        ProcessUse(pid, luid, dedicated.get((pid, luid)), shared.get((pid, luid)))
        for pid, luid in sorted({*dedicated, *shared})
    )


def _by_adapter(items: Iterable[CounterItem]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for item in items:
        luid, value = parse_instance(item.instance).get("luid"), _counted(item)
        if luid is not None and value is not None:
            found[luid] += int(value)  # linked cards count as one adapter
    return dict(found)


def _by_process(items: Iterable[CounterItem]) -> dict[tuple[int, str], int]:
    found: dict[tuple[int, str], int] = defaultdict(int)
    for item in items:
        parts = parse_instance(item.instance)
        pid, value = parse_count(parts.get("pid", "")), _counted(item)
        if pid is not None and "luid" in parts and value is not None:
            found[pid, parts["luid"]] += int(value)
    return dict(found)


def _only(items: Iterable[CounterItem]) -> float | None:
    values = (_counted(item) for item in items)
    return next((value for value in values if value is not None), None)


def _counted(item: CounterItem) -> float | None:
    """Return a value that counts something: bytes, a rate or a share, none of which is above 256 TiB."""
    return item.value if item.value is not None and 0 <= item.value <= _LARGEST_COUNT else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
