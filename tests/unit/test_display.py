"""Whether a window can be shown is known before Qt is asked."""

import sys
from pathlib import Path

import pytest

from app.__main__ import names_no_subcommand
from app.display import has_display, missing_library


@pytest.mark.skipif(sys.platform == "win32", reason="Windows always has a display")
@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"])
def test_a_display_is_named_by_its_variable(name: str) -> None:
    assert has_display({name: "x"})
    assert not has_display({name: ""})
    assert not has_display({})


@pytest.mark.skipif(sys.platform != "linux", reason="Linux plugins")
def test_a_library_that_is_missing_is_named_as_the_loader_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "PySide6"
    (package / "Qt" / "plugins" / "platforms").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "Qt" / "plugins" / "platforms" / "libqxcb.so").write_bytes(b"not a library")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "PySide6"]:
        monkeypatch.delitem(sys.modules, name)
    assert "libqxcb.so" in (missing_library({"DISPLAY": ":0"}) or "")
    assert missing_library({"WAYLAND_DISPLAY": "wayland-0"}) is None


def test_a_path_that_is_there_or_nothing_is_for_the_window(tmp_path: Path) -> None:
    model = tmp_path / "a.gguf"
    assert not names_no_subcommand([str(model)])
    model.touch()
    assert names_no_subcommand([])
    assert names_no_subcommand([str(model)])
    assert names_no_subcommand([str(tmp_path)])
    assert not names_no_subcommand([str(model), "--prompt"])
    assert not names_no_subcommand(["--version"])


def test_a_subcommand_stays_one_beside_a_file_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan").touch()
    monkeypatch.chdir(tmp_path)
    assert not names_no_subcommand(["plan"])
