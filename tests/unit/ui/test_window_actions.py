"""In the window no finding sends anybody to a command line where the window has a way of its own."""

import json
import re

import pytest

from app.engine.packs import list_engines
from app.findings import FindingCode, error, note
from app.hardware.facts import HardwareFacts
from app.paths import resource_path
from app.planner.facts import Wishes
from app.texts import LANGUAGES, Texts
from app.ui.machine_text import machine_text
from app.ui.views.finding_actions import finding_actions
from app.ui.window_actions import action_in_window
from tests.gui.view_builders import hardware

COMMAND_ONLY = {
    FindingCode.ENGINE_MISSING,  # engine packs are added on the command line
    FindingCode.ENGINE_FLAVOUR_UNFIT,
    FindingCode.PACK_NAME_INVALID,
    FindingCode.PACK_NAME_TAKEN,
    FindingCode.RECORDING_INVALID,
}
"""Nothing in the window leads to these, or mends them yet."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_windows_sentences_name_no_command(language: str) -> None:
    texts = Texts(language)
    naming = []
    for code in FindingCode:
        own = texts.text(f"finding.{code.value}.action")
        if re.search(r"moxie |--[a-z]", own) and code not in COMMAND_ONLY:
            naming.append(action_in_window(texts, error(code)))
    assert len(naming) >= 8
    assert [said for said in naming if re.search(r"moxie |--[a-z]", said)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_machine_is_said_as_the_doctor_says_it(language: str) -> None:
    texts = Texts(language)
    machine = hardware()
    failed = note(FindingCode.PROBE_FAILED, probe="gpus", detail="OSError: 故意")
    said = machine_text(texts, HardwareFacts(machine.host, machine.driver, machine.gpus, (failed,)), ())
    for part in ("RTX 4070", "581.42", "Ryzen 7 7700", "32.0 GB", "C:", "Windows 11", "OSError: 故意"):
        assert part in said
    engines = list_engines(None)
    assert engines[0].name in machine_text(texts, HardwareFacts(None), engines)


def test_a_plan_without_gpu_offers_the_machine() -> None:
    finding = note(FindingCode.PLAN_WITHOUT_GPU)
    words = finding_actions((finding,), Wishes())[FindingCode.PLAN_WITHOUT_GPU]
    assert Texts("en").text(words.key) == "Show what this PC has"


def test_no_word_of_the_window_says_please() -> None:
    catalogue = json.loads(resource_path("i18n", "zh_CN.json").read_text(encoding="utf-8"))
    said = [key for key, text in catalogue.items() if key.startswith("ui.") and re.search("请(?!求)", text)]
    assert said == []
