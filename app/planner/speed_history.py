"""How fast answers here really were, kept in a file, and what that teaches the next prediction."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Final

from app.files import read_regular, write_atomically
from app.findings import FindingError
from app.gguf.facts import ModelFacts
from app.hardware.fact_json import UnfitError, parse_json, read_fact, to_plain
from app.options import EngineOptions
from app.planner.measured_speeds import SpeedCorrection

FEWEST_TOKENS: Final = 8
"""A shorter answer says little."""

ANSWERS_PER_PLAN: Final = 8
MOST_ANSWERS: Final = 256
LARGEST_FILE_BYTES: Final = 256 * 1024
LARGEST_FACTOR: Final = 3.0
"""What others' answers teach is never taken for more than this."""


@dataclass(frozen=True, slots=True)
class PlanKey:
    """Which answers are alike.

    Attributes:
        model: What `model_key` says.
        build: The engine's version text.
        place: What `place_key` says.
    """

    model: str
    build: str
    place: str


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """One answer. Speeds are tokens per second, decode.

    Attributes:
        predicted: Without any correction; 0 when nothing was predicted.
    """

    key: PlanKey
    predicted: float
    measured: float
    tokens: int


def model_key(model: ModelFacts) -> str:
    """Return what tells a model from others, wherever its file lies."""
    return ascii((model.architecture, model.name, model.quantization_name, model.size_bytes))


def place_key(options: EngineOptions) -> str:
    """Return the options that decide where a model is computed; without a GPU, experts and cards do not."""
    if not options.n_gpu_layers:
        return f"0/{options.n_threads}/{options.repack}"
    experts = "all" if options.cpu_moe else options.cpu_moe_blocks or options.n_cpu_moe
    parts = (options.n_gpu_layers, experts, options.n_threads, options.repack, *options.devices)
    return "/".join(map(str, parts))


def correction(answers: Sequence[MeasuredAnswer], key: PlanKey) -> SpeedCorrection | None:
    """Return what the answers teach about a plan, the newest of them last; None when they teach nothing.

    The plan's own answers count alone, the middle of the newest. Without any: how far predictions were off
    with the same build, one voice for every plan.
    """
    return own_corrections(answers, key.model, key.build).get(key.place) or others_correction(
        answers, key.build
    )


def own_corrections(answers: Sequence[MeasuredAnswer], model: str, build: str) -> dict[str, SpeedCorrection]:
    """Return what a model's own answers teach, by place; the middle of the newest."""
    own: dict[str, list[MeasuredAnswer]] = {}
    for answer in answers:
        if (answer.key.model, answer.key.build) == (model, build) and _is_usable(answer):
            own.setdefault(answer.key.place, []).append(answer)
    return {place: _of_own(found[-ANSWERS_PER_PLAN:]) for place, found in own.items()}


def others_correction(answers: Sequence[MeasuredAnswer], build: str) -> SpeedCorrection | None:
    """Return how far predictions were off with a build, one voice for every plan; None without any."""
    usable = [a for a in answers if a.key.build == build and a.predicted > 0 and _is_usable(a)]
    if not usable:
        return None
    by_plan = [
        median([a.measured / a.predicted for a in usable if a.key == of][-ANSWERS_PER_PLAN:])
        for of in {a.key for a in usable}
    ]
    factor = min(LARGEST_FACTOR, max(1 / LARGEST_FACTOR, geometric_mean(by_plan)))
    return SpeedCorrection(factor, is_same_plan=False, answers=len(usable))


def _of_own(answers: Sequence[MeasuredAnswer]) -> SpeedCorrection:
    ratios = [a.measured / a.predicted for a in answers if a.predicted > 0]
    return SpeedCorrection(
        factor=median(ratios) if ratios else 1.0,
        is_same_plan=True,
        answers=len(answers),
        tokens_per_second=median(a.measured for a in answers),
    )


def _is_usable(answer: MeasuredAnswer) -> bool:
    return answer.tokens >= FEWEST_TOKENS and answer.measured > 0


class SpeedHistory:
    """Answers of this machine. Any thread; blocks for the file."""

    def __init__(self, file: Path) -> None:
        """Read nothing yet."""
        self._file = file
        self._lock = threading.Lock()

    def answers(self) -> tuple[MeasuredAnswer, ...]:
        """Return what is kept, the newest last. A file that is not ours, or damaged, holds nothing."""
        with self._lock:
            return self._answers()

    def keep(self, answer: MeasuredAnswer) -> None:
        """Keep an answer; the oldest make room, of its own plan first. Too short ones are not kept.

        Raises:
            FindingError: `DISK_FULL` or `STORE_READ_ONLY`; the others stay.
        """
        if answer.predicted < 0 or not _is_usable(answer):
            return
        with self._lock:
            known = self._answers()
            alike = [a for a in known if a.key == answer.key]
            dropped = set(map(id, alike[: max(0, len(alike) + 1 - ANSWERS_PER_PLAN)]))
            kept = [*(a for a in known if id(a) not in dropped), answer][-MOST_ANSWERS:]
            text = json.dumps([to_plain(a) for a in kept], ensure_ascii=False)
            write_atomically(self._file, text.encode("utf-8", "surrogatepass"))

    def _answers(self) -> tuple[MeasuredAnswer, ...]:
        try:
            document = parse_json(read_regular(self._file, LARGEST_FILE_BYTES + 1), LARGEST_FILE_BYTES)
            answers: tuple[MeasuredAnswer, ...] = read_fact(tuple[MeasuredAnswer, ...], document, "$")
        except (FindingError, UnfitError):
            return ()
        return answers
