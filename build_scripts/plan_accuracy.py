"""Measures how close plans come to what engines take, and prints the table.

python -m build_scripts.plan_accuracy [--only REGEX] [--rows FILE] [--worst N]

Real loads through the worker, processor and RPC device: the 17 tiny architectures, the default MoE, its twin
with shared experts. What llama-server says it would take (`-fit`): the 19 giants.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER
from app.engine.fit_breakdown import ask_breakdown
from app.findings import FindingError
from app.gguf.inspect_file import inspect_path
from tests.models.giants import GIANTS, write_giant
from tests.models.shared_twin import write_shared_twin
from tests.models.tiny import TINY_ARCHITECTURES, write_tiny
from tests.plan_figures import (
    CONTEXTS,
    Figure,
    PlanCase,
    cases_for,
    figures_of_breakdown,
    figures_of_load,
    options_for,
    plan_for,
)
from tests.rpc_server import pack_rpc_server, worker_rpc_server

ASSETS: Final = Path(__file__).resolve().parent.parent / ".cache" / "test-assets"
DEFAULT_MODEL: Final = ASSETS / "models" / "smollm2-moe-8x2.gguf"
PACK: Final = ASSETS / "engines" / "llama-server"
LEAST_SHARE_WITHIN: Final = 0.95
_MIB: Final = 1024**2


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 if enough rows are close."""
    args = _parser().parse_args(argv)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as scratch:
        for found in _all_figures(Path(scratch), args.only):
            figures += found
    if args.rows:
        args.rows.write_text(json.dumps([asdict(figure) for figure in figures]), encoding="utf-8")
    for line in report(figures, args.worst):
        print(line)
    return 0 if share_within(figures) >= LEAST_SHARE_WITHIN else 1


def report(figures: Sequence[Figure], worst: int) -> Iterator[str]:
    """Yield the table: shares by group, then the rows that are furthest off for their limit."""
    yield f"{len(figures)} rows, {share_within(figures):.1%} within the limit"
    for name in dict.fromkeys(figure.part or "total" for figure in figures):
        rows = [figure for figure in figures if (figure.part or "total") == name]
        yield f"  {name}: {len(rows)} rows, {share_within(rows):.1%}"
    yield "| model | case | device | part | planned MiB | engine MiB | off |"
    yield "|---|---|---|---|---|---|---|"
    for row in sorted(figures, key=_badness, reverse=True)[:worst]:
        share = row.off_bytes / row.engine_bytes if row.engine_bytes else 0.0
        yield (
            f"| {row.model} | {row.case} | {row.device or 'all'} | {row.part or 'total'} "
            f"| {row.planned_bytes / _MIB:.1f} | {row.engine_bytes / _MIB:.1f} "
            f"| {row.off_bytes / _MIB:+.1f} MiB, {share:+.1%}{'' if row.is_within else ' BEYOND'} |"
        )


def share_within(figures: Sequence[Figure]) -> float:
    """Return the share of rows within their limit; 1.0 for none."""
    return sum(figure.is_within for figure in figures) / len(figures) if figures else 1.0


def _badness(figure: Figure) -> float:
    return abs(figure.off_bytes) / figure.limit_bytes


def _all_figures(scratch: Path, only: str) -> Iterator[tuple[Figure, ...]]:
    with worker_rpc_server() as server:
        for name, path in _real_models(scratch):
            if re.search(only, name):
                yield from _loads(name, path, server)
    with pack_rpc_server(PACK) as server:
        for giant in GIANTS:
            if re.search(only, giant.name):
                (path,) = write_giant(giant, scratch)
                yield from _breakdowns(giant.name, path, server)
                path.unlink()


def _real_models(scratch: Path) -> Iterator[tuple[str, Path]]:
    for architecture in TINY_ARCHITECTURES:
        yield f"tiny-{architecture}", write_tiny(architecture, scratch / f"{architecture}.gguf")
    if DEFAULT_MODEL.is_file():
        yield "default MoE", DEFAULT_MODEL
    yield "shared-expert twin", write_shared_twin(scratch / "twin.gguf")


def _loads(name: str, path: Path, server: str) -> Iterator[tuple[Figure, ...]]:
    """Load every case in one worker: it frees the model before."""
    facts = inspect_path(path).facts
    if name.startswith("tiny-"):  # made for a few hundred tokens; engines do not mind more
        facts = replace(facts, context_length=max(CONTEXTS))
    cases = sorted(cases_for(facts), key=lambda case: case.has_gpu)  # a server, once added, stays
    with BlockingEngine(WORKER) as cpu, BlockingEngine(WORKER) as gpu:
        for case in cases:
            plan = plan_for(facts, case)
            engine, at = (gpu, server) if case.has_gpu else (cpu, None)
            try:
                loaded = engine.load(path, options_for(plan, at))
            except FindingError as reason:
                _say_refused(name, case, reason)
                continue
            yield figures_of_load(name, case, plan, loaded.buffers)


def _breakdowns(name: str, path: Path, server: str) -> Iterator[tuple[Figure, ...]]:
    facts = inspect_path(path).facts
    for case in cases_for(facts):
        if not case.has_gpu and case.moe != "off":
            continue  # the same on a processor alone
        plan = plan_for(facts, case)
        options = options_for(plan, server if case.has_gpu else None)
        try:
            # repacked weights are as large; b10434 aborts over MLA models with them (`-fit`, AMX)
            rows = ask_breakdown(PACK, path, replace(options, repack=False))
        except FindingError as reason:
            _say_refused(name, case, reason)
            continue
        yield figures_of_breakdown(name, case, plan, rows)


def _say_refused(name: str, case: PlanCase, reason: FindingError) -> None:
    print(f"refused: {name}, {case.name}: {reason.finding}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plan_accuracy", description=__doc__)
    parser.add_argument("--only", default="", help="models whose name matches this expression")
    parser.add_argument("--rows", type=Path, help="write all rows there, as JSON")
    parser.add_argument("--worst", type=int, default=10, help="rows to show")
    return parser


if __name__ == "__main__":
    sys.exit(main())
