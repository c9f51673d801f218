"""What the sampler costs: one sample per second of this machine takes at most 1 % of one core.

Run: `python -m tests.bench.bench_sampler [SECONDS]`; exits 1 when it costs more.
"""

import sys
import time
from typing import Final

import psutil

from app.hardware.facts import Sample
from app.hardware.host import PsutilHostSource
from app.hardware.sampler import TelemetrySampler
from app.hardware.this_machine import system_gpus

SECONDS: Final = 30
LARGEST_SHARE: Final = 0.01
LARGEST_GROWTH_BYTES: Final = 5 * 1024**2


def main(seconds: int) -> int:
    """Sample for so long, and return the exit status."""
    taken: list[Sample] = []
    gpus = system_gpus()
    sampler = TelemetrySampler(gpus, PsutilHostSource(), taken.append)
    sampler.start()
    _wait_for(taken, 2)  # the drivers are loaded, the cards listed
    memory = psutil.Process().memory_info().rss
    first, busy, began = len(taken), time.process_time(), time.perf_counter()
    time.sleep(seconds)
    share = (time.process_time() - busy) / (time.perf_counter() - began)
    growth = psutil.Process().memory_info().rss - memory
    count = len(taken) - first
    sampler.stop()
    gpus.close()
    cards = len(taken[-1].gpus)
    print(
        f"{count} samples in {seconds} s, {cards} cards: {share:.2%} of one core, {growth // 1024} KiB more"
    )
    return 0 if share <= LARGEST_SHARE and growth <= LARGEST_GROWTH_BYTES else 1


def _wait_for(taken: list[Sample], count: int) -> None:
    deadline = time.monotonic() + 20
    while len(taken) < count and time.monotonic() < deadline:
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
