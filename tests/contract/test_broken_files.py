"""Every broken file is explained before an engine gets it, by the cause and not by a symptom."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.engine.dry_run import engine_accepts
from app.findings import Finding, Severity
from app.gguf.inspect_file import InspectedFile, findings_for_chat, inspect_path
from app.gguf.weights_scan import scan_weights
from app.parsing.template_findings import with_template_checked
from tests.models.broken import BROKEN_CASES, KILLERS, BrokenCase, Witness, write_broken

SECONDS_MOST = 1.0


def cases_of(*witnesses: Witness) -> list[BrokenCase]:
    """Return the cases that one of `witnesses` finds out."""
    return [case for case in BROKEN_CASES if case.expected.witness in witnesses]


def named(case: BrokenCase) -> str:
    """Return the name a test is shown by."""
    return case.name


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return write_broken(tmp_path_factory.mktemp("broken"))


def errors(inspected: InspectedFile) -> list[Finding]:
    """Return what stops a chat with this file."""
    return [f for f in findings_for_chat(inspected) if f.severity is Severity.ERROR]


def assert_told(case: BrokenCase, findings: tuple[Finding, ...]) -> None:
    """Check that the cause is named, with its value, and that nothing else is said to be an error."""
    expected = case.expected
    told = [f for f in findings if f.code is expected.code]
    assert told, findings
    if expected.value is not None:
        values = [value for finding in told for value in finding.values.values()]
        assert expected.value in values or any(_holds(value, expected.value) for value in values), told
    others = {f.code for f in findings if f.severity is Severity.ERROR} - {expected.code, *expected.also}
    assert others == set()


def _holds(value: object, wanted: object) -> bool:
    return isinstance(value, tuple) and wanted in value


def test_there_are_ninety_nine_and_nine_of_them_kill() -> None:
    assert len({case.name for case in BROKEN_CASES}) == 99
    assert len(KILLERS) == 9


@pytest.mark.parametrize("case", BROKEN_CASES, ids=named)
def test_it_is_read_within_a_second_and_never_raises(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    before = time.perf_counter()
    inspect_path(broken[case.name])
    assert time.perf_counter() - before < SECONDS_MOST


@pytest.mark.parametrize("case", cases_of(Witness.HEADER), ids=named)
def test_the_header_tells_the_cause(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    assert_told(case, inspect_path(broken[case.name]).findings)


@pytest.mark.engine
@pytest.mark.parametrize("case", cases_of(Witness.ENGINE), ids=named)
def test_the_dry_run_tells_the_cause(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    inspected = inspect_path(broken[case.name])
    assert errors(inspected) == []
    accepted, findings = engine_accepts(inspected.facts.path, inspected.facts.kv_overrides)
    assert accepted is False
    assert_told(case, findings)


@pytest.mark.parametrize("case", cases_of(Witness.TEMPLATE), ids=named)
def test_the_template_is_tried_and_set_aside(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    inspected = inspect_path(broken[case.name])
    assert inspected.findings == ()
    checked = with_template_checked(inspected).inspected
    assert_told(case, checked.findings)
    assert checked.facts.needs_chatml


@pytest.mark.parametrize("case", cases_of(Witness.WEIGHTS), ids=named)
def test_reading_all_weights_tells_the_cause(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    inspected = inspect_path(broken[case.name])
    assert inspected.findings == ()
    assert_told(case, scan_weights(inspected.facts, is_full=True))


@pytest.mark.parametrize("case", cases_of(Witness.NOBODY), ids=named)
def test_what_follows_the_specification_is_not_called_broken(
    case: BrokenCase, broken: Mapping[str, Path]
) -> None:
    assert inspect_path(broken[case.name]).findings == ()


@pytest.mark.engine
@pytest.mark.parametrize("case", KILLERS, ids=named)
def test_no_engine_dies_of_a_killer(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    inspected = inspect_path(broken[case.name])
    if errors(inspected):
        return  # no engine gets it
    assert inspected.facts.kv_overrides
    assert engine_accepts(inspected.facts.path, inspected.facts.kv_overrides) == (True, ())
