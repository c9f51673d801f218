"""How fast does an engine work through weights of each type? Asked of the engine, with models made for it."""

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from pathlib import Path
from statistics import median
from typing import Final

from app.engine.blocking import BlockingEngine
from app.engine.calibration_model import CalibrationShape, write_calibration_model
from app.engine.protocol import ChatMessage, Failed, Finished, Timings
from app.engine.spec import EngineSpec
from app.findings import FindingError
from app.gguf.facts import ModelFacts, TensorClass
from app.gguf.quants import QUANT_TYPES, tensor_bytes
from app.gguf.tensor_classes import tensor_class
from app.options import ALL_LAYERS, EngineOptions, SamplingOptions
from app.planner.measured_speeds import Calibration, TypeSpeed, WeightKind
from app.processes.run_queue import started_processes, thread_times, undisturbed_share

SECONDS: Final = 2.0
"""Per type, in all; a little more where one answer takes longer."""

TOKEN_BYTES: Final = 96 * 1024**2
"""More than processors cache, or the model would be read from there."""

BATCH_TOKENS: Final = 64
WINDOW_TOKENS: Final = 6
"""Per answer: so few that some are not disturbed by what else the machine does."""

FEWEST_WINDOWS: Final = 4
MATTERS: Final = 0.02
"""A type with a smaller part of what a token reads is left out."""

_Q8_0: Final = 8
_TYPE_IDS: Final = {quant.name: type_id for type_id, quant in QUANT_TYPES.items()}
_BARE: Final = CalibrationShape(_Q8_0, blocks=24, experts=4, used=2, width=128, feed_forward=64)
"""Next to no weights: what is left is what blocks take by themselves."""

_PLAIN_TYPES: Final = frozenset({"I8", "I16", "I32", "I64", "F64"})


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """What to measure.

    Attributes:
        spec: The engine.
        groups: Types, each as it is used.
        n_threads: As the model will be run.
        on_gpu: All layers on GPUs; threads and `repack` play no part.
    """

    spec: EngineSpec
    groups: tuple[tuple[str, WeightKind], ...]
    n_threads: int
    repack: bool = True
    on_gpu: bool = False


@dataclass(frozen=True, slots=True)
class _Measured:
    """Of one model: the shortest times seen. `prompt_seconds` is per token."""

    build: str
    token_seconds: float
    prompt_seconds: float | None


def groups_that_matter(model: ModelFacts) -> tuple[tuple[str, WeightKind], ...]:
    """Return the types that a token of this model reads much of, the most read first."""
    used = (model.expert_used_count or 0) / model.expert_count if model.expert_count else 1.0
    read: dict[tuple[str, WeightKind], float] = {}
    for tensor in model.tensors:
        of = tensor_class(tensor.name)
        if tensor.type_name not in _TYPE_IDS or tensor.type_name in _PLAIN_TYPES:
            continue
        is_routed = of is TensorClass.ROUTED_EXPERTS
        group = (tensor.type_name, WeightKind.EXPERTS if is_routed else WeightKind.DENSE)
        read[group] = read.get(group, 0.0) + (tensor.size_bytes or 0) * (used if is_routed else 1.0)
    total = sum(read.values())
    ordered = sorted(read, key=lambda group: -read[group])
    return tuple(group for group in ordered if read[group] >= MATTERS * total)


def calibrate(
    request: CalibrationRequest,
    is_cancelled: Callable[[], bool] = lambda: False,
    *,
    seconds: float = SECONDS,
    folder: Path | None = None,
) -> Calibration | None:
    """Measure the engine: about `seconds` per type, and once more for the blocks. Blocks; starts processes.

    A type the engine does not load is left out. None when cancelled.

    Args:
        folder: For models of up to 400 MB, removed at the end; None for the system's.

    Raises:
        FindingError: the engine does not start, or the folder has no room.
    """
    with tempfile.TemporaryDirectory(prefix="moxie-", dir=folder, ignore_cleanup_errors=True) as place:
        file = Path(place) / "calibration.gguf"
        bare = _measure(file, _BARE, request, seconds / 2, is_cancelled)
        block_seconds = bare.token_seconds / _BARE.blocks if isfinite(bare.token_seconds) else 0.0
        speeds = []
        for name, kind in request.groups:
            if is_cancelled():
                return None
            shape = _shape(_TYPE_IDS[name], kind)
            try:
                measured = _measure(file, shape, request, seconds, is_cancelled)
            except FindingError:  # this build does not know the type
                continue
            if isfinite(measured.token_seconds):
                speeds.append(_speed(name, kind, shape, measured, block_seconds))
    if is_cancelled():
        return None
    return Calibration(
        build=bare.build,
        device="GPU" if request.on_gpu else "CPU",
        n_threads=0 if request.on_gpu else request.n_threads,
        repack=False if request.on_gpu else request.repack,
        block_seconds=block_seconds,
        types=tuple(speeds),
        measured_at=int(time.time()),
    )


