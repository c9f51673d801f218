"""No answer, whatever it holds, keeps the GUI thread busy for long at once."""

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_view import ChatView
from tests.unit.ui.test_markdown_segments import TEXTS, table

TURN_SECONDS = 0.05
PAINT_SECONDS = 0.016
SLACK = 3
TURNS_MAX = 100_000


def draw(view: ChatView, text: str) -> float:
    """Show one answer until it is drawn; return what the longest turn of the event loop cost."""
    costs = []
    started = time.thread_time()
    view.append_item(MessageItem(1, "assistant", text, finish_reason="stop"))
    costs.append(time.thread_time() - started)
    for _ in range(TURNS_MAX):
        if not view.message_list.widgets[1].is_building:
            break
        started = time.thread_time()
        QApplication.processEvents()
        costs.append(time.thread_time() - started)
    started = time.thread_time()
    QApplication.processEvents()
    costs.append(time.thread_time() - started)
    return max(costs)


@pytest.fixture
def view(looks: LookSource, show: Callable[[QWidget], QWidget]) -> ChatView:
    view = ChatView(looks)
    view.resize(800, 700)
    show(view)
    draw(view, "warm")
    clear(view)
    return view


def clear(view: ChatView) -> None:
    view.show_items(())
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.mark.parametrize("name", ["ordered", "wide table", "lines"])
def test_a_long_answer_is_drawn_in_short_turns(view: ChatView, name: str) -> None:
    longest = []
    for _ in range(3):  # the least of three: other programs cost a turn its cache, never save it work
        longest.append(draw(view, TEXTS[name]))
        clear(view)
    assert min(longest) <= TURN_SECONDS * SLACK


def test_a_table_of_a_thousand_cells_is_scrolled_without_a_halt(view: ChatView) -> None:
    draw(view, table(8, 120))
    bar = view.message_list.verticalScrollBar()
    costs = []
    for place in range(0, bar.maximum(), max(1, bar.maximum() // 10)):
        started = time.thread_time()
        bar.setValue(place)
        view.repaint()
        costs.append(time.thread_time() - started)
    assert sorted(costs)[len(costs) // 2] <= PAINT_SECONDS * SLACK
