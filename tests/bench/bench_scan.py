"""How long a folder of 500 large models takes to list: first row within 1 s, all within 10 s (40 s).

`python -m tests.bench.bench_scan [--count N] [--folder FOLDER]`: 48 layers of 128 experts each, vocabularies
of 32 768 and of 262 144 texts; then again from the cache, and as the command line prints it. The files take
35 MB of disk in all, the rest is holes. Exits 1 when a time is too long.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.library.scan import ModelSummary, scan_folders
from app.library.summary_cache import SummaryCache
from app.paths import source_root
from tests.bench.many_models import write_models
from tests.bench.window_start import load_average

COUNT: Final = 500
FIRST_SECONDS_MAX: Final = 1.0
ALL_SECONDS_MAX: Final = {32_768: 10.0, 262_144: 40.0}
CACHED_SECONDS_MAX: Final = 1.0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds until the first row and until the last; processor time of the whole, children included."""

    first: float
    all: float
    cpu: float


def main() -> None:
    """Print the times; exit 1 when one is too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--folder", type=Path, help="where the files are made; a temporary one by default")
    args = parser.parse_args()
    print(f"{load_average()}; {args.count} models each")
    is_slow = False
    for vocabulary, most in ALL_SECONDS_MAX.items():
        with tempfile.TemporaryDirectory(prefix="moxie-", dir=args.folder) as folder:
            models = Path(folder, "models")
            models.mkdir()
            write_models(models, args.count, vocabulary)
            cold = _scan(models, Path(folder, "cache"))
            warm = _scan(models, Path(folder, "cache"))
            _report(f"{vocabulary} texts, new", cold, most)
            _report(f"{vocabulary} texts, cached", warm, CACHED_SECONDS_MAX)
            _report(f"{vocabulary} texts, moxie inspect --recursive --json", _command(models), most)
            is_slow |= max(cold.first, warm.first) > FIRST_SECONDS_MAX
            is_slow |= cold.all > most or warm.all > CACHED_SECONDS_MAX
    if is_slow:
        raise SystemExit(1)


def _scan(folder: Path, cache: Path) -> Times:
    times: list[float] = []
    began, cpu = time.perf_counter(), _cpu_seconds()

    def note(_row: ModelSummary) -> None:
        times.append(time.perf_counter() - began)

    with SummaryCache(cache) as opened:
        scan_folders([folder], opened, note, lambda: False)
    return Times(times[0], time.perf_counter() - began, _cpu_seconds() - cpu)


def _command(folder: Path) -> Times:
    began, cpu = time.perf_counter(), _cpu_seconds()
    command = [sys.executable, "-m", "app", "inspect", "--recursive", str(folder), "--json"]
    with subprocess.Popen(command, cwd=source_root(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - began
        for _ in process.stdout:
            pass
    return Times(first, time.perf_counter() - began, _cpu_seconds() - cpu)


def _cpu_seconds() -> float:
    """Return the processor time of this process and, where the system tells it, of those that ended."""
    return sum(os.times()[:4])


def _report(name: str, times: Times, most: float) -> None:
    print(
        f"{name}: first row {times.first:.2f} s, all {times.all:.2f} s"
        f" (CPU {times.cpu:.2f} s; limit {most:.0f} s)"
    )


if __name__ == "__main__":
    main()
