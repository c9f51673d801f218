"""The self-test of an engine: it starts, takes a tiny MoE with experts on the CPU, and answers it right."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from app.engine.blocking import BlockingEngine
from app.engine.pack_install import verify_pack
from app.engine.packs import ECHO, EngineEntry, SmokeResult, write_record
from app.engine.protocol import ChatMessage, Failed, Token
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.options import EngineOptions, SamplingOptions
from app.paths import resource_path

TINY_MODEL: Final = ("selftest", "tiny-moe.gguf")
EXPECTED_ANSWER: Final = "Moxie (魔匣) runs its experts well."
"""The tiny model's only answer; every word of it comes out of its experts."""

_TOKENS: Final = 16
_OPTIONS: Final = EngineOptions(n_ctx=256, n_batch=256, n_ubatch=256, cpu_moe=True, n_gpu_layers=0)


def smoke_test(entry: EngineEntry) -> tuple[Finding, ...]:
    """Test an engine, keep the result in a pack's record, and return what is wrong: errors when it failed.

    A result that cannot be kept is a warning. A pack whose files have changed is not started. The tensor
    override counts: builds are known that die of it (`--cpu-moe`).
    """
    findings = verify_pack(entry) or _run(entry)
    folder, record = entry.spec.pack_folder, entry.record
    if folder is not None and record is not None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        codes = tuple(finding.code.value for finding in findings)
        try:
            write_record(folder, replace(record, smoke=SmokeResult(not findings, at, codes)))
        except FindingError as reason:
            return *findings, replace(reason.finding, severity=Severity.WARNING)
    return findings


def _run(entry: EngineEntry) -> tuple[Finding, ...]:
    step = "--cpu-moe"
    with BlockingEngine(entry.spec) as engine:
        try:
            engine.load(resource_path(*TINY_MODEL), _OPTIONS)
            step = "chat"
            text = _answer(engine)
        except FindingError as reason:
            if engine.hello is None:
                step = "--version"
            failed = error(FindingCode.PACK_SMOKE_FAILED, name=entry.name, step=step, answer=None)
            return failed, reason.finding
    if entry.spec != ECHO and not text.startswith(EXPECTED_ANSWER):
        return (error(FindingCode.PACK_SMOKE_FAILED, name=entry.name, step=step, answer=text),)
    return ()


def _answer(engine: BlockingEngine) -> str:
    """Return the answer's text.

    Raises:
        FindingError: why there is none.
    """
    pieces: list[str] = []
    sampling = SamplingOptions(temperature=0.0, max_tokens=_TOKENS)
    for event in engine.generate((ChatMessage("user", "?"),), sampling):
        if isinstance(event, Token):
            pieces.append(event.text)
        elif isinstance(event, Failed):
            raise FindingError(event.finding)
    return "".join(pieces)
