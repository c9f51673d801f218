"""What the measurements take and give: memory at most 1 s, a drive 3 s, a driver that hangs its limit.

Run: `python -m tests.bench.bench_measures [MODEL]`; exits 1 when one takes longer.
"""

import sys
import threading
import time
from pathlib import Path
from typing import Final

from app.gguf.inspect_file import inspect_path
from app.hardware.detect import PROBE_TIMEOUT_SECONDS, detect
from app.hardware.facts import GpuInfo, HardwareFacts
from app.hardware.host import PsutilHostSource
from app.hardware.memory_speed import last_cache_bytes, measure_memory
from app.hardware.storage import measure_storage
from app.library.drive_speed import storage_test
from tests.fakes import FakeGpuSource

MODEL: Final = Path(".cache/test-assets/models/smollm2-moe-8x2.gguf")
MOST_MEMORY_SECONDS: Final = 1.0
MOST_STORAGE_SECONDS: Final = 3.0
MOST_LATE_SECONDS: Final = 0.5
"""Of a look with a driver that hangs, after its time limit."""


def main(model: Path) -> int:
    """Measure everything once, and return the exit status."""
    is_fast = [_memory(), _hung_driver()]
    if model.is_file():
        is_fast.append(_storage(model))
    return 0 if all(is_fast) else 1


def _memory() -> bool:
    host = PsutilHostSource().host()
    began = time.perf_counter()
    speed = measure_memory(
        host.cpu.usable_cores or 1, host.ram_available_bytes, cache_bytes=last_cache_bytes()
    )
    seconds = time.perf_counter() - began
    if speed is not None:
        gigabytes = speed.read_bytes_per_second / 1e9
        where = {True: "beyond", False: "partly in", None: "perhaps in"}[speed.is_beyond_cache]
        print(
            f"memory: {seconds:.2f} s; {gigabytes:.1f} GB/s with {speed.n_threads} threads, {where} the cache"
        )
    return seconds <= MOST_MEMORY_SECONDS


def _storage(model: Path) -> bool:
    _, test = storage_test(model, inspect_path(model).facts, HardwareFacts(None))
    began = time.perf_counter()
    speed = measure_storage(test)
    seconds = time.perf_counter() - began
    print(f"drive: {seconds:.2f} s; pieces of {speed.piece_bytes // 1024} KiB, {speed.method}")
    for depth in speed.depths:
        rate, late = depth.bytes_per_second / 1e6, 1000 * depth.latency_p99_seconds
        print(f"  {depth.queue_depth:2} under way: {rate:.0f} MB/s, 99 % within {late:.1f} ms")
    return seconds <= MOST_STORAGE_SECONDS


def _hung_driver() -> bool:
    gpus = FakeGpuSource((GpuInfo(0, "A card"),))
    gpus.hang = threading.Event()
    began = time.perf_counter()
    detect(gpus, PsutilHostSource())
    seconds = time.perf_counter() - began
    gpus.hang.set()
    print(f"a driver that hangs: {seconds:.2f} s, of which {PROBE_TIMEOUT_SECONDS:.0f} s are its limit")
    return seconds <= PROBE_TIMEOUT_SECONDS + MOST_LATE_SECONDS


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else MODEL))
