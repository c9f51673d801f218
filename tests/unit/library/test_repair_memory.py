"""Decisions about single files: kept, honoured, bounded, and set aside when damaged."""

import os
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.gguf.repair_facts import NO_CHOICE, RepairChoice
from app.library.repair_memory import FILES_KEPT, RepairMemory, inspect_remembered
from app.paths import repairs_file
from tests.builders import moe_model, u32, write_gguf

A = "qwen3moe"
COUNT = f"{A}.expert_count"
OFF = RepairChoice(off=frozenset({COUNT}))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys[COUNT] = u32(16)
    return write_gguf(tmp_path / "模型.gguf", keys, tensors)


def test_a_decision_is_found_again_and_honoured(model: Path) -> None:
    assert inspect_remembered(model).facts.kv_overrides == ((COUNT, 8),)
    assert RepairMemory().remember(model, OFF) == ()
    inspected = inspect_remembered(model)
    assert inspected.facts.kv_overrides == ()
    assert not inspected.loadable
    off = [f for f in inspected.findings if f.severity is Severity.ERROR]
    assert [(f.code, f.values["value"]) for f in off] == [(FindingCode.OVERRIDE_OFF, 8)]


def test_switching_on_again_forgets_the_file(model: Path) -> None:
    memory = RepairMemory()
    memory.remember(model, OFF)
    memory.remember(model, NO_CHOICE)
    assert memory.choice_for(model) == NO_CHOICE
    assert inspect_remembered(model).loadable


def test_a_chosen_value_is_told_at_load(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=9)
    path = write_gguf(tmp_path / "m.gguf", keys, tensors)
    assert not inspect_remembered(path).loadable
    RepairMemory().remember(path, RepairChoice(chosen=((f"{A}.expert_used_count", 2),)))
    inspected = inspect_remembered(path)
    assert inspected.loadable
    assert inspected.facts.kv_overrides == ((f"{A}.expert_used_count", 2),)
    assert inspected.facts.expert_used_count == 2


def test_a_file_that_was_replaced_is_another_one(model: Path) -> None:
    memory = RepairMemory()
    memory.remember(model, OFF)
    os.utime(model, ns=(1, 1))
    assert memory.choice_for(model) == NO_CHOICE


def test_only_the_last_files_are_kept(tmp_path: Path) -> None:
    memory = RepairMemory(tmp_path / "repairs.json")
    files = []
    for number in range(FILES_KEPT + 1):
        file = tmp_path / f"{number}.gguf"
        file.touch()
        files.append(file)
        memory.remember(file, OFF)
    assert memory.choice_for(files[0]) == NO_CHOICE
    assert memory.choice_for(files[1]) == OFF


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"files": 3}', b"\xff", b"[" * 100_000],
    ids=["0", "cut", "list", "no", "ff", "deep"],
)
def test_a_damaged_file_decides_nothing_and_is_kept_aside(model: Path, content: bytes) -> None:
    repairs_file().write_bytes(content)
    memory = RepairMemory()
    assert memory.choice_for(model) == NO_CHOICE
    (finding,) = memory.remember(model, OFF)
    assert finding.code is FindingCode.SETTINGS_SET_ASIDE
    assert Path(str(finding.values["kept_as"])).read_bytes() == content
    assert memory.choice_for(model) == OFF


def test_nonsense_in_an_entry_is_left_out(model: Path) -> None:
    memory = RepairMemory()
    memory.remember(model, OFF)
    file = repairs_file()
    off = f'[\n    "{COUNT}"\n   ]'
    text = file.read_text()
    assert off in text
    file.write_text(
        text.replace(off, '[3, null, "a"]').replace('"chosen": {}', '"chosen": {"b": [], "c": 1}')
    )
    assert memory.choice_for(model) == RepairChoice(frozenset({"a"}), (("c", 1),))
