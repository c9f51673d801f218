"""Where the keyboard is when messages go away."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme.look import LookSource
from app.ui.views.chat_view import ChatView
from app.ui.widgets.buttons import IconButton
from tests.gui.chat_texts import conversation

Show = Callable[[QWidget], QWidget]


@pytest.fixture
def view(looks: LookSource, show: Show) -> ChatView:
    made = ChatView(looks)
    made.resize(800, 700)
    show(made)
    return made


def settle() -> None:
    for _ in range(40):
        QApplication.processEvents()


def focus_foot(view: ChatView, message_id: int) -> IconButton:
    """Put the keyboard on a button of a message, its beginning scrolled out above."""
    messages = view.message_list
    bar = messages.verticalScrollBar()
    widget = messages.widgets[message_id]
    bar.setValue(bar.value() + widget.y() + widget.height() - 60)
    settle()
    found: list[Any] = list(widget.findChildren(IconButton))
    button: IconButton = next(each for each in found if each.isVisibleTo(widget))
    button.setFocus()
    settle()
    assert button.hasFocus()
    return button


@pytest.mark.parametrize("row", range(6, 20))
def test_answering_an_earlier_question_again_leaves_the_keyboard_in_the_list(
    view: ChatView, qtbot: QtBot, row: int
) -> None:
    items = conversation(20)
    view.show_items(items)
    settle()
    view.message_list.verticalScrollBar().setValue(0)
    for _ in range(60):
        if items[row].id in view.message_list.widgets:
            break
        bar = view.message_list.verticalScrollBar()
        bar.setValue(bar.value() + 300)
        settle()
    button = focus_foot(view, items[row].id)
    button.clicked.connect(lambda: view.show_items(items[: row - 4]))
    with qtbot.captureExceptions() as raised:
        button.click()
        settle()
    assert raised == []
    assert view.message_list.hasFocus()
    assert set(view.message_list.widgets) <= {item.id for item in items[: row - 4]}


def test_deleting_a_message_leaves_the_keyboard_in_the_list(view: ChatView, qtbot: QtBot) -> None:
    items = conversation(8)
    view.show_items(items)
    settle()
    button = focus_foot(view, items[-2].id)
    button.clicked.connect(lambda: view.remove_item(items[-2].id))
    with qtbot.captureExceptions() as raised:
        button.click()
        settle()
    assert raised == []
    assert view.message_list.hasFocus()


def test_scrolling_far_away_takes_the_keyboard_from_no_control(view: ChatView) -> None:
    view.show_items(conversation(60))
    settle()
    button = focus_foot(view, max(view.message_list.widgets))
    view.message_list.verticalScrollBar().setValue(0)
    settle()
    assert button.hasFocus()
    assert view.message_list.verticalScrollBar().value() == 0
