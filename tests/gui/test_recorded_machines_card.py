"""The card of every recorded machine: few findings at once, each with what helps, and no text cut off."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.engine.engine_on_machine import build_on_machine
from app.findings import Finding, FindingCode, Severity, warning
from app.hardware.facts import HardwareFacts
from app.hardware.recording import read_recording
from app.hardware.verdicts import judge_machine
from app.hardware.verdicts_memory import judge_samples
from app.ui.theme.look import LookSource
from app.ui.views.hardware_card import SHOWN_FINDINGS, HardwareCard
from app.ui.views.hardware_rows import HardwareRow, hardware_rows
from app.ui.widgets.findings_view import FindingRow
from app.ui.widgets.labels import ElidedLabel, TextLabel
from app.ui.window_actions import action_in_window

Show = Callable[[QWidget], None]

MACHINES = Path(__file__).parent.parent / "data" / "machines"
NAMES = sorted(file.stem for file in MACHINES.glob("*.json"))
CARD_WIDTH = 487
"""In a window of 1366 x 768 pixels."""

RAW = re.compile(r"\{|\}|None|“(host|driver|gpus|nvml|drm|windows|runtime|system)”|driver-not-loaded")


def recorded(name: str) -> tuple[HardwareFacts, tuple[Finding, ...]]:
    """Return a machine with its findings, and what its engine adds."""
    recording = read_recording(MACHINES / f"{name}.json")
    facts = recording.facts
    found = list(facts.findings)
    for finding in (*judge_machine(facts), *judge_samples(facts, recording.samples)):
        found += [finding] if finding not in found else []
    facts = replace(facts, findings=tuple(found))
    return facts, build_on_machine(recording.engine, facts).findings


def shown(view: QWidget, kind: type[QWidget]) -> list[QWidget]:
    children = cast("list[QWidget]", view.findChildren(kind))
    return [child for child in children if child.isVisible()]


def card_of(
    looks: LookSource, show: Show, facts: HardwareFacts, of_engine: tuple[Finding, ...]
) -> HardwareCard:
    card = HardwareCard(looks)
    card.show_hardware(facts)
    card.show_engine_findings(of_engine)
    card.setFixedWidth(CARD_WIDTH)
    show(card)
    layout = card.layout()
    assert layout is not None
    card.resize(CARD_WIDTH, layout.totalHeightForWidth(CARD_WIDTH))
    layout.activate()
    return card


@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
def test_every_recorded_machine_has_a_card_that_can_be_read(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    assert len(NAMES) >= 25
    for name in NAMES:
        facts, of_engine = recorded(name)
        card = card_of(looks, show, facts, of_engine)
        findings = [cast(FindingRow, line) for line in shown(card, FindingRow)]
        grave = [f for f in (*facts.findings, *of_engine) if f.severity is not Severity.NOTE]
        assert len(findings) == min(SHOWN_FINDINGS, len({f.code for f in grave})), name
        hidden = len((*facts.findings, *of_engine)) - len(findings)
        assert card.all_button.isVisible() == (hidden > 0), name
        qtbot.waitUntil(partial(has_room, card))
        words = [cast(TextLabel, label).text() for label in shown(card, TextLabel)]
        assert [text for text in words if RAW.search(text)] == [], name
        for finding in grave:
            assert action_in_window(looks.look.texts, finding), (name, finding)
        card.hide()


def cut_texts(card: HardwareCard) -> list[str]:
    """Return the texts that have less height than they need."""
    cut = []
    for label in (cast(TextLabel, label) for label in shown(card, TextLabel)):
        is_line = isinstance(label, ElidedLabel) or not label.wordWrap()
        needed = label.fontMetrics().height() if is_line else label.heightForWidth(label.width())
        cut += [label.text()] if label.height() < needed else []
    return cut


def has_room(card: HardwareCard) -> bool:
    """Return whether every text has the height it needs."""
    return cut_texts(card) == []


def rows_of(looks: LookSource, name: str) -> tuple[HardwareRow, ...]:
    facts, of_engine = recorded(name)
    return hardware_rows(looks.look, replace(facts, findings=(*facts.findings, *of_engine)))


def test_a_part_that_a_finding_names_is_not_called_good(looks: LookSource) -> None:
    verdicts = {
        "rtx-3060-lost-and-3090-64gb": ("ui.hardware.limited", "ui.hardware.good"),
        "two-gpus-one-hidden-64gb": ("ui.hardware.good", "ui.hardware.not_used"),
        "rtx-3060-desktop-full-32gb": ("ui.hardware.limited",),
        "radeon-780m-hip-32gb": ("ui.hardware.limited",),
        "rtx-3090-and-3060-64gb": ("ui.hardware.good", "ui.hardware.good"),
    }
    for name, expected in verdicts.items():
        gpus = [line.verdict_key for line in rows_of(looks, name) if line.icon_name == "gpu"]
        assert tuple(gpus) == expected, name
    lost, *_ = rows_of(looks, "rtx-3060-lost-and-3090-64gb")
    assert lost.detail == "does not answer any more"
    (disk,) = [line for line in rows_of(looks, "no-gpu-16gb") if line.icon_name == "disk"]
    assert disk.is_limited


def test_a_card_that_sleeps_is_said_to_sleep(looks: LookSource) -> None:
    _, sleeping, *_ = rows_of(looks, "optimus-asleep-16gb")
    assert sleeping.detail == "asleep to save energy"


def test_the_drive_shown_is_one_inside_the_computer(looks: LookSource) -> None:
    facts, _ = recorded("no-gpu-five-drives-64gb")
    assert facts.host is not None
    roomiest = max(facts.host.disks, key=lambda disk: disk.free_bytes)
    assert roomiest.is_network
    (line,) = [line for line in rows_of(looks, "no-gpu-five-drives-64gb") if line.icon_name == "disk"]
    assert line.subject != roomiest.mount


def test_what_helps_in_the_window_is_said_and_one_click_away(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    facts, of_engine = recorded("radeon-780m-hip-32gb")
    card = card_of(looks, show, facts, of_engine)
    words = [cast(TextLabel, label).text() for label in shown(card.findings, TextLabel)]
    assert "Choose an engine built with Vulkan, which can use any AMD card." in words
    (button,) = shown(card.findings, QPushButton)
    with qtbot.waitSignal(card.settings_requested):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    failed = warning(FindingCode.PROBE_FAILED, probe="host", detail="OSError: no")
    card.show_hardware(HardwareFacts(None, findings=(failed,)))
    card.show_engine_findings(())
    (button,) = shown(card.findings, QPushButton)
    with qtbot.waitSignal(card.machine_requested):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not card.all_button.isVisible()
