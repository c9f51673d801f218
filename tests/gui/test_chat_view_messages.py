"""Messages on the screen: their text, their buttons, and what a hostile answer cannot do."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QMouseEvent, QTextDocument
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.chat.conversation import Message, MessageState
from app.engine.protocol import Timings
from app.findings import FindingCode, error
from app.texts import Texts
from app.ui.markdown.code_view import CodeView
from app.ui.markdown.document import SafeDocument
from app.ui.markdown.table_view import TableView
from app.ui.markdown.text_view import TextView
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import DARK
from app.ui.views.chat_items import MessageItem, item_of
from app.ui.views.chat_view import ChatView
from app.ui.views.message_box import MessageBox
from app.ui.views.message_foot import figures_line
from app.ui.views.message_widget import MessageWidget
from app.ui.views.reasoning_fold import ReasoningFold
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.failure_card import FailureCard
from tests.gui.chat_texts import ANSWER, FIGURES
from tests.gui.look_names import LOOK_NAMES
from tests.gui.page_parts import clipped
from tests.gui.view_builders import model_view

Show = Callable[[QWidget], QWidget]
QUESTION = MessageItem(1, "user", "How do I read it?")


def answered(text: str = ANSWER, **changes: Any) -> MessageItem:
    return MessageItem(
        **{"id": 2, "role": "assistant", "text": text, "finish_reason": "stop", "figures": FIGURES, **changes}
    )


@pytest.fixture
def view(looks: LookSource, show: Show) -> ChatView:
    made = ChatView(looks)
    made.resize(800, 900)
    show(made)
    return made


def open_items(view: ChatView, items: tuple[MessageItem, ...]) -> None:
    """Show a conversation and wait until all of it that is in sight is drawn."""
    view.show_items(items)
    deadline = time.monotonic() + 20
    while any(widget.is_building for widget in view.message_list.widgets.values()):
        assert time.monotonic() < deadline
        QApplication.processEvents()


def shown(view: ChatView, message_id: int = 2) -> MessageWidget:
    return view.message_list.widgets[message_id]


def all_of(kind: type[QWidget], widget: QWidget) -> list[Any]:
    found: list[Any] = list(widget.findChildren(kind))
    return [child for child in found if child.isVisible()]


def text_of(widget: QWidget) -> str:
    return "\n".join(text.document.toPlainText() for text in all_of(TextView, widget))


def button(widget: QWidget, name: str) -> Any:
    (found,) = (child for child in all_of(IconButton, widget) if child.accessibleName() == name)
    return found


def press(view: ChatView, qtbot: QtBot, name: str, message_id: int = 2) -> None:
    qtbot.mouseClick(button(shown(view, message_id), name), Qt.MouseButton.LeftButton)


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_an_answer_is_prose_code_and_table(view: ChatView) -> None:
    open_items(view, (QUESTION, answered()))
    widget = shown(view)
    assert len(all_of(CodeView, widget)) == 1
    assert len(all_of(TableView, widget)) == 1
    assert "**" not in text_of(widget)
    assert "utf-8-sig" in text_of(widget)
    assert all(child.accessibleName() for child in all_of(IconButton, widget))


def test_parts_lie_below_each_other_inside_the_column(view: ChatView) -> None:
    open_items(view, (QUESTION, answered()))
    widget = shown(view)
    assert widget.width() == 720
    parts = sorted(
        (part.mapTo(widget, QPoint()).y(), part.height())
        for part in all_of(CodeView, widget) + all_of(TableView, widget)
    )
    assert parts[0][0] + parts[0][1] < parts[1][0]
    bubble = shown(view, 1)
    assert bubble.mapTo(view, QPoint()).y() + bubble.height() <= widget.mapTo(view, QPoint()).y()


def test_the_copy_button_of_code_copies_the_code_alone(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("```py\nx = 1\n\ty = '漢'\n```")))
    with qtbot.waitSignal(view.copy_done):
        press(view, qtbot, "Copy code")
    assert QGuiApplication.clipboard().text() == "x = 1\n\ty = '漢'"


def test_copy_takes_the_message_as_it_was_written(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("**bold** \u202e")))
    with qtbot.waitSignal(view.copy_done):
        press(view, qtbot, "Copy")
    assert QGuiApplication.clipboard().text() == "**bold** \u202e"


def test_text_is_selected_with_the_mouse_across_parts_and_copied(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("first words\n\n```\ncode line\n```\n\nlast words")))
    texts = sorted(all_of(TextView, shown(view)), key=lambda text: text.mapTo(view, QPoint()).y())
    first, last = texts[0], texts[-1]
    qtbot.mousePress(first, Qt.MouseButton.LeftButton, pos=QPoint(0, 8))
    qtbot.mouseMove(first, first.mapFromGlobal(last.mapToGlobal(QPoint(last.width() - 2, 10))))
    move = first.mapFromGlobal(last.mapToGlobal(QPoint(last.width() - 2, 10)))
    _drag(first, move)
    qtbot.mouseRelease(first, Qt.MouseButton.LeftButton, pos=move)
    qtbot.keyClick(first, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "first words\n\ncode line\n\nlast words"


def _drag(text: TextView, point: QPoint) -> None:
    left = Qt.MouseButton.LeftButton
    where = QPointF(text.mapToGlobal(point))
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(point), where, left, left, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(text, event)


def test_selecting_beyond_the_view_scrolls(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (answered("a paragraph\n\n" * 60),))
    bar = view.message_list.verticalScrollBar()
    bar.setValue(0)
    first = min(all_of(TextView, shown(view)), key=lambda text: text.mapTo(view, QPoint()).y())
    qtbot.mousePress(first, Qt.MouseButton.LeftButton, pos=QPoint(0, 8))
    _drag(first, first.mapFromGlobal(view.mapToGlobal(QPoint(300, view.height() + 40))))
    assert bar.value() == 40
    qtbot.mouseRelease(first, Qt.MouseButton.LeftButton)
    assert view.message_list.widgets[2].isVisible()


def test_a_link_only_tells_that_it_was_clicked(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("[here](https://example.org/csv)")))
    (text,) = all_of(TextView, shown(view))
    with qtbot.waitSignal(view.link_requested) as heard:
        qtbot.mouseClick(text, Qt.MouseButton.LeftButton, pos=QPoint(12, 12))
    assert heard.args == ["https://example.org/csv"]


def test_links_are_reached_and_followed_by_keyboard(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (answered("[one](https://a.example) and [**t**wo](https://b.example)"),))
    (text,) = all_of(TextView, shown(view))
    view.message_list.setFocus()
    qtbot.keyClick(view.message_list, Qt.Key.Key_Tab)
    assert text.hasFocus()
    assert text.accessibleDescription() == "https://a.example"
    qtbot.keyClick(text, Qt.Key.Key_Tab)
    with qtbot.waitSignal(view.link_requested) as heard:
        qtbot.keyClick(text, Qt.Key.Key_Return)
    assert heard.args == ["https://b.example"]
    qtbot.keyClick(text, Qt.Key.Key_Tab)
    assert not text.hasFocus()


def test_a_refused_address_is_no_link(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("[here](javascript:alert(1))")))
    (text,) = all_of(TextView, shown(view))
    with qtbot.assertNotEmitted(view.link_requested):
        qtbot.mouseClick(text, Qt.MouseButton.LeftButton, pos=QPoint(12, 12))
    assert "javascript:alert(1)" in text_of(shown(view))


def test_a_document_loads_nothing(view: ChatView) -> None:
    document = SafeDocument(view.font())
    kind = QTextDocument.ResourceType.ImageResource
    for address in ("https://tracker.example/p.png", "file:///etc/passwd", "qrc:/x"):
        assert document.resource(kind.value, QUrl(address)) is None


HOSTILE = {
    "html": "<h1>big</h1><script>alert(1)</script><img src='https://tracker.example/x.png'>",
    "style": "<style>* { font-size: 400px }</style><table><tr><td>cell",
    "entities": "&lt;b&gt; &#8238;abc &#0; &nbsp;",
    "controls": "\x00\x07\x1b[2J\x9b31m \u202eevil\u2066 \ufffc\ufdd0\ud800 end",
    "unbalanced": "**a _b `c ~~d [e](f ![g]( <h |i|\n|-\n```\n> - 1. # ",
    "line": "x" * 1_000_000,
    "wide": "| a " * 300 + "|\n" + "|-" * 300 + "|\n" + "| b " * 300 + "|",
    "marks": "\u0301" * 3_000,
    "brackets": "[" * 5_000,
    "quotes": "> " * 400 + "deep",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_is_shown_and_breaks_nothing(view: ChatView, qtbot: QtBot, name: str) -> None:
    open_items(view, (QUESTION, answered(HOSTILE[name]), MessageItem(3, "user", "next")))
    view.grab()
    assert text_of(shown(view, 3)) == "next"
    view.message_list.verticalScrollBar().setValue(0)
    view.grab()
    if 2 in view.message_list.widgets:
        drawn = text_of(shown(view))
        assert not set(drawn) & set("\x00\x07\x1b\x9b\u202e\u2066\ud800")
        if name in ("html", "style"):
            assert HOSTILE[name].split(">")[0] in drawn
        if name == "line":
            assert drawn.replace("\n", "") == HOSTILE["line"]


def test_an_open_fence_does_not_swallow_the_next_message(view: ChatView) -> None:
    view.show_items(
        (QUESTION, answered("```python\nx = 1"), MessageItem(3, "user", "thanks"), answered("*fine*", id=4))
    )
    assert text_of(shown(view, 3)) == "thanks"
    assert text_of(shown(view, 4)) == "fine"


def test_what_the_person_wrote_is_not_read_as_markdown(view: ChatView) -> None:
    open_items(view, (MessageItem(1, "user", "# not *a* heading\n  <b>"),))
    assert text_of(shown(view, 1)) == "# not *a* heading\n  <b>"


def test_a_very_long_message_of_the_person_is_folded_until_asked(view: ChatView, qtbot: QtBot) -> None:
    text = "a pasted line of text\n" * 10_000
    open_items(view, (MessageItem(1, "user", text),))
    assert len(text_of(shown(view, 1))) < 4_000
    (more,) = all_of(Button, shown(view, 1))
    assert "220,000" in more.text()
    qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(text_of(shown(view, 1))) > 200_000, timeout=20_000)


def test_reasoning_is_one_line_until_unfolded(view: ChatView, qtbot: QtBot) -> None:
    view.show_items(
        (QUESTION, answered("Answer.", reasoning="First this, then that.", reasoning_seconds=6.4))
    )
    (fold,) = all_of(ReasoningFold, shown(view))
    line = fold.children()[0]
    assert line.accessibleName() == "Thought for 6 s"
    assert "First this" not in text_of(shown(view))
    height = shown(view).height()
    line.setFocus()
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert "First this" in text_of(shown(view))
    assert shown(view).height() > height
    qtbot.keyClick(line, Qt.Key.Key_Space)
    assert shown(view).height() == height


def test_the_figures_line_leaves_out_what_nobody_knows(looks: LookSource) -> None:
    assert (
        figures_line(answered(), looks.look) == "312 tokens  ·  31.4 tok/s  ·  first token 0.9 s  ·  finished"
    )
    assert figures_line(answered(figures=None, finish_reason="length"), looks.look) == "length limit reached"
    assert figures_line(answered(figures=None, state=MessageState.CANCELLED), looks.look) == "stopped"
    assert figures_line(QUESTION, looks.look) == ""


def test_a_stored_message_keeps_its_figures() -> None:
    timings = Timings(10, 500.0, 40, 2_000.0, None)
    item = item_of(Message(7, None, "assistant", "text", finish_reason="stop", timings=timings))
    assert item.figures is not None
    assert item.figures.tokens_per_second == pytest.approx(20.0)
    assert item_of(Message(8, None, "user", "text")).figures is None


@pytest.mark.parametrize(
    ("item", "names"),
    [
        (QUESTION, {"Copy", "Edit", "Delete"}),
        (answered("x"), {"Copy", "Answer again", "Delete"}),
        (answered("x", finish_reason="length"), {"Copy", "Answer again", "Delete", "Continue the answer"}),
        (
            answered("x", state=MessageState.CANCELLED),
            {"Copy", "Answer again", "Delete", "Continue the answer"},
        ),
        (answered("x", is_streaming=True, state=MessageState.PARTIAL), {"Stop"}),
    ],
)
def test_each_state_offers_what_works(view: ChatView, item: MessageItem, names: set[str]) -> None:
    open_items(view, (item,))
    assert {child.accessibleName() for child in all_of(IconButton, shown(view, item.id))} == names


def test_buttons_ask_with_the_id(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("x", state=MessageState.CANCELLED)))
    wanted = {
        "Answer again": view.regenerate_requested,
        "Delete": view.delete_requested,
        "Continue the answer": view.continue_requested,
    }
    for name, signal in wanted.items():
        with qtbot.waitSignal(signal) as heard:
            press(view, qtbot, name)
        assert heard.args == [2]


def test_an_edited_question_is_sent_with_its_id(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("x")))
    press(view, qtbot, "Edit", 1)
    (box,) = all_of(MessageBox, shown(view, 1))
    assert box.toPlainText() == QUESTION.text
    box.setPlainText("Better?")
    with qtbot.waitSignal(view.edit_requested) as heard:
        qtbot.keyClick(box, Qt.Key.Key_Return)
    assert heard.args == [1, "Better?"]


def test_escape_leaves_an_edited_question_as_it_was(view: ChatView, qtbot: QtBot) -> None:
    open_items(view, (QUESTION, answered("x")))
    press(view, qtbot, "Edit", 1)
    (box,) = all_of(MessageBox, shown(view, 1))
    with qtbot.assertNotEmitted(view.edit_requested):
        qtbot.keyClicks(box, " more")
        qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert text_of(shown(view, 1)) == QUESTION.text


def failed(
    code: FindingCode = FindingCode.ENGINE_KILLED, **values: int | str
) -> tuple[ModelView, MessageItem]:
    """Return a model that failed in mid answer, and that answer."""
    failure = error(code, **(values or {"exit_code": -9}))
    item = answered("Half an ans", state=MessageState.FAILED, failure=failure, finish_reason=None)
    return replace(model_view(ModelPhase.FAILED), failure=failure), item


def card_buttons(view: ChatView, message_id: int = 2) -> dict[str, Button]:
    """Return the visible buttons of a message's card by their texts."""
    (card,) = all_of(FailureCard, shown(view, message_id))
    return {child.text(): child for child in all_of(Button, card) if child.isVisible()}


