"""The PC stays awake while it works, and only then."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QProcess
from pytestqt.qtbot import QtBot

from app.ui.keep_awake import KeepAwake, NoInhibitor, SystemdInhibitor, system_inhibitor

FAKE_SYSTEMD_INHIBIT = """#!/bin/sh
echo "$@" > "{folder}/arguments"
while [ "$1" != cat ]; do shift; done
"$@"
echo ended > "{folder}/ended"
"""


class FakeInhibitor:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def hold(self) -> None:
        self.said.append("hold")

    def release(self) -> None:
        self.said.append("release")

    def close(self) -> None:
        self.said.append("close")


def test_an_answer_holds_once_and_its_end_releases() -> None:
    inhibitor = FakeInhibitor()
    awake = KeepAwake(inhibitor)
    for is_working in (False, True, True, False, False, True):
        awake.set_working(is_working=is_working)
    assert inhibitor.said == ["hold", "release", "hold"]
    awake.close()
    assert inhibitor.said[3:] == ["release", "close"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for systemd's program")
def test_the_child_of_systemd_lives_from_hold_to_release(qtbot: QtBot, tmp_path: Path) -> None:
    program = tmp_path / "systemd-inhibit"
    program.write_text(FAKE_SYSTEMD_INHIBIT.format(folder=tmp_path))
    program.chmod(0o755)
    inhibitor = SystemdInhibitor(str(program), "an answer 回答")
    inhibitor.hold()
    qtbot.waitUntil((tmp_path / "arguments").exists)
    assert not (tmp_path / "ended").exists()
    inhibitor.release()
    qtbot.waitUntil((tmp_path / "ended").exists)
    inhibitor.close()
    words = (tmp_path / "arguments").read_text()
    assert "--what=idle:sleep" in words
    assert "--why=an answer 回答" in words


@pytest.mark.skipif(sys.platform == "win32", reason="Linux")
def test_a_child_that_cannot_start_costs_nothing(qtbot: QtBot) -> None:
    inhibitor = SystemdInhibitor("/nowhere/systemd-inhibit", "x")
    inhibitor.hold()
    process = inhibitor._process
    assert process is not None
    qtbot.waitUntil(lambda: process.state() is QProcess.ProcessState.NotRunning)
    inhibitor.release()
    inhibitor.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Linux")
def test_a_system_without_systemd_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert isinstance(system_inhibitor("x"), NoInhibitor)
