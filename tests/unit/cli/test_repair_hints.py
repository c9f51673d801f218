"""`moxie inspect` names the command that mends a file, and only where there is one."""

import io
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.context import CliContext
from app.cli.main import main
from app.cli.repair_hints import RepairHints, as_argument, print_file_findings
from app.findings import FindingCode
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.repair_facts import RepairChoice
from app.settings import Settings
from app.texts import LANGUAGES, Texts
from tests.builders import Keys, moe_model, u32, write_gguf
from tests.models.broken import BROKEN_CASES

A = "qwen3moe"
USED = f"{A}.expert_used_count"


def model(tmp_path: Path, **changed: int | None) -> Path:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    for name, number in changed.items():
        _change(keys, f"{A}.{name}", number)
    folder = tmp_path / "my models"
    folder.mkdir(exist_ok=True)
    return write_gguf(folder / "模型 m.gguf", keys, tensors)


def _change(keys: Keys, key: str, number: int | None) -> None:
    if number is None:
        keys.pop(key)
    else:
        keys[key] = u32(number)


def action(inspected: InspectedFile, code: FindingCode) -> str | None:
    (found,) = (finding for finding in inspected.findings if finding.code is code)
    return RepairHints(inspected, Texts("en")).action(found)


def test_a_missing_count_names_the_command_with_the_file_and_the_key(tmp_path: Path) -> None:
    file = model(tmp_path, expert_used_count=None)
    told = action(inspect_path(file), FindingCode.EXPERT_USED_COUNT_MISSING)
    assert told is not None
    assert told.endswith(f"moxie repair {as_argument(file)} --set {USED}=VALUE")
    assert "—" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="shells of other systems")
def test_the_file_is_quoted_for_the_shell(tmp_path: Path) -> None:
    file = tmp_path / "it's $HOME; b.gguf"
    assert shlex.split(f"moxie repair {as_argument(file)}") == ["moxie", "repair", str(file)]


def test_what_only_a_copy_mends_names_the_command(tmp_path: Path) -> None:
    case = next(case for case in BROKEN_CASES if case.name == "key-duplicated")
    file = case.write(tmp_path)
    told = action(inspect_path(file), FindingCode.METADATA_DUPLICATE)
    assert told is not None
    assert told.endswith(f"moxie repair {as_argument(file)}")


def test_what_is_mended_at_load_says_how_that_is_switched_off_and_on(tmp_path: Path) -> None:
    file = model(tmp_path, expert_count=16)
    told = action(inspect_path(file), FindingCode.EXPERT_COUNT_MISMATCH)
    assert told is not None
    assert told.endswith("--without-override")
    off = inspect_path(file, RepairChoice(off=frozenset({f"{A}.expert_count"})))
    told = action(off, FindingCode.OVERRIDE_OFF)
    assert told is not None
    assert told.endswith("--with-override")


def test_a_choice_can_be_switched_off(tmp_path: Path) -> None:
    inspected = inspect_path(model(tmp_path), RepairChoice(chosen=((USED, 1),)))
    told = action(inspected, FindingCode.OVERRIDE_CHOSEN)
    assert told is not None
    assert told.endswith("--without-override")


def test_a_file_that_no_repair_makes_load_names_none(tmp_path: Path) -> None:
    file = model(tmp_path, expert_used_count=None)
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size - 100)
    inspected = inspect_path(file)
    assert FindingCode.FILE_INCOMPLETE in {finding.code for finding in inspected.findings}
    assert action(inspected, FindingCode.EXPERT_USED_COUNT_MISSING) is None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("options", [[], ["--recursive"]])
def test_inspect_names_the_next_step(
    tmp_path: Path, language: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model(tmp_path, expert_used_count=None)
    assert main(["inspect", str(file), *options, "--lang", language]) == 0
    assert f"moxie repair {as_argument(file)}" in capsys.readouterr().out


def test_the_gravest_finding_comes_first(tmp_path: Path) -> None:
    inspected = inspect_path(model(tmp_path, expert_count=16, context_length=None))
    out = io.StringIO()
    context = CliContext(Texts("en"), Settings(), out, io.StringIO())
    print_file_findings(reversed(inspected.findings), inspected, context)
    words = [line.partition(":")[0] for line in out.getvalue().splitlines()]
    assert words == sorted(words, key=["Error", "Warning", "Note"].index)
    assert len(words) > 1


def test_one_file_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", str(model(tmp_path))])
    assert "files" not in capsys.readouterr().out


def test_parts_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in BROKEN_CASES if "shard" in case.name or "split" in case.name)
    file = case.write(tmp_path)
    inspected = inspect_path(file)
    main(["inspect", str(file)])
    shown = capsys.readouterr().out
    assert (f"in {len(inspected.facts.files)} files" in shown) is (len(inspected.facts.files) > 1)


def test_a_finding_without_a_repair_keeps_its_own_action(tmp_path: Path) -> None:
    inspected = inspect_path(model(tmp_path))
    hints = RepairHints(inspected, Texts("en"))
    (finding,) = inspect_path(tmp_path / "absent.gguf").findings
    assert hints.action(replace(finding)) is None
