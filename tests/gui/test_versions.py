"""Versions of a message: one is shown, the others are a key away, and the choice is kept."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme.look import Look, LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_view import ChatView
from app.ui.views.version_switch import VersionSwitch
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import TextLabel
from tests.controller_setup import ChatDesk, write_model
from tests.gui.look_names import LOOK_NAMES
from tests.gui.page_parts import clipped

Show = Callable[[QWidget], QWidget]
QUESTION = MessageItem(1, "user", "How do I read it?", version=2, version_count=2)
ANSWER = MessageItem(2, "assistant", "So.", finish_reason="stop", version=2, version_count=3)


@pytest.fixture
def ready(qtbot: QtBot, tmp_path: Path) -> Iterator[ChatDesk]:
    desk = ChatDesk(qtbot, tmp_path / "home")
    desk.chat.start()
    desk.load(write_model(tmp_path))
    yield desk
    desk.close()


def texts_of(desk: ChatDesk) -> list[str]:
    return [text for _, text in desk.shown]


def places_of(desk: ChatDesk) -> list[tuple[int, int]]:
    return [(item.version, item.version_count) for item in desk.items.values()]


def first_id(desk: ChatDesk) -> int:
    return next(iter(desk.items))


def asked_twice(desk: ChatDesk) -> None:
    """Leave two versions of the first question, the older one with two more messages."""
    desk.ask("one")
    desk.ask("two")
    desk.chat.edit(first_id(desk), "uno")
    desk.answered()


def test_the_older_version_comes_with_all_that_followed_it(ready: ChatDesk) -> None:
    asked_twice(ready)
    assert (texts_of(ready), places_of(ready)) == (["uno", "uno"], [(2, 2), (1, 1)])
    ready.chat.show_version(first_id(ready), -1)
    assert texts_of(ready) == ["one", "one", "two", "two"]
    assert places_of(ready)[0] == (1, 2)
    ready.chat.show_version(first_id(ready), -1)  # there is none before
    ready.chat.show_version(first_id(ready), 1)
    assert texts_of(ready) == ["uno", "uno"]


def test_the_version_shown_is_kept_and_what_is_said_next_goes_on_from_it(ready: ChatDesk) -> None:
    asked_twice(ready)
    ready.chat.show_version(first_id(ready), -1)
    ready.saved()
    chat_id = ready.ids[0]
    ready.chat.new_chat()
    ready.chat.open_chat(chat_id)
    ready.wait(lambda: len(ready.items) == 4)
    ready.ask("three")
    assert texts_of(ready) == ["one", "one", "two", "two", "three", "three"]
    ready.saved()
    ready.chat.new_chat()
    ready.chat.open_chat(chat_id)
    ready.wait(lambda: len(ready.items) == 6)
    assert ready.last.text == "three"


def test_a_regenerated_answer_is_one_of_several_and_undo_shows_the_one_before(ready: ChatDesk) -> None:
    ready.ask("one")
    for _ in range(2):
        ready.chat.regenerate(ready.last.id)
        ready.answered()
    assert places_of(ready) == [(1, 1), (3, 3)]
    ready.chat.show_version(ready.last.id, -1)
    ready.chat.show_version(ready.last.id, -1)
    oldest = ready.last.id
    ready.chat.regenerate(oldest)
    ready.answered()
    ready.undos[-1]()
    assert (ready.last.id, places_of(ready)[-1]) == (oldest, (1, 3))


def test_deleting_the_end_of_an_older_version_stays_in_it(ready: ChatDesk) -> None:
    asked_twice(ready)
    ready.chat.show_version(first_id(ready), -1)
    ready.chat.delete_message(ready.last.id)
    assert texts_of(ready) == ["one", "one", "two"]
    ready.undos[-1]()
    assert texts_of(ready) == ["one", "one", "two", "two"]


def test_while_an_answer_comes_no_other_version_is_shown(ready: ChatDesk) -> None:
    asked_twice(ready)
    ready.chat.send("/slow " + "word " * 200)
    ready.chat.show_version(first_id(ready), -1)
    assert ready.hints == ["ui.chat.version_busy"]
    assert texts_of(ready)[0] == "uno"
    ready.chat.stop()
    ready.answered()


@pytest.fixture
def view(looks: LookSource, show: Show) -> ChatView:
    made = ChatView(looks)
    made.resize(800, 500)
    show(made)
    made.show_items((QUESTION, ANSWER))
    return made


def switch_of(view: ChatView, message_id: int) -> VersionSwitch:
    return view.message_list.widgets[message_id].foot.versions


def parts_of(view: ChatView, message_id: int) -> tuple[IconButton, str, IconButton]:
    switch = switch_of(view, message_id)
    before, after = cast("list[IconButton]", switch.findChildren(IconButton))
    (label,) = cast("list[TextLabel]", switch.findChildren(TextLabel))
    return before, label.text(), after


def test_both_sides_say_which_version_they_are(view: ChatView, qtbot: QtBot) -> None:
    before, words, after = parts_of(view, 1)
    assert (before.isEnabled(), words, after.isEnabled()) == (True, "2 / 2", False)
    before, words, after = parts_of(view, 2)
    assert (before.isEnabled(), words, after.isEnabled()) == (True, "2 / 3", True)
    assert (before.accessibleName(), after.accessibleName()) == ("Version before", "Next version")
    assert switch_of(view, 2).isVisible()
    with qtbot.waitSignal(view.version_requested) as asked:
        QTest.mouseClick(after, Qt.MouseButton.LeftButton)
    assert asked.args == [2, 1]


def test_a_message_of_one_version_has_no_switch(view: ChatView) -> None:
    view.show_items((replace(ANSWER, version=1, version_count=1),))
    assert view.message_list.widgets[2].findChildren(VersionSwitch) == []


def test_by_keyboard_the_focus_stays_on_the_switch(view: ChatView, qtbot: QtBot) -> None:
    before, _, _ = parts_of(view, 2)
    before.setFocus()
    with qtbot.waitSignal(view.version_requested):
        QTest.keyClick(before, Qt.Key.Key_Space)
    view.show_items((QUESTION, replace(ANSWER, id=5, version=1)))
    view.message_list.come_back_to(5)
    at_first, _, after = parts_of(view, 5)
    assert not at_first.isEnabled()
    assert after.hasFocus()


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
@pytest.mark.parametrize("zoom", [1.0, 2.0])
def test_the_switch_is_not_clipped(looks: LookSource, show: Show, zoom: float) -> None:
    look = looks.look
    looks.set_look(Look(look.colors, look.texts, zoom))
    view = ChatView(looks)
    view.resize(620, 500)
    show(view)
    view.show_items((QUESTION, ANSWER))
    for message_id in (1, 2):
        foot = view.message_list.widgets[message_id].foot
        assert clipped(foot) == []
        assert foot.rect().contains(foot.versions.geometry())
