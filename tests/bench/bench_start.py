"""How long it takes until the window is there: 1.5 s from source, the median of ten real starts.

`python -m tests.bench.bench_start`: without a screen, with how far the start was when; on an X server of
its own (Xvfb, where there is one) until the pixels are on the screen, whatever drew them; and what the
imports cost. Exits 1 when a median is too high.
"""

import mmap
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from app.paths import source_root
from tests.bench.window_start import Mark, StartingWindow, load_average, start_environment

STARTS: Final = 10
SECONDS_MAX: Final = 1.5
WAIT_SECONDS: Final = 60.0
SCREEN: Final = (1366, 768)
COLORS_MIN: Final = 24
"""An empty screen has one, an empty window two; the shades of letters make it many."""

MODULES_SHOWN: Final = 12
_IMPORT_LINE: Final = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*(\S+)")


def main() -> None:
    """Print the times; exit 1 when the window takes too long."""
    print(load_average(), flush=True)
    starts = offscreen_starts()
    medians = [_report("no screen", [marks[-1].seconds for marks in starts])]
    _report_steps(starts)
    if shutil.which("Xvfb"):
        medians.append(_report("Xvfb", list(_screen_starts())))
    else:
        print("Xvfb: not installed, not measured")
    _report_imports()
    print(f"limit {SECONDS_MAX} s; {load_average()}")
    if max(medians) > SECONDS_MAX:
        raise SystemExit(1)


def offscreen_starts() -> list[list[Mark]]:
    """Start ten windows, after one that warms the file cache, and return how far they were when."""
    starts = []
    for _ in range(STARTS + 1):
        with StartingWindow() as window:
            starts.append(window.marks_until("painted"))
    return starts[1:]


def _report(name: str, seconds: list[float]) -> float:
    middle = median(seconds)
    print(
        f"{name}: median {middle:.2f} s, {min(seconds):.2f} .. {max(seconds):.2f} s of {len(seconds)} starts"
    )
    return middle


def _report_steps(starts: list[list[Mark]]) -> None:
    before, before_cpu = 0.0, 0.0
    for marks in zip(*starts, strict=True):
        at = median(mark.seconds for mark in marks)
        cpu = median(mark.cpu_seconds for mark in marks)
        print(f"  {marks[0].name:9} + {at - before:.2f} s ({cpu - before_cpu:.2f} s of processor time)")
        before, before_cpu = at, cpu


def _screen_starts() -> Iterator[float]:
    with _screen() as (display, pixels):
        for number in range(STARTS + 1):
            seconds = _seconds_to_pixels(display, pixels)
            if number:
                yield seconds


def _seconds_to_pixels(display: str, pixels: mmap.mmap) -> float:
    with tempfile.TemporaryDirectory(prefix="moxie-", ignore_cleanup_errors=True) as home:
        _wait_for_colors(pixels, wants_window=False)
        environment = start_environment(Path(home)) | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "app"], cwd=source_root(), env=environment)
        try:
            _wait_for_colors(pixels, wants_window=True)
            return time.perf_counter() - began
        finally:
            process.kill()
            process.wait()


def _wait_for_colors(pixels: mmap.mmap, *, wants_window: bool) -> None:
    """Look at the screen every 10 ms until there is a drawn window on it, or none."""
    deadline = time.monotonic() + WAIT_SECONDS
    while (_count_colors(pixels) >= COLORS_MIN) is not wants_window:
        if time.monotonic() > deadline:
            raise RuntimeError("the screen did not become what it should")
        time.sleep(0.01)


def _count_colors(pixels: mmap.mmap) -> int:
    """Count the colours of every seventh pixel; they are the end of the file."""
    width, height = SCREEN
    return len(set(memoryview(pixels)[-4 * width * height :].cast("I")[::7]))


@contextmanager
def _screen() -> Iterator[tuple[str, mmap.mmap]]:
    """Start an X server of our own; yield its name and its pixels."""
    with tempfile.TemporaryDirectory(prefix="moxie-") as folder:
        size = f"{SCREEN[0]}x{SCREEN[1]}x24"
        command = ["Xvfb", "-displayfd", "1", "-screen", "0", size, "-fbdir", folder, "-nolisten", "tcp"]
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="ascii"
        )
        try:
            assert server.stdout is not None
            display = f":{server.stdout.readline().strip()}"
            with (
                (Path(folder) / "Xvfb_screen0").open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pixels,
            ):
                yield display, pixels
        finally:
            server.terminate()
            server.wait()


def _report_imports() -> None:
    with StartingWindow(flags=["-X", "importtime"]) as window:
        window.marks_until("painted")
        said = window.end()
    costs: dict[str, int] = defaultdict(int)
    for found in _IMPORT_LINE.finditer(said):
        costs[_part_of(found[2])] += int(found[1])
    print(f"imports: {sum(costs.values()) / 1e6:.2f} s, the dearest:")
    for name, microseconds in sorted(costs.items(), key=lambda cost: -cost[1])[:MODULES_SHOWN]:
        print(f"  {microseconds / 1000:6.0f} ms {name}")


def _part_of(module: str) -> str:
    """Return which part of the program, or whose library, a module belongs to."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] in ("app", "PySide6") else parts[0]


if __name__ == "__main__":
    main()
