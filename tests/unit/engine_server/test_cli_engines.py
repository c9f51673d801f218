"""`moxie engines`, as a person types it."""

import io
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import engines
from app.cli.context import EXIT_FAILED, EXIT_OK, CliContext, UsageError
from app.engine import packs
from app.engine.packs import PackRecord, SmokeResult, write_record
from app.findings import FindingCode, FindingError
from app.paths import engines_folder, settings_file
from app.settings import Settings, load_settings
from app.texts import Texts
from tests.fake_pack import make_fake_pack

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake engine is a POSIX script")


class _Parser(ArgumentParser):
    def __init__(self, texts: Texts | None = None, **more: str) -> None:
        super().__init__(**more)  # type: ignore[arg-type]  # passed through unseen


class Terminal:
    """A command line with what it printed."""

    def __init__(self, language: str, settings: Settings) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.context = CliContext(Texts(language), settings, self.out, self.err)

    def run(self, *arguments: str) -> int:
        parser = _Parser()
        engines.add_arguments(parser, self.context.texts)
        return engines.run(parser.parse_args(arguments), self.context)


MakeTerminal = Callable[..., Terminal]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> MakeTerminal:
    monkeypatch.setattr(packs, "_worker_is_installed", lambda: False)

    def make(language: str = "en", settings: Settings | None = None) -> Terminal:
        return Terminal(language, settings or Settings())

    return make


def _put(name: str, *, passed: bool | None = True) -> None:
    folder = engines_folder() / name
    make_fake_pack(folder)
    smoke = None if passed is None else SmokeResult(passed, "2026-02-01")
    write_record(folder, PackRecord("x.zip", "2026-01-01", "b1", ("CUDA0", "CPU"), {}, smoke))


def test_the_list_shows_what_is_there(terminal: MakeTerminal) -> None:
    _put("good")
    _put("bad", passed=False)
    _put("new", passed=None)
    screen = terminal()
    assert screen.run("list") == EXIT_OK
    assert screen.out.getvalue().splitlines() == [
        "  bad: failed its self-test; build b1; devices CUDA0, CPU",
        "* good: passed its self-test; build b1; devices CUDA0, CPU",
        "  new: not tested yet; build b1; devices CUDA0, CPU",
    ]


def test_the_list_as_json_holds_the_same(terminal: MakeTerminal) -> None:
    _put("good")
    screen = terminal()
    assert screen.run("list", "--json") == EXIT_OK
    data = json.loads(screen.out.getvalue())
    (entry,) = data["engines"]
    assert entry == {
        "name": "good",
        "backend": "llama-server",
        "path": str(engines_folder() / "good"),
        "build": "b1",
        "devices": ["CUDA0", "CPU"],
        "source": "x.zip",
        "added": "2026-01-01",
        "smoke": {"passed": True, "at": "2026-02-01", "codes": []},
        "is_selected": True,
    }
    assert data["findings"] == []


def test_no_engine_at_all_is_a_finding_with_a_next_step(terminal: MakeTerminal) -> None:
    screen = terminal("zh_CN")
    assert screen.run("list") == EXIT_OK
    assert "moxie engines add" in screen.out.getvalue()
    assert "引擎" in screen.out.getvalue()


def test_a_choice_that_is_gone_is_a_finding(terminal: MakeTerminal) -> None:
    _put("good")
    screen = terminal(settings=Settings(engine="gone"))
    screen.run("list", "--json")
    (finding,) = json.loads(screen.out.getvalue())["findings"]
    assert (finding["code"], finding["values"]) == ("engine-not-found", {"name": "gone", "known": ["good"]})


def test_use_keeps_the_choice_and_the_other_settings(terminal: MakeTerminal) -> None:
    _put("good")
    screen = terminal(settings=Settings(language="zh_CN"))
    assert screen.run("use", "good") == EXIT_OK
    assert load_settings(settings_file()) == (Settings(language="zh_CN", engine="good"), ())


def test_use_warns_of_an_engine_that_has_not_passed(terminal: MakeTerminal) -> None:
    _put("new", passed=None)
    screen = terminal()
    assert screen.run("use", "new") == EXIT_OK
    assert "moxie engines test new" in screen.err.getvalue()


def test_an_unknown_engine_is_not_kept(terminal: MakeTerminal) -> None:
    with pytest.raises(FindingError) as caught:
        terminal().run("use", "nope")
    assert caught.value.finding.code is FindingCode.ENGINE_NOT_FOUND
    assert not settings_file().exists()


def test_a_missing_path_is_bad_usage(terminal: MakeTerminal, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing here"):
        terminal().run("add", str(tmp_path / "nothing here"))


def test_a_pack_that_fails_its_test_is_added_and_said_to_fail(terminal: MakeTerminal, tmp_path: Path) -> None:
    make_fake_pack(tmp_path / "llama b7")
    screen = terminal()
    assert screen.run("add", str(tmp_path / "llama b7"), "--name", "b7") == EXIT_FAILED
    assert "self-test" in screen.out.getvalue()
    assert "Installed the engine b7" in screen.err.getvalue()
    assert [entry.name for entry in packs.list_engines()] == ["b7"]


@pytest.mark.engine
def test_the_real_pack_is_added_tested_and_used(terminal: MakeTerminal, engine_pack: Path) -> None:
    screen = terminal()
    assert screen.run("add", str(engine_pack), "--name", "real") == EXIT_OK
    assert screen.run("test") == EXIT_OK
    assert screen.run("use", "real") == EXIT_OK
    assert screen.err.getvalue().count("Testing the engine real") == 2
    assert "passed its self-test" in screen.out.getvalue()
