"""Odd paths, names, numbers and folders end in one sentence and the status that fits, whatever is asked."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.context import CliContext, one_line
from app.cli.main import main
from app.cli.streams import ProgressStream, ResultStream
from app.findings import FindingCode, note
from app.paths import data_folder, settings_file
from app.settings import Settings, save_settings
from app.texts import Texts
from tests.builders import moe_model, text, write_gguf
from tests.fake_pack import make_fake_pack
from tests.pipes import make_pipe
from tests.small_disks import read_only_disk

TINY = Path(__file__).resolve().parents[3] / "resources" / "selftest" / "tiny-moe.gguf"
LONG = "n" * 300
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")


@pytest.fixture
def read_only_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with read_only_disk(tmp_path) as folder:
        monkeypatch.setenv("MOXIE_HOME", str(folder))
        yield folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    "arguments",
    [
        *(("inspect", str(TINY)), ("plan", str(TINY), "--ram", "4GiB"), ("engines", "list")),
        *(("doctor",), ("engines", "list", "--json"), ("inspect", str(TINY), "--json")),
    ],
)
def test_what_only_reads_works_on_a_read_only_data_folder(
    read_only_home: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert read_only_home.is_dir()
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert out


def test_the_doctor_says_that_the_data_folder_is_read_only(
    read_only_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "doctor", "--json")
    found = {f["code"]: f for f in json.loads(out)["findings"]}
    assert found["store-read-only"]["values"]["path"] == str(read_only_home)


@posix_only
def test_what_writes_says_why_it_cannot(
    read_only_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = make_fake_pack(tmp_path / "a pack").folder
    for arguments in (("engines", "use", "worker"), ("engines", "add", str(pack))):
        status, _, err = run(capsys, *arguments)
        assert status == 1
        assert str(read_only_home) in err.splitlines()[-1]
    target = read_only_home / "machine.json"
    status, _, err = run(capsys, "doctor", "--save", str(target))
    assert status == 1
    assert str(target) in err


@pytest.mark.parametrize(
    "arguments",
    [
        *(("inspect", LONG), ("plan", LONG), ("chat", LONG, "--prompt", "x"), ("engines", "add", LONG)),
        *(("doctor", "--replay", LONG), ("doctor", "--save", LONG), ("plan", str(TINY), "--machine", LONG)),
    ],
)
def test_a_name_no_file_can_have_is_a_missing_path(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert len(err.splitlines()) == 1
    assert LONG in err


@pytest.mark.parametrize(
    "arguments",
    [
        *(("inspect", ""), ("plan", ""), ("chat", "", "--prompt", "x"), ("engines", "use", "")),
        *(("engines", "add", ""), ("engines", "test", ""), ("chat", "--engine=", "--prompt", "x")),
        *(("doctor", "--save", ""), ("doctor", "--replay="), ("plan", str(TINY), "--machine=")),
        ("engines", "add", str(TINY), "--name="),
    ],
)
def test_an_empty_value_is_bad_usage(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert "empty" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("option", ["--moe", "--context"])
@pytest.mark.parametrize("value", ["9" * 5000, "-1", "1.5", "many", "", "٣"])
@pytest.mark.parametrize("subcommand", ["plan", "chat"])
def test_a_number_nobody_can_mean_is_the_same_sentence_everywhere(
    capsys: pytest.CaptureFixture[str], subcommand: str, option: str, value: str
) -> None:
    more = ("--prompt", "x") if subcommand == "chat" else ()
    status, _, err = run(capsys, subcommand, str(TINY), f"{option}={value}", *more)
    assert status == 2
    assert len(err.splitlines()) == 1
    assert len(err) < 200


@pytest.mark.parametrize("option", ["--max-tokens", "--seed", "--threads", "--temperature"])
def test_a_huge_number_of_a_chat_is_bad_usage(capsys: pytest.CaptureFixture[str], option: str) -> None:
    status, _, err = run(capsys, "chat", str(TINY), "--prompt", "x", option, "9" * 5000)
    assert status == 2
    assert option in err


@posix_only
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_only_regular_files_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    odd = Path("/dev/zero")
    if kind == "pipe":
        odd = tmp_path / "a pipe"
        make_pipe(odd)
    started = time.process_time()
    for expected, *arguments in (
        *((0, "inspect", str(odd), "--json"), (0, "plan", str(odd), "--ram", "1GiB")),
        *((1, "chat", str(odd), "--prompt", "x"), (1, "engines", "add", str(odd))),
        *((1, "plan", str(TINY), "--machine", str(odd)), (1, "doctor", "--replay", str(odd))),
        (1, "doctor", "--save", str(odd)),
    ):
        status, out, err = run(capsys, *map(str, arguments))
        assert status == expected
        assert "not-a-file" in out or "not a regular file" in out + err
    assert time.process_time() - started < 5
    if kind == "pipe":
        assert odd.is_fifo()


@posix_only
def test_settings_that_are_a_pipe_are_a_warning_and_never_replaced(
    data_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_home.mkdir()
    make_pipe(settings_file())
    status, _, err = run(capsys, "engines", "list")
    assert status == 0
    assert "settings.json" in err
    status, _, err = run(capsys, "engines", "use", "worker")
    assert status == 1
    assert settings_file().is_fifo()


def test_a_bad_recording_ends_the_same_way_in_plan_and_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}", encoding="utf-8")
    ends = [
        run(capsys, *a)
        for a in (("plan", str(TINY), "--machine", str(bad)), ("doctor", "--replay", str(bad)))
    ]
    assert [status for status, _, _ in ends] == [1, 1]
    assert ends[0][2] == ends[1][2]


def test_echo_can_be_tried_and_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "engines", "use", "echo")
    assert status == 1
    assert "echo" in err
    assert not settings_file().exists()


def test_a_relative_data_folder_is_the_same_for_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOXIE_HOME", "here")
    assert data_folder() == tmp_path / "here"


def test_nothing_a_file_says_steers_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys, tensors = moe_model("qwen3moe", layers=2)
    keys["general.name"] = text("\x1b]0;owned\x07\nError: all is lost\x9b31m\u202e")
    folder = tmp_path / "a\x1b[31mb"
    file = write_gguf(folder / "m.gguf", keys, tensors)
    for arguments in (
        ("inspect", str(file)),
        ("plan", str(file), "--ram", "1GiB"),
        ("inspect", str(folder / "no")),
    ):
        _, out, err = run(capsys, *arguments)
        assert not set(out + err) & set("\x1b\x07\x9b\u202e")
        assert not any(line.startswith("Error: all") for line in out.splitlines())
    _, out, _ = run(capsys, "inspect", str(file), "--json")
    assert json.loads(out)["name"] == keys["general.name"].content
    assert not set(out) & set("\x1b\x07\x9b")


def test_findings_and_sentences_go_through_the_same_guard(capsys: pytest.CaptureFixture[str]) -> None:
    context = CliContext(Texts("en"), Settings(), ResultStream(sys.stdout), ProgressStream(sys.stderr))
    context.print_findings([note(FindingCode.PATH_MISSING, path="a\x1b[2Jb\nc")])
    context.tell("cli.engines.testing", name="x\x1by")
    printed = capsys.readouterr()
    assert "a\ufffd[2Jb\ufffdc" in printed.out
    assert "x\ufffdy" in printed.err
    assert one_line("魔匣 …") == "魔匣 …"


@posix_only
def test_json_names_a_path_that_is_no_text_so_that_it_can_be_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / os.fsdecode(b"m\xff\xfe.gguf")
    file.write_bytes(TINY.read_bytes())
    _, out, _ = run(capsys, "inspect", str(file), "--json")
    assert "\\udcff" in out
    assert Path(json.loads(out)["path"]).read_bytes() == TINY.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("inspect",), ("缺少", "PATH")),
        (("fly",), ("“fly”不在可选值之内", "inspect")),
        (("plan", "x", "--kv", "q9"), ("--kv：“q9”不在可选值之内",)),
        (("plan", "x", "--vram"), ("--vram：后面必须有一个值",)),
        (("doctor", "--no-such"), ("没有 --no-such 这个参数",)),
        (("inspect", "x", "--json=1"), ("--json：它不带值",)),
        (("inspect", ""), ("PATH：值为空",)),
        (("engines",), ("缺少", "ACTION")),
    ],
)
def test_bad_usage_is_explained_in_chinese(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    status, _, err = run(capsys, *arguments, "--lang=zh_CN")
    assert status == 2
    assert all(word in err for word in words), err


def test_damaged_settings_are_kept_when_an_engine_is_chosen(
    data_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_home.mkdir()
    damaged = '{"language": "en", "system_prompt": "mine",}'
    settings_file().write_text(damaged, encoding="utf-8")
    status, _, err = run(capsys, "engines", "use", "worker")
    assert status == 0
    (kept,) = data_home.glob("settings-damaged-*.json")
    assert kept.read_text(encoding="utf-8") == damaged
    assert str(kept) in err


def test_other_errors_of_the_system_are_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device", "/some/where")

    save_settings(settings_file(), Settings())
    monkeypatch.setattr("app.cli.doctor.detect_this_machine", fails)
    status, _, err = run(capsys, "doctor")
    assert status == 1
    assert err.startswith("Error: /some/where could not be saved")
