"""A file becomes a model with a context, or a finding that says why not."""

import os
import time
from dataclasses import dataclass
from typing import Any, Final

from app.engine.backend import Emit, IsCancelled
from app.engine.llama.bindings import Library
from app.engine.llama.engine_log import EngineLog
from app.engine.llama.params import NativeParams
from app.engine.log_reader import explain_load_failure, read_buffers
from app.engine.protocol import BufferUse, LoadProgress
from app.findings import FindingCode, FindingError, error

PROGRESS_SECONDS: Final = 0.05
"""Least time between two progress events; the engine reports once per tensor."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Pointers into the engine, valid until `free`.

    Attributes:
        kept: What the engine still points into.
    """

    library: Library
    model: Any
    context: Any
    vocabulary: Any
    kept: tuple[Any, ...]

    def free(self) -> None:
        """Let go of context and model."""
        self.library.llama.llama_free(self.context)
        self.library.llama.llama_model_free(self.model)


def load_model(
    library: Library,
    log: EngineLog,
    path: str,
    params: NativeParams,
    emit: Emit,
    is_cancelled: IsCancelled,
) -> LoadedModel:
    """Load weights, then make the context.

    Raises:
        FindingError: `LOAD_CANCELLED`, or why the engine refused, from its log.
    """
    progress = _Progress(emit, is_cancelled)
    callback = library.llama.llama_progress_callback(progress.on_fraction)
    params.model.progress_callback = callback
    model = library.llama.llama_model_load_from_file(os.fsencode(path), params.model)
    if is_cancelled():
        if model:
            library.llama.llama_model_free(model)
        raise FindingError(error(FindingCode.LOAD_CANCELLED))
    if not model:
        raise FindingError(explain_load_failure(log.lines()))
    emit(LoadProgress("context"))
    context = library.llama.llama_init_from_model(model, params.context)
    if not context:
        library.llama.llama_model_free(model)
        raise FindingError(explain_load_failure(log.lines()))
    vocabulary = library.llama.llama_model_get_vocab(model)
    return LoadedModel(library, model, context, vocabulary, (params, callback))


def accepts(library: Library, log: EngineLog, path: str, params: NativeParams) -> bool:
    """Say whether the engine takes the file; with parameters of a dry run no tensor is read.

    Some bad expert metadata does not fail but aborts the process.
    """
    log.clear()
    model = library.llama.llama_model_load_from_file(os.fsencode(path), params.model)
    if model:
        library.llama.llama_model_free(model)
    return bool(model)


def reserved_buffers(
    library: Library, log: EngineLog, path: str, params: NativeParams
) -> tuple[BufferUse, ...] | None:
    """Return the compute buffers of a model and context without memory behind them; None when refused.

    Args:
        params: Of a dry run, context parameters included.
    """
    log.clear()
    model = library.llama.llama_model_load_from_file(os.fsencode(path), params.model)
    if not model:
        return None
    context = library.llama.llama_init_from_model(model, params.context)
    buffers = read_buffers(log.lines())
    if context:
        library.llama.llama_free(context)
    library.llama.llama_model_free(model)
    return tuple(use for use in buffers if use.part == "compute") if context else None


class _Progress:
    """Passes the engine's progress on, not too often, and answers whether to go on."""

    def __init__(self, emit: Emit, is_cancelled: IsCancelled) -> None:
        self._emit = emit
        self._is_cancelled = is_cancelled
        self._told_at = 0.0

    def on_fraction(self, fraction: float, _user_data: object) -> bool:
        now = time.monotonic()
        if fraction >= 1.0 or now - self._told_at >= PROGRESS_SECONDS:
            self._told_at = now
            self._emit(LoadProgress("weights", min(fraction, 1.0)))
        return not self._is_cancelled()