def _shape(type_id: int, kind: WeightKind) -> CalibrationShape:
    """Return a model of which a token reads `TOKEN_BYTES` at least."""
    shape = CalibrationShape(type_id, blocks=1)
    if kind is WeightKind.EXPERTS:
        shape = replace(shape, experts=16, used=8, feed_forward=512)
    return replace(shape, blocks=ceil(TOKEN_BYTES / _work(shape)[0]))


def _speed(
    name: str, kind: WeightKind, shape: CalibrationShape, measured: _Measured, block_seconds: float
) -> TypeSpeed:
    read, elements = _work(shape)
    own = max(0.1 * measured.token_seconds, measured.token_seconds - shape.blocks * block_seconds)
    prompt = measured.prompt_seconds
    return TypeSpeed(name, kind, read / own, elements / prompt if prompt else None)


def _work(shape: CalibrationShape) -> tuple[int, int]:
    """Return bytes read for a token and weights it is multiplied with."""
    width, narrow = shape.width, shape.width // 4
    matrices: Iterable[tuple[tuple[int, int], int]] = (
        ((width, width), 2),
        ((width, narrow), 2),
        ((width, shape.feed_forward), 2 * max(1, shape.used)),
        ((shape.feed_forward, width), max(1, shape.used)),
    )
    size = sum(count * (tensor_bytes(shape.type_id, of) or 0) for of, count in matrices)
    elements = sum(count * of[0] * of[1] for of, count in matrices)
    return shape.blocks * size, shape.blocks * elements


def _measure(
    file: Path,
    shape: CalibrationShape,
    request: CalibrationRequest,
    seconds: float,
    is_cancelled: Callable[[], bool],
) -> _Measured:
    began = time.perf_counter()
    write_calibration_model(file, shape)
    options = EngineOptions(
        n_ctx=1024,
        n_gpu_layers=ALL_LAYERS if request.on_gpu else 0,
        n_threads=request.n_threads,
        n_threads_batch=request.n_threads,
        repack=request.repack,
        chat_template="chatml",
    )
    others = started_processes()
    with BlockingEngine(request.spec) as engine:
        engine.load(file, options)
        build = engine.hello.build if engine.hello else ""
        watch = EngineWatch(engine, started_processes() - others)
        prompt = watch.prompt_seconds("y" * BATCH_TOKENS)
        tokens: list[Timed] = []
        while len(tokens) < FEWEST_WINDOWS or time.perf_counter() - began < seconds:
            if is_cancelled():
                break
            tokens.append(watch.token_time("go", WINDOW_TOKENS))
    return _Measured(build, typical_seconds(tokens) if tokens else float("inf"), prompt)


@dataclass(frozen=True, slots=True)
class Timed:
    """What a token took.

    Attributes:
        seconds: Less what the engine's threads waited for a processor.
        share: Of the time, in which none of them did.
    """

    seconds: float
    share: float = 1.0


def typical_seconds(times: Sequence[Timed]) -> float:
    """Return the middle of the third that was disturbed least; of those alike, the fastest count."""
    ordered = sorted(times, key=lambda timed: (-round(timed.share, 1), timed.seconds))
    return median(timed.seconds for timed in ordered[: max(1, len(ordered) // 3)])


class EngineWatch:
    """Times answers of a loaded engine, less what its threads waited for a processor (Linux)."""

    def __init__(self, engine: BlockingEngine, processes: Collection[int]) -> None:
        """Watch the engine's processes."""
        self._engine = engine
        self._processes = processes

    def token_time(self, words: str, tokens: int) -> Timed:
        """Return what a token of an answer takes; the first comes with the prompt and does not count.

        Raises:
            FindingError: the engine failed.
        """
        timings, share = self._answer(words, tokens)
        steps = (timings.predicted_tokens or 0) - 1
        if steps < 1 or not timings.predicted_ms:
            return Timed(float("inf"), 0.0)
        return Timed(share * timings.predicted_ms / 1000 / steps, share)

    def prompt_seconds(self, words: str) -> float | None:
        """Return what a token of a prompt takes.

        Raises:
            FindingError: the engine failed.
        """
        timings, share = self._answer(words, 1)
        if not timings.prompt_tokens or not timings.prompt_ms:
            return None
        return share * timings.prompt_ms / 1000 / timings.prompt_tokens

    def _answer(self, words: str, tokens: int) -> tuple[Timings, float]:
        before, began = thread_times(self._processes), time.perf_counter()
        timings = _answer(self._engine, words, tokens)
        seconds = time.perf_counter() - began
        return timings, undisturbed_share(before, thread_times(self._processes), seconds)


def _answer(engine: BlockingEngine, words: str, tokens: int) -> Timings:
    sampling = SamplingOptions(temperature=0.0, max_tokens=tokens)
    for event in engine.generate([ChatMessage("user", words)], sampling):
        if isinstance(event, Failed):
            raise FindingError(event.finding)
        if isinstance(event, Finished):
            return event.timings
    return Timings()
