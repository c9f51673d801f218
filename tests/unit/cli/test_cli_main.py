"""Bad usage is one sentence and exit 2, never a traceback, in the person's language."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.main import SUBCOMMANDS, main

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "arguments",
    [[], ["fly"], ["inspect"], ["plan"], ["inspect", "--no-such-flag", "x"], ["--lang", "tlh", "doctor"]],
)
def test_bad_usage_is_one_sentence_on_stderr(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "Traceback" not in printed.err


def test_the_complaint_is_in_the_language_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lang", "zh_CN", "fly"]) == 2
    assert "魔匣" in capsys.readouterr().err
    assert main(["fly", "--lang=zh_CN"]) == 2
    assert "魔匣" in capsys.readouterr().err


@pytest.mark.parametrize("subcommand", ["inspect", "plan"])
def test_a_missing_path_is_exit_2(
    subcommand: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([subcommand, str(tmp_path / "没有.gguf")]) == 2
    printed = capsys.readouterr()
    assert len(printed.err.splitlines()) == 1
    assert "没有.gguf" in printed.err


@pytest.mark.parametrize("given", ["/no/such.gguf", "such.GGUF", "no/such"])
def test_a_path_instead_of_a_subcommand_is_missing_and_no_invalid_choice(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([given, "--lang", "en"]) == 2
    assert capsys.readouterr().err == f"There is no file or folder at '{given}'.\n"


def test_the_help_names_the_window_and_has_the_languages_own_colons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--lang", "zh_CN", "--help"])
    printed = capsys.readouterr().out
    assert printed.startswith("用法：moxie ")
    assert "参数：\n" in printed
    assert "选项：\n" in printed
    assert "MODEL.gguf" in printed


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_every_subcommand_explains_itself_in_both_languages(
    subcommand: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for language in ("en", "zh_CN"):
        with pytest.raises(SystemExit) as ended:
            main([subcommand, "--lang", language, "--help"])
        assert ended.value.code == 0
        assert "--lang" in capsys.readouterr().out


def test_the_program_starts_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app", "--version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Moxie ")


def test_a_data_folder_that_cannot_be_made_is_a_warning_of_the_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path / "file" / "home"))
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    (finding,) = (f for f in findings if f["code"] == "store-read-only")
    assert finding["severity"] == "warning"
    assert finding["values"]["path"] == str(tmp_path / "file" / "home")
