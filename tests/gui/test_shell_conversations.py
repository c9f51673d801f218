"""The list of conversations."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.chat.conversation import ConversationSummary
from app.texts import Texts
from app.ui.theme.look import LookSource
from app.ui.views.conversation_groups import GroupRow, group_of, group_starts, matching
from app.ui.views.conversation_list import ConversationList
from app.ui.views.conversation_model import CURRENT_ROLE, ROW_ROLE
from tests.gui.view_builders import NOW, conversations

Show = Callable[[QWidget], QWidget]


@pytest.fixture
def chats(looks: LookSource, show: Show) -> ConversationList:
    """The list with conversations of every group; the first is open."""
    widget = ConversationList(looks, clock=lambda: NOW)
    widget.resize(228, 600)
    show(widget)
    widget.show_conversations(conversations(), 1)
    return widget


def titles(chats: ConversationList) -> list[str]:
    """Return what the rows say, heads in brackets."""
    rows = []
    for number in range(chats.model.rowCount()):
        index = chats.model.index(number)
        is_head = isinstance(index.data(ROW_ROLE), GroupRow)
        rows.append(f"[{index.data()}]" if is_head else str(index.data()))
    return rows


def current(chats: ConversationList) -> int | None:
    """Return the id of the row with the keyboard."""
    chat = chats.model.chat_at(chats.list.currentIndex())
    return chat.summary.id if chat else None


def test_days_fall_into_groups() -> None:
    starts = group_starts(datetime(2026, 11, 30, 12, 0))

    def group(*moment: int) -> str:
        return group_of(datetime(*moment).timestamp(), starts)  # type: ignore[arg-type]

    assert group(2026, 11, 30, 0, 0) == "today"
    assert group(2026, 12, 2) == "today"
    assert group(2026, 11, 29, 23, 59) == "yesterday"
    assert group(2026, 11, 29, 0, 0) == "yesterday"
    assert group(2026, 11, 23) == "week"
    assert group(2026, 11, 22, 23, 59) == "older"


def test_the_newest_stands_first_whatever_order_they_come_in(chats: ConversationList) -> None:
    before = titles(chats)
    chats.show_conversations(tuple(reversed(conversations())), 1)
    assert titles(chats) == before
    assert before[1] == "CSV clean-up script"
    assert before[-2:] == ["[Older]", "Recipe: mapo tofu"]


def test_a_chat_without_title_has_a_name_in_the_language_in_force(
    chats: ConversationList, looks: LookSource
) -> None:
    assert "New chat" in titles(chats)
    looks.set_look(replace(looks.look, texts=Texts("zh_CN")))
    assert "新对话" in titles(chats)
    assert "[更早]" in titles(chats)


def test_search_shows_titles_that_hold_all_words(chats: ConversationList, qtbot: QtBot) -> None:
    with qtbot.waitSignal(chats.search_changed):
        chats.search.setText("LEASE summary")
    assert [t for t in titles(chats) if not t.startswith("[")] == [
        "Summary of the lease, with all the small print"
    ]
    chats.search.setText("为什么")
    assert "为什么 MoE 单机也快？" in titles(chats)
    assert matching(conversations(), "") == conversations()


def test_a_search_without_result_says_so(chats: ConversationList) -> None:
    chats.search.setText("nothing like it")
    assert titles(chats) == []
    assert not chats._empty.isHidden()
    assert "nothing like it" in chats._empty.text()
    chats.search.clear()
    assert chats._empty.isHidden()


def test_no_chats_at_all_say_where_they_will_be(chats: ConversationList) -> None:
    chats.show_conversations((), None)
    assert "stay on this PC" in chats._empty.text()


def test_a_click_and_enter_open(chats: ConversationList, qtbot: QtBot) -> None:
    row = chats.model.row_of(3)
    assert row is not None
    box = chats.list.visualRect(chats.model.index(row))
    with qtbot.waitSignal(chats.opened) as opened:
        QTest.mouseClick(chats.list.viewport(), Qt.MouseButton.LeftButton, pos=box.center())
    assert opened.args == [3]
    qtbot.keyClick(chats.list, Qt.Key.Key_Down)
    with qtbot.waitSignal(chats.opened) as opened:
        qtbot.keyClick(chats.list, Qt.Key.Key_Return)
    assert opened.args == [4]


def test_arrows_pass_the_heads_of_groups_by(chats: ConversationList, qtbot: QtBot) -> None:
    chats.list.setFocus()
    seen = [current(chats)]
    for _ in range(5):
        qtbot.keyClick(chats.list, Qt.Key.Key_Down)
        seen.append(current(chats))
    assert seen == [1, 2, 3, 4, 5, 6]


def test_delete_asks_nothing(chats: ConversationList, qtbot: QtBot) -> None:
    chats.list.setFocus()
    with qtbot.waitSignal(chats.delete_requested) as deleted:
        qtbot.keyClick(chats.list, Qt.Key.Key_Delete)
    assert deleted.args == [1]


def test_f2_renames_in_place(chats: ConversationList, qtbot: QtBot) -> None:
    chats.list.setFocus()
    qtbot.keyClick(chats.list, Qt.Key.Key_F2)
    editor = chats.list.findChild(QLineEdit)
    assert editor is not None
    assert editor.text() == "CSV clean-up script"
    editor.setText("  清洗 CSV  ")
    with qtbot.waitSignal(chats.rename_requested) as renamed:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert renamed.args == [1, "清洗 CSV"]


def test_escape_leaves_the_title_as_it_was(chats: ConversationList, qtbot: QtBot) -> None:
    asked: list[object] = []
    chats.rename_requested.connect(lambda *args: asked.append(args))
    chats.list.setFocus()
    qtbot.keyClick(chats.list, Qt.Key.Key_F2)
    editor = chats.list.findChild(QLineEdit)
    assert editor is not None
    editor.setText("other")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert asked == []


def test_news_wait_while_a_title_is_edited(chats: ConversationList, qtbot: QtBot) -> None:
    chats.list.setFocus()
    qtbot.keyClick(chats.list, Qt.Key.Key_F2)
    editor = chats.list.findChild(QLineEdit)
    assert editor is not None
    newer = (ConversationSummary(9, "Newer", 1, NOW), *conversations())
    chats.show_conversations(newer, 9)
    assert "Newer" not in titles(chats)
    assert editor.isVisible()
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert "Newer" in titles(chats)


def test_the_menu_names_what_the_keys_do(chats: ConversationList, qtbot: QtBot) -> None:
    row = chats.model.row_of(2)
    assert row is not None
    menu = chats.menu_for(chats.model.index(row))
    assert [action.text() for action in menu.actions()] == ["Open", "Rename", "Delete"]
    with qtbot.waitSignal(chats.delete_requested) as deleted:
        menu.actions()[2].trigger()
    assert deleted.args == [2]


def test_the_search_leads_on_to_the_list(chats: ConversationList, qtbot: QtBot) -> None:
    chats.focus_search()
    chats.search.setText("mapo")
    qtbot.keyClick(chats.search, Qt.Key.Key_Down)
    assert chats.list.hasFocus()
    with qtbot.waitSignal(chats.opened) as opened:
        qtbot.keyClick(chats.list, Qt.Key.Key_Return)
    assert opened.args == [6]


def test_a_row_is_read_with_title_time_and_size(chats: ConversationList) -> None:
    row = chats.model.row_of(6)
    assert row is not None
    spoken = chats.model.index(row).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Recipe: mapo tofu" in spoken
    assert "12 messages" in spoken


def test_another_open_chat_resets_nothing(chats: ConversationList, qtbot: QtBot) -> None:
    resets: list[bool] = []
    chats.model.modelReset.connect(lambda: resets.append(True))
    chats.show_conversations(conversations(), 3)
    row = chats.model.row_of(3)
    assert row is not None
    assert chats.model.index(row).data(CURRENT_ROLE) is True
    assert resets == []


def test_two_thousand_chats_cost_no_more_than_a_frame(chats: ConversationList) -> None:
    many = tuple(ConversationSummary(n, f"Chat {n}", 4, NOW - n * 3000) for n in range(2000))
    begin = time.process_time()
    chats.show_conversations(many, 5)
    assert time.process_time() - begin <= 3 * 0.016
