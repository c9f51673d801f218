"""What engines were calibrated to, kept in a file by machine and build."""

import json
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.files import read_regular, write_atomically
from app.findings import FindingError
from app.hardware.fact_json import UnfitError, parse_json, read_fact, to_plain
from app.hardware.facts import HardwareFacts
from app.planner.measured_speeds import Calibration, WeightKind

MOST_ENTRIES: Final = 64
LARGEST_FILE_BYTES: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class _Entry:
    machine: str
    calibration: Calibration


def machine_key(hardware: HardwareFacts) -> str:
    """Return what a calibration depends on beside the engine: processor, size of RAM, cards and driver."""
    host = hardware.host
    cpu = (host.cpu.name, host.cpu.physical_cores, host.ram_total_bytes) if host else ()
    cards = [gpu.name for gpu in hardware.gpus]
    driver = hardware.driver.version if hardware.driver else None
    return repr((cpu, cards, driver))


class CalibrationCache:
    """Calibrations by machine, build, device, threads and repacking. Any thread; blocks for the file."""

    def __init__(self, file: Path) -> None:
        """Read nothing yet."""
        self._file = file
        self._lock = threading.Lock()

    def known(self, machine: str, build: str) -> tuple[Calibration, ...]:
        """Return all there is for a machine and a build."""
        with self._lock:
            return tuple(
                e.calibration for e in self._entries() if (e.machine, e.calibration.build) == (machine, build)
            )

    def keep(self, machine: str, calibration: Calibration) -> None:
        """Keep a calibration; types measured before and not now stay beside it.

        Raises:
            FindingError: `DISK_FULL` or `STORE_READ_ONLY`; the others stay.
        """
        with self._lock:
            entries = self._entries()
            alike = [e for e in entries if e.machine == machine and _use(e.calibration) == _use(calibration)]
            new = {(t.type_name, t.kind) for t in calibration.types}
            older = [t for e in alike for t in e.calibration.types if (t.type_name, t.kind) not in new]
            merged = replace(calibration, types=(*calibration.types, *older))
            kept = [_Entry(machine, merged), *(e for e in entries if e not in alike)][:MOST_ENTRIES]
            text = json.dumps([to_plain(entry) for entry in kept], ensure_ascii=False)
            write_atomically(self._file, text.encode("utf-8", "surrogatepass"))

    def _entries(self) -> tuple[_Entry, ...]:
        """Return what is kept. A file that is not ours, or damaged, holds nothing."""
        try:
            document = parse_json(read_regular(self._file, LARGEST_FILE_BYTES + 1), LARGEST_FILE_BYTES)
            entries: tuple[_Entry, ...] = read_fact(tuple[_Entry, ...], document, "$")
        except (FindingError, UnfitError):
            return ()
        return entries


def missing_groups(
    calibration: Calibration | None, groups: tuple[tuple[str, WeightKind], ...]
) -> tuple[tuple[str, WeightKind], ...]:
    """Return the types that still have to be measured."""
    known = {(t.type_name, t.kind) for t in calibration.types} if calibration else set()
    return tuple(group for group in groups if group not in known)


def _use(calibration: Calibration) -> tuple[str, str, int, bool]:
    return calibration.build, calibration.device, calibration.n_threads, calibration.repack
