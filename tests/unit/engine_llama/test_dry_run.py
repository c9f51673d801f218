"""The engine's own verdict on a file, from a process that may die of it."""

import time
from pathlib import Path

import pytest

from app.engine import dry_run
from app.engine.blocking import BlockingEngine
from app.engine.dry_run import engine_accepts
from app.findings import Finding, FindingCode, FindingError, Severity, error
from tests.controller_setup import workers

pytestmark = pytest.mark.engine


def test_the_default_model_is_accepted(moe_model: Path) -> None:
    assert engine_accepts(moe_model) == (True, ())


def test_a_file_the_engine_aborts_on_is_refused_with_the_assert(without_expert_count: Path) -> None:
    accepted, findings = engine_accepts(without_expert_count)
    assert accepted is False
    assert findings[0].code is FindingCode.EXPERT_COUNTS_ABORT
    assert "n_expert" in str(findings[0].values["line"])


def test_an_override_turns_the_verdict(without_expert_count: Path) -> None:
    assert engine_accepts(without_expert_count, (("llama.expert_count", 4),)) == (True, ())


def test_a_file_that_is_no_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_bytes(b"<html>" * 10)
    accepted, findings = engine_accepts(page)
    assert accepted is False
    assert findings[0].code is FindingCode.HEADER_BROKEN
    assert findings[0].values["reason"] == "not-gguf"


@pytest.mark.parametrize(
    ("finding", "code", "severity"),
    [
        (
            error(FindingCode.ENGINE_MISSING, name="worker"),
            FindingCode.ENGINE_CHECK_UNAVAILABLE,
            Severity.NOTE,
        ),
        (error(FindingCode.ENGINE_DIED, during="start"), FindingCode.ENGINE_DIED, Severity.ERROR),
        (error(FindingCode.ENGINE_KILLED, during="check"), FindingCode.ENGINE_KILLED, Severity.ERROR),
    ],
)
def test_an_engine_that_never_came_to_the_file_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch, finding: Finding, code: FindingCode, severity: Severity
) -> None:
    class NoEngine(BlockingEngine):
        def check(self, path: Path, options: object, is_cancelled: object = None) -> object:  # type: ignore[override]
            raise FindingError(finding)

    monkeypatch.setattr(dry_run, "BlockingEngine", NoEngine)
    accepted, (told,) = engine_accepts(Path("any.gguf"))
    assert accepted is None
    assert (told.code, told.severity) == (code, severity)


def test_a_check_nobody_waits_for_any_more_ends_its_process(moe_model: Path) -> None:
    started = time.monotonic()
    assert engine_accepts(moe_model, (), lambda: bool(workers())) == (None, ())
    assert workers() == []
    assert time.monotonic() - started < 10
