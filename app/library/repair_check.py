"""Does a repaired copy work? Inspected, shown to the engine, and made to answer where it fits the memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER, engine_accepts
from app.engine.protocol import ChatMessage, Failed, Finished
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.options import EngineOptions, SamplingOptions

TOKENS: Final = 4
ROOM_SHARE: Final = 1.1
"""Memory a small load takes, over the size of the file."""

_CONTEXT: Final = 256


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """How a copy stood the test.

    Attributes:
        accepted: The engine's verdict from a dry run; None when no engine can tell.
        decoded_tokens: None when it was not loaded: it does not fit the free memory, or no engine is there.
        failure: Why the copy does not work; None when it does, as far as it could be tried.
        findings: Behind the failure, and why something could not be tried.
    """

    inspected: InspectedFile
    accepted: bool | None = None
    decoded_tokens: int | None = None
    failure: Finding | None = None
    findings: tuple[Finding, ...] = ()


def check_copy(path: Path, ram_free_bytes: int | None) -> CopyCheck:
    """Try the copy at `path`. Blocks: starts and ends up to two engine processes."""
    inspected = inspect_path(path)
    facts = inspected.facts
    if not inspected.loadable:
        left = tuple(finding for finding in inspected.findings if finding.severity is Severity.ERROR)
        return CopyCheck(inspected, failure=_failure(path, "findings-left"), findings=left)
    accepted, findings = engine_accepts(facts.path, facts.kv_overrides)
    if accepted is False:
        return CopyCheck(inspected, accepted, None, _failure(path, "engine-refuses"), findings)
    fits = ram_free_bytes is not None and facts.size_bytes * ROOM_SHARE < ram_free_bytes
    if accepted is None or not fits:
        return CopyCheck(inspected, accepted, findings=findings)
    try:
        return CopyCheck(inspected, accepted, _decoded(inspected), findings=findings)
    except FindingError as reason:
        return CopyCheck(inspected, accepted, None, _failure(path, "no-answer"), (reason.finding,))


def _failure(path: Path, reason: str) -> Finding:
    return error(FindingCode.REPAIR_NOT_VERIFIED, path=str(path), reason=reason)


def _decoded(inspected: InspectedFile) -> int:
    """Return how many tokens an answer had; some models end theirs at once.

    Raises:
        FindingError: it does not load or does not answer.
    """
    overrides = inspected.facts.kv_overrides
    options = EngineOptions(
        n_ctx=_CONTEXT, n_batch=_CONTEXT, n_ubatch=_CONTEXT, n_gpu_layers=0, kv_overrides=overrides
    )
    sampling = SamplingOptions(temperature=0.0, max_tokens=TOKENS)
    with BlockingEngine(WORKER) as engine:
        engine.load(inspected.facts.path, options)
        for event in engine.generate((ChatMessage("user", "1, 2, 3,"),), sampling):
            if isinstance(event, Failed):
                raise FindingError(event.finding)
            if isinstance(event, Finished):
                return event.timings.predicted_tokens or 0
    return 0
