"""`moxie repair`: shows, asks, writes; never the original."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.gguf.inspect_file import inspect_path
from app.library.repair_check import CopyCheck
from tests.builders import moe_model, u32, write_gguf
from tests.models.broken import BROKEN_CASES

A = "qwen3moe"


@pytest.fixture
def without_used(tmp_path: Path) -> Path:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys.pop(f"{A}.expert_used_count")
    return write_gguf(tmp_path / "模型 m.gguf", keys, tensors)


@pytest.fixture
def wrong_count(tmp_path: Path) -> Path:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys[f"{A}.expert_count"] = u32(16)
    return write_gguf(tmp_path / "m.gguf", keys, tensors)


def answer_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def codes(document: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in document["findings"]]


def test_a_plan_shows_every_byte_and_writes_nothing(
    without_used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(without_used), "--set", "expert_used_count=2", "--plan", "--json"]) == 0
    document = answer_of(capsys)
    copy = document["copy"]
    assert copy["ready"]
    assert copy["target"].endswith("模型 m.repaired.gguf")
    content = without_used.read_bytes()
    for change in copy["byte_changes"]:
        before = bytes.fromhex(change["before"])
        assert content[change["offset"] :].startswith(before)
    assert document["written"] is None
    assert [file.name for file in without_used.parent.glob("*.gguf*")] == [without_used.name]


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_what_nobody_knows_leaves_no_empty_brackets(
    without_used: Path, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["repair", str(without_used), "--plan", "--lang", language])
    shown = capsys.readouterr().out
    assert f"{A}.expert_used_count" in shown
    assert not re.search(r"[(（]\s*[)）]", shown)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_what_nobody_knows_is_not_told_as_a_dash(
    without_used: Path, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["repair", str(without_used), "--lang", language, "--plan"])
    shown = capsys.readouterr().out
    assert f"--set {A}.expert_used_count" in shown
    assert "—" not in shown
    assert "Known models" not in shown
    assert "已知模型" not in shown


def test_a_value_known_models_have_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys, tensors = moe_model(A, layers=1, experts=128, used=2)
    keys.pop(f"{A}.expert_used_count")
    main(["repair", str(write_gguf(tmp_path / "m.gguf", keys, tensors)), "--plan"])
    assert "Known models of this kind use 8 (Qwen3-30B-A3B)." in capsys.readouterr().out


def test_a_key_that_comes_twice_is_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in BROKEN_CASES if case.name == "key-duplicated")
    main(["repair", str(case.write(tmp_path)), "--plan"])
    assert f"{A}.expert_count is there more than once" in capsys.readouterr().out


def test_a_value_nobody_knows_is_asked_for(without_used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(without_used), "--yes", "--json"]) == 1
    document = answer_of(capsys)
    assert codes(document) == ["repair-value-needed"]
    assert document["copy"]["undecided"] == [f"{A}.expert_used_count"]
    assert document["written"] is None


@pytest.mark.parametrize(
    "pair",
    [
        *("expert_used_count=9", "expert_used_count=0", "expert_used_count=x", "two", "=2"),
        *("general.alignment=7", "general.alignment=64", "split.count=2", "split.tensors.count=9"),
    ],
)
def test_a_value_that_does_not_fit_is_bad_usage(without_used: Path, pair: str) -> None:
    assert main(["repair", str(without_used), "--set", pair, "--yes"]) == 2


def test_a_value_for_a_copy_is_not_given_to_the_original(
    wrong_count: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["repair", str(wrong_count), "--copy", "--set", "block_count=1", "--json"])
    capsys.readouterr()
    main(["inspect", str(wrong_count), "--json"])
    assert f"{A}.block_count" not in answer_of(capsys)["kv_overrides"]


def test_without_a_terminal_and_without_yes_nothing_is_written(
    without_used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(without_used), "--set", "expert_used_count=2"]) == 0
    assert "--yes" in capsys.readouterr().err
    assert [file.name for file in without_used.parent.glob("*.gguf*")] == [without_used.name]


def test_a_copy_that_works_stays(
    without_used: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "app.cli.repair.check_copy", lambda path, _ram: CopyCheck(inspect_path(path), True, 4)
    )
    before = hashlib.sha256(without_used.read_bytes()).hexdigest()
    out = without_used.with_name("new.gguf")
    asked = [
        "repair",
        str(without_used),
        "--set",
        "expert_used_count=2",
        "--out",
        str(out),
        "--yes",
        "--json",
    ]
    assert main(asked) == 0
    document = answer_of(capsys)
    assert document["written"] == str(out)
    assert document["check"] == {"passed": True, "engine_accepts": True, "decoded_tokens": 4}
    assert inspect_path(out).findings == ()
    assert hashlib.sha256(without_used.read_bytes()).hexdigest() == before
    assert main(asked) == 1
    assert codes(answer_of(capsys)) == ["repair-target-exists"]


def test_a_copy_that_does_not_work_goes(
    without_used: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.findings import FindingCode, error

    failure = error(FindingCode.REPAIR_NOT_VERIFIED, path="x", reason="no-answer")
    monkeypatch.setattr(
        "app.cli.repair.check_copy", lambda path, _ram: CopyCheck(inspect_path(path), True, None, failure)
    )
    assert main(["repair", str(without_used), "--set", "expert_used_count=2", "--yes", "--json"]) == 1
    assert answer_of(capsys)["written"] is None
    assert [file.name for file in without_used.parent.glob("*.gguf*")] == [without_used.name]


def test_an_override_is_switched_off_and_on_for_every_later_load(
    wrong_count: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(wrong_count), "--json"]) == 0
    assert answer_of(capsys)["kv_overrides"] == {f"{A}.expert_count": 8}
    assert main(["repair", str(wrong_count), "--without-override", "--json"]) == 1
    assert codes(answer_of(capsys)) == ["override-off"]
    main(["inspect", str(wrong_count), "--json"])
    document = answer_of(capsys)
    assert (document["kv_overrides"], document["loadable"]) == ({}, False)
    assert main(["repair", str(wrong_count), "--with-override", "--json"]) == 0
    capsys.readouterr()
    main(["inspect", str(wrong_count), "--json"])
    assert answer_of(capsys)["loadable"]


def test_a_sound_file_has_nothing_to_mend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_gguf(tmp_path / "m.gguf", *moe_model(A, layers=2, experts=8, used=2))
    assert main(["repair", str(path)]) == 0
    assert "nothing to mend" in capsys.readouterr().out
    assert main(["repair", str(tmp_path / "absent.gguf")]) == 2
