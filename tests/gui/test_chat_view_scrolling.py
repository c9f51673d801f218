"""Two thousand messages: few widgets, no jumps, everything by keyboard."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.markdown.text_view import TextView
from app.ui.theme.look import LookSource
from app.ui.views.chat_view import ChatView
from app.ui.widgets.buttons import IconButton
from tests.gui.chat_texts import conversation

Show = Callable[[QWidget], QWidget]
WIDGETS_MAX = 60


@pytest.fixture
def view(looks: LookSource, show: Show) -> ChatView:
    made = ChatView(looks)
    made.resize(800, 700)
    show(made)
    return made


def settle(view: ChatView) -> None:
    for _ in range(40):
        QApplication.processEvents()


def places(view: ChatView) -> dict[int, int]:
    """Where each message in sight begins."""
    height = view.message_list.viewport().height()
    return {
        key: w.y()
        for key, w in view.message_list.widgets.items()
        if w.y() < height and w.y() + w.height() > 0
    }


def test_two_thousand_messages_open_at_once_with_few_widgets(view: ChatView) -> None:
    items = conversation(2_000)
    view.show_items(conversation(20))
    settle(view)
    began = time.process_time()
    view.show_items(items)
    QApplication.processEvents()
    assert time.process_time() - began <= 3 * 0.3
    settle(view)
    assert len(view.message_list.widgets) <= WIDGETS_MAX
    bar = view.message_list.verticalScrollBar()
    assert bar.value() == bar.maximum()
    assert 2_000 in view.message_list.widgets


@pytest.mark.parametrize("step", [-48, -131])
def test_scrolling_up_moves_everything_by_the_same_step(view: ChatView, step: int) -> None:
    view.show_items(conversation(300))
    settle(view)
    bar = view.message_list.verticalScrollBar()
    for _ in range(120):
        before = places(view)
        bar.setValue(bar.value() + step)
        after = places(view)
        moved = {after[key] - before[key] for key in before if key in after}
        assert moved == {-step}
        QApplication.processEvents()
        assert {key: y for key, y in places(view).items() if key in after} == after


def test_messages_in_sight_touch_and_do_not_overlap(view: ChatView) -> None:
    view.show_items(conversation(300))
    bar = view.message_list.verticalScrollBar()
    for value in (0, bar.maximum() // 3, bar.maximum() // 2, bar.maximum()):
        bar.setValue(value)
        settle(view)
        rows = sorted((w.y(), w.height()) for w in view.message_list.widgets.values() if w.isVisible())
        assert rows
        for (y, height), (next_y, _) in pairwise(rows):
            assert y + height <= next_y
        covered = [y for y, height in rows if y + height > 0 and y < view.height()]
        assert min(covered) <= 0


def test_scrolling_through_all_keeps_widgets_few(view: ChatView) -> None:
    view.show_items(conversation(400))
    bar = view.message_list.verticalScrollBar()
    seen = set(places(view))
    while bar.value() > 0:
        bar.setValue(bar.value() - bar.pageStep())
        QApplication.processEvents()
        seen |= set(places(view))
        assert len(view.message_list.widgets) <= WIDGETS_MAX
    assert seen == set(range(1, 401))


def test_a_narrower_window_keeps_the_message_that_is_read(view: ChatView) -> None:
    view.show_items(conversation(200))
    bar = view.message_list.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view)
    first = min(places(view), key=lambda key: abs(places(view)[key]))
    before = places(view)[first]
    view.resize(520, 700)
    settle(view)
    assert first in places(view)
    assert abs(places(view)[first] - before) < 150
    assert all(w.width() == 520 - 10 - 2 * 26 for w in view.message_list.widgets.values() if w.isVisible())


def test_a_larger_text_relays_everything(view: ChatView, looks: LookSource) -> None:
    view.show_items(conversation(30))
    settle(view)
    before = view.message_list.widgets[30].height()
    looks.set_look(replace(looks.look, zoom=2.0))
    settle(view)
    bar = view.message_list.verticalScrollBar()
    assert view.message_list.widgets[30].height() > 1.3 * before
    assert bar.value() == bar.maximum()


def test_keys_scroll(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(conversation(100))
    bar = view.message_list.verticalScrollBar()
    end = bar.value()
    view.setFocus()
    qtbot.keyClick(view.message_list, Qt.Key.Key_Up)
    assert bar.value() < end
    one_up = places(view)
    qtbot.keyClick(view.message_list, Qt.Key.Key_PageUp)
    assert set(places(view)) != set(one_up)
    qtbot.keyClick(view.message_list, Qt.Key.Key_Home)
    assert bar.value() == 0
    qtbot.keyClick(view.message_list, Qt.Key.Key_PageDown)
    assert bar.value() > 0
    qtbot.keyClick(view.message_list, Qt.Key.Key_End)
    assert bar.value() == bar.maximum()


def test_tab_reaches_the_actions_in_order_and_shows_them(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(conversation(30))
    view.message_list.verticalScrollBar().setValue(0)
    settle(view)
    view.message_list.setFocus()
    reached: list[int] = []
    for _ in range(12):
        focus = QApplication.focusWidget()
        assert focus is not None
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        owner = next(
            key for key, w in view.message_list.widgets.items() if now is not None and w.isAncestorOf(now)
        )
        reached.append(owner)
        if isinstance(now, IconButton):
            assert (
                view.message_list.widgets[owner].foot.are_actions_visible
                or now.accessibleName() == "Copy code"
            )
            corner = now.mapTo(view.message_list.viewport(), QPoint())
            assert 0 <= corner.y() <= view.message_list.viewport().height()
    assert reached == sorted(reached)
    assert len(set(reached)) > 2


def test_tab_leaves_the_list_at_its_end(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    page = QWidget()
    view, box = ChatView(looks), QLineEdit()
    box.setMinimumHeight(34)
    layout = QVBoxLayout(page)
    layout.addWidget(view)
    layout.addWidget(box)
    page.resize(800, 700)
    show(page)
    view.show_items(conversation(2))
    settle(view)
    view.message_list.setFocus()
    for _ in range(20):
        focus = QApplication.focusWidget()
        if focus is box or focus is None:
            break
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    assert box.hasFocus()
    qtbot.keyClick(box, Qt.Key.Key_Backtab)
    focus = QApplication.focusWidget()
    assert focus is not None
    assert view.isAncestorOf(focus)


def test_actions_of_older_messages_appear_under_the_mouse(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(conversation(4))
    settle(view)
    older, newest = view.message_list.widgets[2], view.message_list.widgets[4]
    assert newest.foot.are_actions_visible
    assert not older.foot.are_actions_visible
    older.foot.set_hovered(is_hovered=True)
    assert older.foot.are_actions_visible


def test_selected_text_is_copied_from_the_list_too(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(conversation(2))
    settle(view)
    texts: list[Any] = list(view.message_list.widgets[1].findChildren(TextView))
    qtbot.mouseDClick(texts[0], Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
    view.message_list.setFocus()
    qtbot.keyClick(view.message_list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Question"
