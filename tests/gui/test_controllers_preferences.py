"""Settings and look in step."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.findings import Finding, FindingCode
from app.options import SamplingOptions
from app.settings import RECENT_MODELS_KEPT, Settings, load_settings
from app.ui.bridge import Bridge
from app.ui.controllers.preferences import Preferences
from app.ui.tasks import SerialTasks
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import DARK, LIGHT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[SerialTasks]:
    tasks = SerialTasks(Bridge(), "settings")
    yield tasks
    assert tasks.finish(5.0)


@pytest.fixture
def preferences(file: Path, tasks: SerialTasks) -> Preferences:
    return Preferences(file, tasks)


def test_a_change_is_told_at_once_and_saved_a_moment_later(
    preferences: Preferences, file: Path, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(preferences.changed, timeout=100):
        preferences.set(theme="dark", engine="worker")
    preferences.set_sampling(SamplingOptions(temperature=0.1, seed=3))
    preferences.set_system_prompt("简短回答")
    assert not file.exists()
    qtbot.waitUntil(file.exists, timeout=5000)
    qtbot.waitUntil(lambda: load_settings(file) == (preferences.settings, ()), timeout=5000)


def test_the_same_value_again_is_no_change(preferences: Preferences, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(preferences.changed, wait=20):
        preferences.set(theme="system")


def test_what_waits_is_saved_at_the_end(preferences: Preferences, tasks: SerialTasks, file: Path) -> None:
    preferences.set(window_geometry="AdnQ")
    preferences.save_now()
    assert tasks.finish(5.0)
    assert load_settings(file)[0].window_geometry == "AdnQ"


def test_the_look_follows_theme_language_zoom_and_system(preferences: Preferences) -> None:
    is_dark = [False]
    preferences.set(language="en")
    looks = LookSource(preferences.look(is_system_dark=False))
    preferences.attach(looks, lambda: is_dark[0])
    assert (looks.look.colors, looks.look.texts.language) == (LIGHT, "en")
    is_dark[0] = True
    preferences.update_look()
    assert looks.look.colors == DARK
    preferences.set(theme="light", language="zh_CN", zoom=1.5, reduced_motion=True)
    assert (looks.look.colors, looks.look.zoom, looks.look.reduced_motion) == (LIGHT, 1.5, True)
    assert looks.look.is_chinese


def test_texts_are_read_again_only_for_another_language(preferences: Preferences) -> None:
    preferences.set(language="en")
    looks = LookSource(preferences.look(is_system_dark=False))
    preferences.attach(looks, lambda: False)
    texts = looks.look.texts
    preferences.set(theme="dark")
    assert looks.look.texts is texts


def test_recent_models_are_newest_first_each_once_and_not_endless(preferences: Preferences) -> None:
    for number in range(RECENT_MODELS_KEPT + 3):
        preferences.add_recent_model(Path(f"{number}.gguf"))
    preferences.add_recent_model(Path("5.gguf"))
    recent = preferences.settings.recent_models
    assert len(recent) == RECENT_MODELS_KEPT
    assert recent[0] == "5.gguf"
    assert recent.count("5.gguf") == 1
    assert preferences.settings.last_model == "5.gguf"


def test_a_file_that_cannot_be_written_is_told(tasks: SerialTasks, tmp_path: Path, qtbot: QtBot) -> None:
    preferences = Preferences(tmp_path / "gone" / "settings.json", tasks)
    told: list[Finding] = []
    preferences.store_failed.connect(told.append)
    preferences.set(theme="dark")
    qtbot.waitUntil(lambda: bool(told), timeout=5000)
    assert told[0].code is FindingCode.STORE_READ_ONLY
    assert preferences.settings.theme == "dark"


def test_a_bad_file_gives_defaults_and_says_so(file: Path, tasks: SerialTasks) -> None:
    file.write_text("{", encoding="utf-8")
    preferences = Preferences(file, tasks)
    assert preferences.settings == Settings()
    assert [finding.code for finding in preferences.findings] == [FindingCode.SETTINGS_INVALID]
