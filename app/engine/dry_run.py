"""Asks the built-in engine what it thinks of a file, in a process that may die of it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from app.engine.blocking import BlockingEngine, GivenUpError
from app.engine.protocol import BufferUse
from app.engine.refusals import REFUSALS
from app.engine.session_state import SessionLimits
from app.engine.spec import BackendKind, EngineSpec
from app.findings import Finding, FindingCode, FindingError, Severity, note
from app.options import EngineOptions, KvOverrideValue

WORKER: Final = EngineSpec("worker", BackendKind.LLAMA)

_LIMITS: Final = SessionLimits(close_seconds=1.0)
"""Nothing is lost with a process that only looks."""

_UNAVAILABLE: Final = (FindingCode.ENGINE_MISSING, FindingCode.ENGINE_CHECK_UNAVAILABLE)
_VERDICTS: Final = REFUSALS | {
    FindingCode.ENGINE_ASSERT,
    FindingCode.ENGINE_DIED,
    FindingCode.ENGINE_REJECTS_MODEL,
}
"""Ways to die of a bad file; any other end says nothing about it."""

ABORTS_ON: Final = frozenset(
    {
        *(FindingCode.EXPERT_COUNT_TOO_LARGE, FindingCode.EXPERT_COUNT_MISSING),
        *(FindingCode.EXPERT_COUNT_MISMATCH, FindingCode.EXPERT_COUNT_INVALID),
        *(FindingCode.EXPERT_USED_COUNT_MISSING, FindingCode.EXPERT_USED_COUNT_INVALID),
        *(FindingCode.BLOCK_COUNT_INVALID, FindingCode.NUMBER_UNUSABLE, FindingCode.OVERRIDE_OFF),
    }
)
"""Faults that may end the engine's process; as a warning they are mended at load."""

_WITH_THE_FILE: Final = (None, "load", "check")


def engine_accepts(
    path: Path,
    kv_overrides: tuple[tuple[str, KvOverrideValue], ...] = (),
    is_cancelled: Callable[[], bool] = lambda: False,
) -> tuple[bool | None, tuple[Finding, ...]]:
    """Return the engine's verdict on `path` and why; no tensor is read.

    None means that there is no verdict: the engine is not installed, or it failed before it came to
    the file, or it was cancelled. Takes under a second for files of any size; starts and ends one process.

    Args:
        is_cancelled: Asked while the engine looks; its process is ended then, wherever it is.
    """
    options = EngineOptions(n_gpu_layers=0, kv_overrides=kv_overrides)
    try:
        with BlockingEngine(WORKER, _LIMITS) as engine:
            checked = engine.check(path, options, is_cancelled)
    except FindingError as reason:
        return _verdict_of(reason.finding)
    except GivenUpError:
        return None, ()
    return checked.accepted, checked.findings


def dry_run_buffers(path: Path, options: EngineOptions) -> tuple[BufferUse, ...]:
    """Return the compute buffers the built-in engine would take; no tensor is read, no memory taken.

    Raises:
        FindingError: why it cannot tell; bad metadata may also end its process.
    """
    with BlockingEngine(WORKER, _LIMITS) as engine:
        checked = engine.check(path, options, measures=True)
    if not checked.accepted:
        raise FindingError(checked.findings[0])
    return checked.buffers


def would_abort(findings: Iterable[Finding]) -> bool:
    """Return whether the header shows what the engine may abort on: then nobody needs to start it."""
    return any(finding.severity is Severity.ERROR and finding.code in ABORTS_ON for finding in findings)


def _verdict_of(finding: Finding) -> tuple[bool | None, tuple[Finding, ...]]:
    if finding.code in _UNAVAILABLE:
        return None, (note(FindingCode.ENGINE_CHECK_UNAVAILABLE),)
    # a refusal in the engine's own words has no `during`
    is_of_the_file = finding.code in _VERDICTS and finding.values.get("during") in _WITH_THE_FILE
    return (False if is_of_the_file else None), (finding,)