def primaries(view: ChatView) -> list[str]:
    return [b.text() for b in all_of(Button, view) if b.isVisible() and b.property("kind") == "primary"]


def test_after_a_kill_the_card_offers_the_same_plan_then_the_safer_one(view: ChatView, qtbot: QtBot) -> None:
    model, item = failed()
    view.show_view(model)
    open_items(view, (QUESTION, item))
    assert "Half an ans" in text_of(shown(view))
    buttons = card_buttons(view)
    assert list(buttons) == ["Load the model again", "Load with the safe plan", "Details", "Copy report"]
    assert primaries(view) == ["Load the model again"]
    for text, signal in (
        ("Load the model again", view.reload_requested),
        ("Load with the safe plan", view.step_requested),
        ("Details", view.details_requested),
        ("Copy report", view.report_requested),
    ):
        with qtbot.waitSignal(signal):
            qtbot.mouseClick(buttons[text], Qt.MouseButton.LeftButton)


def test_where_memory_ran_out_the_card_offers_the_safer_plan(view: ChatView, qtbot: QtBot) -> None:
    model, item = failed(FindingCode.ENGINE_OUT_OF_VRAM, device="CUDA0", needed_bytes=2**30)
    open_items(view, (QUESTION, item))
    view.show_view(model)
    assert primaries(view) == ["Load with the safe plan"]
    with qtbot.waitSignal(view.pick_requested):
        qtbot.mouseClick(card_buttons(view)["Choose another model"], Qt.MouseButton.LeftButton)


