"""Values a person chose: told as such, and judged as if they stood in the file."""

from pathlib import Path

import pytest

from app.findings import Finding, FindingCode, Severity
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.repair_facts import RepairChoice
from app.options import KvOverrideValue
from app.texts import LANGUAGES, Texts
from tests.builders import moe_model, u32, write_gguf

A = "qwen3moe"


def inspected_with(
    tmp_path: Path, name: str, value: KvOverrideValue, stored_count: int = 128
) -> InspectedFile:
    keys, tensors = moe_model(A, layers=1, experts=128, used=4)
    keys[f"{A}.expert_count"] = u32(stored_count)
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    return inspect_path(file, RepairChoice(chosen=((f"{A}.{name}", value),)))


def only(inspected: InspectedFile, code: FindingCode) -> Finding:
    (found,) = (finding for finding in inspected.findings if finding.code is code)
    return found


def test_a_choice_is_told_with_what_the_file_says_and_what_is_usual(tmp_path: Path) -> None:
    told = only(inspected_with(tmp_path, "expert_used_count", 2), FindingCode.OVERRIDE_CHOSEN)
    assert told.severity is Severity.NOTE
    assert told.values == {
        "key": f"{A}.expert_used_count",
        "value": 2,
        "found": 4,
        "found_type": "u32",
        "tensors": None,
        "usual": 8,
        "model": "Qwen3-30B-A3B",
    }
    message = Texts("en").finding(told).message
    assert "You chose 2" in message
    assert "The file says 4 (type u32)." in message
    assert "Usual is 8, as in Qwen3-30B-A3B." in message
    assert "cannot be right" not in message


def test_a_choice_against_the_tensors_is_told_once_and_refused(tmp_path: Path) -> None:
    inspected = inspected_with(tmp_path, "expert_count", 64, stored_count=16)
    assert only(inspected, FindingCode.OVERRIDE_CHOSEN).values["tensors"] == 128
    refused = only(inspected, FindingCode.EXPERT_COUNT_MISMATCH)
    assert (refused.severity, refused.values["found"]) == (Severity.ERROR, 64)
    assert not inspected.loadable


def test_the_number_of_the_tensors_may_be_chosen(tmp_path: Path) -> None:
    inspected = inspected_with(tmp_path, "expert_count", 128, stored_count=16)
    assert inspected.loadable
    assert inspected.facts.kv_overrides == ((f"{A}.expert_count", 128),)


@pytest.mark.parametrize(("value", "is_good"), [(0, False), (3, False), (8, True)])
def test_a_choice_that_engines_would_die_of_is_refused(tmp_path: Path, value: int, is_good: bool) -> None:
    inspected = inspected_with(tmp_path, "rope.dimension_count", value)
    assert inspected.loadable is is_good
    if not is_good:
        told = {f.values["key"] for f in inspected.findings if f.severity is Severity.ERROR}
        assert told == {f"{A}.rope.dimension_count"}


def test_a_choice_mends_what_nobody_else_knows(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=1, experts=8, used=2)
    keys[f"{A}.expert_group_count"] = u32(3)
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    assert not inspect_path(file).loadable
    assert inspect_path(file, RepairChoice(chosen=((f"{A}.expert_group_count", 1),))).loadable


def test_a_choice_that_was_switched_off_leaves_a_sound_file_as_it_is(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=1, experts=8, used=2)
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    key = f"{A}.expert_used_count"
    inspected = inspect_path(file, RepairChoice(off=frozenset({key}), chosen=((key, 1),)))
    assert inspected.findings == ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_said_of_what_is_not_known(tmp_path: Path, language: str) -> None:
    told = only(inspected_with(tmp_path, "new_key", 2), FindingCode.OVERRIDE_CHOSEN)
    words = Texts(language).finding(told).message
    assert "—" not in words
    assert f"{A}.new_key" in words
