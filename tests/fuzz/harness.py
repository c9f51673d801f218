"""One target under atheris, which changes inputs so that they reach new lines. Linux only.

`python -m tests.fuzz.harness TARGET FOLDER [LIBFUZZER OPTIONS]`; `run.py` starts it. FOLDER gets `corpus/`,
`report.json` and, as `crash-*`, the input at which it ended.
"""

import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import atheris

with atheris.instrument_imports(include=["app"]):
    from tests.fuzz import targets
from tests.fuzz import seeds, structure

CPU_SECONDS_MAX: Final = 1.0
GROWN_BYTES_MAX: Final = 50 * 1024**2
INPUT_BYTES_MAX: Final = 64 * 1024
_TOLD_EVERY: Final = 2000


class WatchedTarget:
    """Feeds a target and measures each input; too much time or memory is a failure like any other.

    Args:
        report: Where the worst figures are written from time to time.
    """

    def __init__(self, target: targets.Target, report: Path) -> None:
        self._target = target
        self._report = report
        self._executions = 0
        self._slowest_seconds = 0.0
        self._most_grown_bytes = 0
        self._began = time.monotonic()

    def __call__(self, content: bytes) -> None:
        """Feed one input.

        Raises:
            AssertionError: it took too long, or too much memory; or whatever the target raises.
        """
        peak, began = _peak_bytes(), time.process_time()
        self._target(content)
        seconds, grown = time.process_time() - began, _peak_bytes() - peak
        self._executions += 1
        self._slowest_seconds = max(self._slowest_seconds, seconds)
        self._most_grown_bytes = max(self._most_grown_bytes, grown)
        if self._executions % _TOLD_EVERY == 0:
            self.tell()
        assert seconds <= CPU_SECONDS_MAX, f"{seconds:.2f} s of CPU for {len(content)} bytes"
        assert grown <= GROWN_BYTES_MAX, f"{grown} bytes of memory for {len(content)} bytes"

    def tell(self) -> None:
        """Write the figures."""
        figures = {
            "executions": self._executions,
            "seconds": time.monotonic() - self._began,
            "slowest_cpu_seconds": self._slowest_seconds,
            "most_grown_bytes": self._most_grown_bytes,
            "peak_bytes": _peak_bytes(),
        }
        part = self._report.with_suffix(".part")
        part.write_text(json.dumps(figures), encoding="utf-8")
        part.replace(self._report)


def main(arguments: Sequence[str]) -> None:
    """Run one target until libFuzzer's limits end it."""
    name, folder, *options = arguments
    corpus = Path(folder, "corpus")
    corpus.mkdir(parents=True, exist_ok=True)
    stock = [pieces for pieces in map(structure.cut, _write_seeds(corpus)) if pieces is not None]

    def change(content: bytes, most_bytes: int, seed: int) -> bytes:
        choose = random.Random(seed)
        if choose.random() < 0.4:
            return bytes(atheris.Mutate(content, most_bytes))
        return structure.changed(content, choose, stock)[:most_bytes]

    watched = WatchedTarget(targets.TARGETS[name], Path(folder, "report.json"))
    limits = [f"-max_len={INPUT_BYTES_MAX}", "-print_final_stats=1", "-use_value_profile=0"]
    atheris.Setup(
        [sys.argv[0], *limits, f"-artifact_prefix={folder}{os.sep}", *options, str(corpus)],
        watched,
        custom_mutator=change,
    )
    atheris.Fuzz()


def _write_seeds(corpus: Path) -> list[bytes]:
    contents = [*seeds.headers(), *seeds.parts()]
    for number, content in enumerate(contents):
        (corpus / f"seed-{number:03d}").write_bytes(content)
    return contents


def _peak_bytes() -> int:
    if sys.platform == "win32":
        raise NotImplementedError  # nor is there an atheris
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(sys.argv[1:])
