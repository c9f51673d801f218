"""An answer while it streams: nothing lost, nothing slower for its length, nothing moved that is read."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.chat.conversation import MessageState
from app.chat.reasoning import PieceKind
from app.ui.markdown.code_view import CodeView
from app.ui.markdown.text_view import TextView
from app.ui.theme.look import LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_view import ChatView
from app.ui.views.composer import Composer
from tests.gui.chat_texts import FIGURES, conversation, long_answer

Show = Callable[[QWidget], QWidget]
TOKENS = 8_000
TOKENS_PER_PAINT = 7
"""What arrives in 33 ms at 200 tokens a second, rounded up."""
QUESTION = MessageItem(1, "user", "Write a lot.")
EMPTY = MessageItem(2, "assistant", "", state=MessageState.PARTIAL, is_streaming=True)


@pytest.fixture
def view(looks: LookSource, show: Show) -> ChatView:
    made = ChatView(looks)
    made.resize(800, 700)
    show(made)
    return made


def finished(text: str, **changes: object) -> MessageItem:
    values: dict[str, object] = {"finish_reason": "stop", "figures": FIGURES, **changes}
    return MessageItem(2, "assistant", text, **values)  # type: ignore[arg-type]


def drawn(view: ChatView, message_id: int = 2) -> str:
    children: list[Any] = list(view.message_list.widgets[message_id].findChildren(TextView))
    texts = [child for child in children if child.isVisible()]
    texts.sort(key=lambda text: text.mapTo(view, text.rect().topLeft()).y())
    return "\n".join(text.document.toPlainText() for text in texts)


def stream(view: ChatView, text: str, kind: PieceKind = PieceKind.ANSWER) -> None:
    view.stream_text(2, kind, text)


def painted(view: ChatView, qtbot: QtBot, text: str) -> None:
    qtbot.waitUntil(lambda: text in drawn(view), timeout=2_000)


def test_streamed_text_is_plain_until_the_end(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    stream(view, "Some **bo")
    stream(view, "ld** text\n\n```py\nx")
    painted(view, qtbot, "Some **bold** text\n\n```py\nx")
    view.finish_item(finished("Some **bold** text\n\n```py\nx"))
    qtbot.waitUntil(lambda: "**" not in drawn(view))
    assert len(list(view.message_list.widgets[2].findChildren(CodeView))) == 1


def test_eight_thousand_tokens_cost_the_same_at_the_end_and_none_is_lost(
    view: ChatView, looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    composer = Composer(looks)
    show(composer)
    view.show_items((*conversation(0), QUESTION, EMPTY))
    tokens = list(long_answer(TOKENS))
    seconds: list[float] = []
    for start in range(0, TOKENS, 1000):
        began = time.process_time()
        for number in range(start, start + 1000, TOKENS_PER_PAINT):
            for token in tokens[number : min(number + TOKENS_PER_PAINT, start + 1000)]:
                stream(view, token)
            composer.box.insertPlainText("typed ")
            view.paint_now()
            QApplication.processEvents()
        seconds.append(time.process_time() - began)
    assert seconds[-1] <= 3 * seconds[0], seconds
    # 1000 tokens are 5 s of an answer at 200 a second: the share of one core
    assert max(seconds) / 5.0 <= 0.6, seconds
    whole = "".join(tokens)
    assert view.model.item(1).text == whole
    view.finish_item(finished(whole))
    assert view.model.item(1).text == whole
    qtbot.waitUntil(lambda: not view.message_list.widgets[2].is_building, timeout=20_000)
    assert composer.text() == "typed " * (8 * 143)


def test_the_drawn_text_is_the_sum_of_the_pieces(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    whole = "".join(long_answer(4_000))
    for start in range(0, len(whole), 37):
        stream(view, whole[start : start + 37])
    qtbot.waitUntil(lambda: drawn(view) == whole, timeout=5_000)


def test_one_endless_line_streams_too(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    for _ in range(300):
        stream(view, "x" * 100)
    qtbot.waitUntil(lambda: drawn(view).count("x") == 30_000, timeout=5_000)


def test_an_open_fence_at_the_end_leaves_the_next_message_alone(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    stream(view, "```python\nx = 1")
    view.finish_item(finished("```python\nx = 1"))
    view.append_item(MessageItem(3, "user", "and now?"))
    view.append_item(MessageItem(4, "assistant", "**done**", finish_reason="stop"))
    qtbot.waitUntil(lambda: drawn(view, 4) == "done")
    assert drawn(view, 3) == "and now?"


def test_the_end_is_followed(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(
        (
            *conversation(20),
            MessageItem(100, "user", "q"),
            MessageItem(200, "assistant", "", is_streaming=True),
        )
    )
    bar = view.message_list.verticalScrollBar()
    for _ in range(50):
        view.stream_text(200, PieceKind.ANSWER, "a line\n")
        view.paint_now()
        assert bar.value() == bar.maximum()
    assert view.message_list.follows


def test_who_scrolls_up_stays_there_while_the_answer_goes_on(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((*conversation(20), MessageItem(200, "assistant", "", is_streaming=True)))
    for _ in range(40):
        view.stream_text(200, PieceKind.ANSWER, "a line\n")
    view.paint_now()
    bar = view.message_list.verticalScrollBar()
    bar.setValue(bar.value() - 1_300)
    QApplication.processEvents()
    height = view.message_list.viewport().height()
    before = {key: w.y() for key, w in view.message_list.widgets.items() if -w.height() < w.y() < height}
    assert len(before) > 1
    for _ in range(60):
        view.stream_text(200, PieceKind.ANSWER, "another line\n")
        view.paint_now()
        QApplication.processEvents()
    whole = view.model.item(view.model.rowCount() - 1).text
    view.finish_item(MessageItem(200, "assistant", whole, finish_reason="stop"))
    for _ in range(50):
        QApplication.processEvents()
    assert {key: view.message_list.widgets[key].y() for key in before} == before


def test_the_button_leads_back_to_the_end(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(conversation(40))
    bar = view.message_list.verticalScrollBar()
    assert not view.jump_button.isVisible()
    bar.setValue(bar.value() - 500)
    assert view.jump_button.isVisible()
    view.jump_button.click()
    assert bar.value() == bar.maximum()
    assert not view.jump_button.isVisible()


def test_a_question_brings_the_end_into_sight(view: ChatView) -> None:
    view.show_items(conversation(40))
    bar = view.message_list.verticalScrollBar()
    bar.setValue(0)
    view.append_item(MessageItem(100, "user", "new"))
    assert bar.value() == bar.maximum()


def test_reasoning_comes_before_the_answer_and_is_timed(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    stream(view, "thinking hard", PieceKind.REASONING)
    view.paint_now()
    assert "thinking hard" not in drawn(view)
    stream(view, "The answer")
    view.paint_now()
    view.finish_item(finished("The answer", reasoning="thinking hard"))
    item = view.model.item(1)
    assert item.reasoning_seconds is not None
    assert item.reasoning == "thinking hard"
    assert drawn(view) == "The answer"


def test_text_that_turns_out_to_be_reasoning_moves(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    stream(view, "plan of the answer")
    view.paint_now()
    assert "plan" in drawn(view)
    stream(view, "", PieceKind.MOVED)
    stream(view, "Hi")
    view.paint_now()
    assert drawn(view) == "Hi"
    assert view.model.item(1).reasoning == "plan of the answer"


def test_pieces_for_a_message_out_of_sight_are_kept(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((MessageItem(2, "assistant", "start", is_streaming=True), *conversation(0)))
    view.show_items((MessageItem(2, "assistant", "start ", is_streaming=True), *(_renumbered(200))))
    assert 2 not in view.message_list.widgets
    stream(view, "end")
    view.paint_now()
    view.message_list.verticalScrollBar().setValue(0)
    assert drawn(view) == "start end"


def _renumbered(count: int) -> tuple[MessageItem, ...]:
    return tuple(MessageItem(item.id + 1_000, item.role, item.text) for item in conversation(count))


def test_pieces_of_a_closed_conversation_are_ignored(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    stream(view, "late")
    view.show_items((MessageItem(9, "user", "other"),))
    stream(view, "later")
    view.paint_now()
    assert drawn(view, 9) == "other"


def test_a_message_that_is_removed_is_gone_and_a_stranger_is_no_error(view: ChatView) -> None:
    view.show_items(conversation(6))
    view.remove_item(6)
    view.remove_item(77)
    assert view.model.rowCount() == 5
    assert 6 not in view.message_list.widgets


def test_a_piece_is_not_drawn_twice_when_its_message_comes_into_sight(
    view: ChatView, looks: LookSource
) -> None:
    view.show_items((MessageItem(2, "assistant", "start ", is_streaming=True), *_renumbered(200)))
    stream(view, "middle ")
    view.message_list.verticalScrollBar().setValue(0)
    stream(view, "end")
    looks.set_look(replace(looks.look, zoom=1.2))
    view.paint_now()
    assert drawn(view) == "start middle end"


def test_what_came_while_hidden_is_drawn_when_shown(view: ChatView, qtbot: QtBot) -> None:
    view.show_items((QUESTION, EMPTY))
    view.hide()
    stream(view, "came meanwhile")
    view.paint_now()
    assert drawn_even_hidden(view) == ""
    view.show()
    qtbot.waitUntil(lambda: drawn(view) == "came meanwhile")


def drawn_even_hidden(view: ChatView) -> str:
    children: list[Any] = list(view.message_list.widgets[2].findChildren(TextView))
    return "".join(text.document.toPlainText() for text in children)
