"""`moxie inspect --recursive`: a line per model, as it is read."""

import argparse
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli import inspect
from app.cli.context import CliContext, UsageError
from app.findings import FindingError
from app.paths import source_root
from app.settings import Settings
from app.texts import Texts
from tests.builders import moe_model, write_gguf, write_shards

MODEL = moe_model("qwen3moe", layers=3)


def run(*arguments: str, language: str = "en") -> tuple[str, str]:
    """Run the subcommand; return what it prints as results and beside them."""
    texts = Texts(language)
    parser = argparse.ArgumentParser()
    inspect.add_arguments(parser, texts)
    out, err = io.StringIO(), io.StringIO()
    context = CliContext(texts, Settings(), out, err)
    assert inspect.run(parser.parse_args(["--recursive", *arguments]), context) == 0
    return out.getvalue(), err.getvalue()


def one(file: Path) -> dict[str, Any]:
    """Return what the subcommand says to this file alone."""
    texts, out = Texts("en"), io.StringIO()
    parser = argparse.ArgumentParser()
    inspect.add_arguments(parser, texts)
    inspect.run(parser.parse_args([str(file), "--json"]), CliContext(texts, Settings(), out, io.StringIO()))
    document: dict[str, Any] = json.loads(out.getvalue())
    return document | {"chat_template": None}  # a folder's templates are not tried


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write_shards(tmp_path / "deep" / "er", "Big", *MODEL, (10, 20))
    write_gguf(tmp_path / "Klein ☃.gguf", *MODEL)
    (tmp_path / "page.gguf").write_text("<html>")
    return tmp_path


def test_each_line_is_what_inspect_says_to_that_model(models: Path) -> None:
    out, err = run(str(models), "--json")
    said = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert [Path(document["path"]).name for document in said] == [
        "Klein ☃.gguf",
        "page.gguf",
        "Big-00001-of-00003.gguf",
    ]
    assert said == [one(Path(document["path"])) for document in said]


@pytest.mark.parametrize(("language", "count"), [("en", "3 models"), ("zh_CN", "3 个模型")])
def test_a_person_gets_lines_and_a_count(models: Path, language: str, count: str) -> None:
    out, _ = run(str(models), language=language)
    assert "Big-00001-of-00003.gguf" in out and "Big-00002" not in out
    assert count in out.splitlines()[-1]


def test_a_folder_without_models_is_no_failure(tmp_path: Path) -> None:
    assert run(str(tmp_path), "--json") == ("", "")
    assert "0 models" in run(str(tmp_path))[0]


def test_a_missing_folder_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        run(str(tmp_path / "gone"), "--json")


def test_a_file_is_answered_as_the_folder_of_itself(models: Path) -> None:
    out, _ = run(str(models / "Klein ☃.gguf"), "--json")
    assert [json.loads(out)] == [one(models / "Klein ☃.gguf")]


def test_a_folder_that_cannot_be_listed_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("app.library.model_files.os.scandir", refuse)
    with pytest.raises(FindingError, match="access-denied"):
        run(str(tmp_path))


def test_lines_come_while_the_rest_is_read_and_ctrl_c_ends_it(models: Path) -> None:
    for number in range(400):
        write_gguf(models / f"z{number}.gguf", *MODEL)
    with start(models) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["kind"] == "model"
        process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert b"Traceback" not in err
        assert process.returncode == (130 if sys.platform != "win32" else process.returncode)


def test_a_reader_that_leaves_ends_it_without_a_word(models: Path) -> None:
    for number in range(400):
        write_gguf(models / f"z{number}.gguf", *MODEL)
    with start(models) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


def start(folder: Path) -> "subprocess.Popen[bytes]":
    """Start the program on a folder, its pipes open."""
    command = [sys.executable, "-m", "app", "inspect", "--recursive", str(folder), "--json"]
    return subprocess.Popen(
        command, cwd=source_root(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