def test_when_the_model_is_back_the_card_offers_another_answer(view: ChatView, qtbot: QtBot) -> None:
    model, item = failed()
    view.show_view(model)
    open_items(view, (QUESTION, item))
    view.show_view(model_view(ModelPhase.LOADING))
    assert primaries(view) == []
    assert list(card_buttons(view)) == ["Details", "Copy report"]
    view.show_view(model_view(ModelPhase.READY))
    with qtbot.waitSignal(view.regenerate_requested) as heard:
        qtbot.mouseClick(card_buttons(view)["Answer again"], Qt.MouseButton.LeftButton)
    assert heard.args == [2]


@pytest.mark.parametrize("looks", ["light-en", "dark-zh"], indirect=True)
def test_a_card_that_changes_its_ways_out_cuts_nothing_off(view: ChatView) -> None:
    model, item = failed()
    open_items(view, (QUESTION, item))
    for state in (model, model_view(ModelPhase.LOADING), model, model_view(ModelPhase.READY), model):
        view.show_view(state)
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        (card,) = all_of(FailureCard, shown(view))
        assert clipped(card) == []


def test_a_card_made_before_the_window_is_shown_cuts_nothing_off(
    looks: LookSource, show: Callable[[QWidget], QWidget], qtbot: QtBot
) -> None:
    view = ChatView(looks)
    model, item = failed()
    view.resize(800, 600)
    view.show_items((QUESTION, item))
    view.show_view(model)
    show(view)
    qtbot.wait(50)
    (card,) = all_of(FailureCard, shown(view))
    assert clipped(card) == []


