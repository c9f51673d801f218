"""Our reader beside `gguf.GGUFReader` and llama.cpp's vocab-only load, on one file of 262 144 texts.

`python -m tests.bench.bench_header_reader`: each in a process of its own, the fastest of some runs. Exits 1
when ours takes more than 150 ms, more than 2 MB, or more than a 200th of the former's time.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.paths import source_root
from tests.bench.many_models import write_model
from tests.bench.window_start import load_average

VOCABULARY: Final = 262_144
CPU_SECONDS_MAX: Final = 0.15
EXTRA_BYTES_MAX: Final = 2 * 1024**2
TIMES_FASTER_MIN: Final = 200

_SCRIPT: Final = """
import json, sys, time, tracemalloc
{imports}

def peak():
    if sys.platform == "win32":
        import psutil
        return psutil.Process().memory_info().peak_wset
    with open("/proc/self/status") as status:  # getrusage hands down the peak of whoever started us
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

path, before, best = sys.argv[1], peak(), float("inf")
for _ in range({runs}):
    began = time.process_time()
    {call}
    best = min(best, time.process_time() - began)
grown = peak() - before
tracemalloc.start()
if {traces}:
    {call}
print(json.dumps([best, grown, tracemalloc.get_traced_memory()[1]]))
"""
_SILENT_LLAMA: Final = """
import llama_cpp
quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(quiet, None)
def load(path):
    options = llama_cpp.llama_model_default_params()
    options.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(path.encode(), options)
    assert model
    llama_cpp.llama_model_free(model)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one reading.

    Attributes:
        grown_bytes: How far the process's peak of memory rose.
        python_bytes: Peak of what Python allocated; 0 where it was not traced.
    """

    cpu_seconds: float
    grown_bytes: int
    python_bytes: int


def main() -> None:
    """Print the costs; exit 1 when ours are too high."""
    print(load_average())
    with tempfile.TemporaryDirectory(prefix="moxie-") as folder:
        path = write_model(Path(folder, "model.gguf"), VOCABULARY)
        ours = _report(
            "our reader",
            _cost(
                path,
                "from pathlib import Path\nfrom app.gguf.reader import read_header",
                "read_header(Path(path))",
            ),
        )
        _report(
            "our inspection, facts and findings",
            _cost(
                path,
                "from pathlib import Path\nfrom app.gguf.inspect_file import inspect_path",
                "inspect_path(Path(path))",
            ),
        )
        theirs = _report(
            "gguf.GGUFReader", _cost(path, "from gguf import GGUFReader", "GGUFReader(path)", runs=1)
        )
        _report("llama.cpp, vocabulary only", _cost(path, _SILENT_LLAMA, "load(path)", runs=3))
    times = theirs.cpu_seconds / ours.cpu_seconds
    print(f"{times:.0f} times as fast as GGUFReader (at least {TIMES_FASTER_MIN})")
    is_small = ours.python_bytes <= EXTRA_BYTES_MAX
    if ours.cpu_seconds > CPU_SECONDS_MAX or not is_small or times < TIMES_FASTER_MIN:
        raise SystemExit(1)


def _cost(path: Path, imports: str, call: str, runs: int = 9) -> Cost:
    script = _SCRIPT.format(imports=imports, call=call, runs=runs, traces=runs > 3)
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=source_root(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return Cost(*json.loads(done.stdout))


def _report(name: str, cost: Cost) -> Cost:
    traced = f", {cost.python_bytes / 1e6:.2f} MB of it Python's" if cost.python_bytes else ""
    print(f"{name}: {cost.cpu_seconds:.3f} s of CPU, peak of memory {cost.grown_bytes / 1e6:+.1f} MB{traced}")
    return cost


if __name__ == "__main__":
    main()
