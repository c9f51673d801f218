"""How close is a predicted speed to what the engine then does? Before its first tokens, and after them.

Run: `python -m tests.bench.bench_speed_prediction [PACK_FOLDER] [MODEL ...]`; without a folder the worker's
engine is measured. Exits 1 beyond 40 % before the first tokens, beyond 25 % after them, or when fewer than
nine of ten measurements lie within the range. Times in line for a processor are taken off, as calibrating
does. That is exact for one thread; several on a machine that is busy otherwise cannot be told from noise, so
the load is printed beside each figure.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psutil

from app.engine.blocking import BlockingEngine
from app.engine.calibration import (
    CalibrationRequest,
    EngineWatch,
    Timed,
    calibrate,
    groups_that_matter,
    typical_seconds,
)
from app.engine.calibration_model import CalibrationShape, write_calibration_model
from app.engine.spec import BackendKind, EngineSpec
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.options import EngineOptions
from app.planner.caches import Extent
from app.planner.facts import MemoryBudget, SpeedForecast
from app.planner.measured_speeds import Calibration, MachineSpeeds, SpeedCorrection
from app.planner.model_sizes import model_sizes
from app.planner.placement import Cut, place
from app.planner.speed import forecast
from app.processes.run_queue import started_processes

ASSETS: Final = Path(".cache/test-assets/models")
MODELS: Final = ("smollm2-moe-8x2.gguf", "smollm2-moe-4x1-exact.gguf")
OTHER_SHAPE: Final = CalibrationShape(12, blocks=20, experts=32, used=4, width=1536, feed_forward=512)
"""A third model: Q4_K, many small experts."""

THREADS: Final = (1, 2)
ANSWERS: Final = 12
WINDOW_TOKENS: Final = 8
FIRST_ANSWERS: Final = 3
"""About the first twenty tokens."""

BEFORE, AFTER, WITHIN = 0.40, 0.25, 0.9


@dataclass(frozen=True, slots=True)
class Row:
    """One model with one number of threads; errors are predicted over measured, less 1."""

    before: float
    after: float
    inside: int
    answers: int


def main(arguments: list[str]) -> int:
    """Measure, print, and return the exit status."""
    spec = EngineSpec("worker", BackendKind.LLAMA)
    if arguments and Path(arguments[0]).is_dir():
        spec = EngineSpec("pack", BackendKind.LLAMA_SERVER, Path(arguments.pop(0)).resolve())
    elif (os.cpu_count() or 1) <= max(THREADS):
        # threads that spin for each other stop each other where all processors are taken
        spec = replace(spec, environment=(("OMP_WAIT_POLICY", "passive"),))
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "q4_k-32x4.gguf"
        write_calibration_model(other, OTHER_SHAPE)
        files = [Path(name) for name in arguments] or [*(ASSETS / name for name in MODELS), other]
        models = [inspect_path(file).facts for file in files]
        rows = [row for threads in THREADS for row in _rows(spec, models, threads)]
    inside = sum(row.inside for row in rows) / sum(row.answers for row in rows)
    print(f"within the range: {inside:.0%} of {sum(row.answers for row in rows)} answers")
    worst_before, worst_after = max(abs(r.before) for r in rows), max(abs(r.after) for r in rows)
    print(f"worst before the first tokens {worst_before:.0%}, after them {worst_after:.0%}")
    return 0 if worst_before <= BEFORE and worst_after <= AFTER and inside >= WITHIN else 1


def _rows(spec: EngineSpec, models: list[ModelFacts], threads: int) -> Iterator[Row]:
    groups = tuple(dict.fromkeys(group for model in models for group in groups_that_matter(model)))
    calibration = calibrate(CalibrationRequest(spec, groups, threads))
    assert calibration is not None
    for speed in calibration.types:
        rate, prefill = speed.decode_bytes_per_second / 1e9, (speed.prefill_elements_per_second or 0) / 1e9
        print(f"{threads} threads: {speed.type_name} {speed.kind}: {rate:.1f} GB/s, {prefill:.0f} G/s")
    for model in models:
        yield _row(spec, model, calibration, threads)


def _row(spec: EngineSpec, model: ModelFacts, calibration: Calibration, threads: int) -> Row:
    options = EngineOptions(n_ctx=1024, n_gpu_layers=0, n_threads=threads, n_threads_batch=threads)
    options = replace(options, chat_template="auto" if model.chat_template else "chatml")
    told = _told(model, options, MachineSpeeds(calibrations=(calibration,)))
    times, prompt = _measured(spec, model, options)
    factor = 1 / typical_seconds(times[:FIRST_ANSWERS]) / told.expected
    correction = SpeedCorrection(factor, is_same_plan=True)
    learned = _told(model, options, MachineSpeeds(calibrations=(calibration,), correction=correction))
    later = times[FIRST_ANSWERS:]
    measured = 1 / typical_seconds(later)
    row = Row(
        before=told.expected / measured - 1,
        after=learned.expected / measured - 1,
        inside=sum(told.decode.low <= 1 / timed.seconds <= told.decode.high for timed in later),
        answers=len(later),
    )
    prefill = (told.prefill.low * told.prefill.high) ** 0.5 if told.prefill else 0.0
    print(
        f"{threads} threads, {model.path.name}: predicted {told.expected:.1f} "
        f"({told.decode.low:.1f} to {told.decode.high:.1f}), "
        f"measured {measured:.1f} tokens/s: {row.before:+.0%}, "
        f"after the first tokens {row.after:+.0%}; inside {row.inside}/{row.answers}; "
        f"prompt predicted {prefill:.0f}, measured {1 / prompt if prompt else 0:.0f}; "
        f"load {psutil.getloadavg()[0]:.1f}",
        flush=True,
    )
    return row


def _told(model: ModelFacts, options: EngineOptions, speeds: MachineSpeeds) -> SpeedForecast:
    cut = Cut(Extent(options.n_ctx, options.n_ubatch, options.type_k), n_gpu_layers=0)
    placement = place(model_sizes(model), cut, ())
    told = forecast(model, placement, 0, MemoryBudget(2**40, speeds=speeds), options)
    assert told is not None
    return told


def _measured(
    spec: EngineSpec, model: ModelFacts, options: EngineOptions
) -> tuple[list[Timed], float | None]:
    others = started_processes()
    with BlockingEngine(spec) as engine:
        engine.load(model.path, options)
        watch = EngineWatch(engine, started_processes() - others)
        prompt = watch.prompt_seconds("some words of a prompt " * 24)
        times = [watch.token_time("Tell me of the sea", WINDOW_TOKENS) for _ in range(ANSWERS)]
    return times, prompt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