def test_only_the_newest_card_leads_on(view: ChatView) -> None:
    model, item = failed()
    view.show_view(model)
    later = (replace(QUESTION, id=3), replace(item, id=4))
    open_items(view, (QUESTION, item))
    open_items(view, (QUESTION, item, *later))
    assert list(card_buttons(view)) == ["Details", "Copy report"]
    assert primaries(view) == ["Load the model again"]
    view.remove_item(4)
    view.remove_item(3)
    assert "Load the model again" in card_buttons(view)


def test_a_prompt_that_was_too_long_is_asked_again_without_a_reload(view: ChatView, qtbot: QtBot) -> None:
    failure = error(FindingCode.PROMPT_TOO_LONG, prompt_tokens=9_000, context_tokens=8_192)
    view.show_view(model_view(ModelPhase.READY))
    open_items(view, (QUESTION, answered("", state=MessageState.FAILED, failure=failure, finish_reason=None)))
    assert primaries(view) == ["Answer again"]
    with qtbot.waitSignal(view.regenerate_requested) as heard:
        qtbot.mouseClick(card_buttons(view)["Answer again"], Qt.MouseButton.LeftButton)
    assert heard.args == [2]


def test_a_change_of_look_keeps_the_draft_and_the_place(
    view: ChatView, looks: LookSource, qtbot: QtBot
) -> None:
    open_items(view, (QUESTION, answered()))
    press(view, qtbot, "Edit", 1)
    all_of(MessageBox, shown(view, 1))[0].setPlainText("draft")
    looks.set_look(replace(looks.look, colors=DARK, texts=Texts("zh_CN")))
    assert all_of(MessageBox, shown(view, 1))[0].toPlainText() == "draft"
    assert button(shown(view), "重新生成")


def test_a_placeholder_takes_the_place_of_messages(view: ChatView) -> None:
    page = QLabel("Nothing yet")
    view.show_placeholder(page)
    assert page.isVisible()
    assert not view.message_list.isVisible()
    view.show_placeholder(None)
    assert view.message_list.isVisible()
    assert not page.isVisible()


@pytest.mark.parametrize(
    ("advice", "is_shown"),
    [("Load the model again.", False), ("Load the model again with fewer layers on the GPU.", True)],
)
def test_a_card_leaves_out_only_advice_that_its_button_is(
    view: ChatView, monkeypatch: pytest.MonkeyPatch, advice: str, is_shown: bool
) -> None:
    monkeypatch.setattr("app.ui.views.message_failure.action_in_window", lambda *_: advice)
    model, item = failed()
    view.show_view(model)
    open_items(view, (QUESTION, item))
    (card,) = all_of(FailureCard, shown(view))
    assert (advice in [label.text() for label in all_of(QLabel, card) if label.isVisible()]) is is_shown
