"""Runs the coverage-guided fuzzers: `python -m tests.fuzz.run --seconds 60` or `--executions 1000000`.

Needs `pip install -e .[fuzz]` (Linux; no part of the locks, for atheris is built for few systems). Prints per
target: executions and how many per second, covered branches, the slowest input, and memory. Exits 1 when one
fails; the input is kept in FOLDER/TARGET/crash-*.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.paths import source_root

TARGET_NAMES: Final = ("read", "shards", "facts", "rules", "files", "mend", "round_trip")
_COVERAGE: Final = re.compile(r"cov: (\d+) ft: (\d+)")
_EXECUTIONS: Final = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_TAIL_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one target went.

    Attributes:
        covered: Branches of the program that some input took.
        slowest_seconds: Processor time of the slowest input, measured under instrumentation.
        most_grown_bytes: How far one input drove up the memory of the process.
        peak_bytes: Of the process, its interpreter and the corpus included.
        complaint: The end of its output when it failed, else empty.
    """

    name: str
    executions: int
    seconds: float
    covered: int
    slowest_seconds: float
    most_grown_bytes: int
    peak_bytes: int
    complaint: str

    def line(self) -> str:
        """Return it for a person."""
        rate = self.executions / self.seconds if self.seconds else 0.0
        return (
            f"{self.name}: {self.executions} executions, {rate:.0f}/s, {self.covered} branches,"
            f" slowest {self.slowest_seconds * 1000:.0f} ms of CPU,"
            f" {self.most_grown_bytes / 1e6:.1f} MB for one input, {self.peak_bytes / 1e6:.0f} MB in all"
            f"{', FAILED' if self.complaint else ''}"
        )


def run_target(name: str, folder: Path, options: Sequence[str]) -> Outcome:
    """Run one target in a process of its own, its files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="moxie-fuzz-", dir=_memory_folder()) as scratch:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.harness", name, str(folder), *options],
            cwd=source_root(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
            env={**os.environ, "TMPDIR": scratch},
        )
    report = folder / "report.json"
    figures = json.loads(report.read_text("utf-8")) if report.exists() else {}
    executions = _last(_EXECUTIONS, done.stdout) or figures.get("executions", 0)
    rate = figures["executions"] / figures["seconds"] if figures else 0.0
    return Outcome(
        name,
        executions,
        executions / rate if rate else 0.0,
        _last(_COVERAGE, done.stdout),
        figures.get("slowest_cpu_seconds", 0.0),
        figures.get("most_grown_bytes", 0),
        figures.get("peak_bytes", 0),
        "\n".join(done.stdout.splitlines()[-_TAIL_LINES:]) if done.returncode else "",
    )


def main() -> None:
    """Run all targets, one after the other; exit 1 when one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--seconds", type=int, help="for all targets together")
    limit.add_argument("--executions", type=int, help="of each target")
    parser.add_argument("--target", choices=TARGET_NAMES, action="append", help="only these")
    parser.add_argument("--folder", type=Path, help="where corpora and findings stay; else a temporary one")
    args = parser.parse_args()
    names = args.target or TARGET_NAMES
    options = (
        [f"-max_total_time={max(1, args.seconds // len(names))}"]
        if args.seconds
        else [f"-runs={args.executions}"]
    )
    folder = args.folder or Path(tempfile.mkdtemp(prefix="moxie-fuzz-"))
    has_failed = False
    for name in names:
        outcome = run_target(name, folder.absolute() / name, options)
        print(outcome.line(), flush=True)
        if outcome.complaint:
            has_failed = True
            print(outcome.complaint, flush=True)
    if has_failed:
        raise SystemExit(1)


def _memory_folder() -> Path | None:
    """Return a folder in memory, where there is one: each input of some targets becomes a file."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def _last(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.findall(text)
    last = found[-1] if found else 0
    return int(last[0] if isinstance(last, tuple) else last)


if __name__ == "__main__":
    main()
