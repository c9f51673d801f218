"""Dialogs: Escape is no, Enter is yes unless something is lost, focus goes back."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialogs import Change, Question, QuestionDialog, TextDialog
from app.ui.widgets.layouts import column, holder
from tests.gui.look_names import LOOK_NAMES
from tests.gui.page_parts import clipped, parts

Show = Callable[[QWidget], QWidget]
RELOAD = Question(
    title="Reload the model to apply this?",
    body="Reading 17.3 GB again takes about 9 seconds. These stay:",
    primary="Reload now",
    kept=("This chat and its 5.1k tokens of context", "已输入未发送的内容"),
    changes=(Change("Experts in RAM", "24 layers", "22 layers"), Change("显存", "10.8 GB", "11.5 GB")),
    other="Later",
)
DELETE = Question("Delete this chat?", "Its 12 messages are gone.", "Delete chat", is_destructive=True)


def _ask(looks: LookSource, question: Question, page: QWidget, qtbot: QtBot) -> QuestionDialog:
    dialog = QuestionDialog(looks, question, page)
    with qtbot.waitExposed(dialog):
        dialog.open()
    return dialog


def _press(dialog: QuestionDialog, key: Qt.Key, qtbot: QtBot) -> None:
    qtbot.keyClick(dialog.focusWidget() or dialog, key)


@pytest.mark.parametrize(
    ("question", "key", "is_yes"),
    [
        (RELOAD, Qt.Key.Key_Return, True),
        (RELOAD, Qt.Key.Key_Escape, False),
        (DELETE, Qt.Key.Key_Return, False),
        (DELETE, Qt.Key.Key_Escape, False),
    ],
)
def test_enter_and_escape_answer(
    looks: LookSource, show: Show, qtbot: QtBot, question: Question, key: Qt.Key, is_yes: bool
) -> None:
    dialog = _ask(looks, question, show(holder(column(None))), qtbot)
    with qtbot.waitSignal(dialog.accepted if is_yes else dialog.rejected):
        _press(dialog, key, qtbot)


def test_enter_on_cancel_is_no(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    dialog = _ask(looks, RELOAD, show(holder(column(None))), qtbot)
    cancel = _button(dialog, "Cancel")
    cancel.setFocus()
    with qtbot.waitSignal(dialog.rejected):
        qtbot.keyClick(cancel, Qt.Key.Key_Return)


def test_the_third_way_closes_and_is_told(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    dialog = _ask(looks, RELOAD, show(holder(column(None))), qtbot)
    with qtbot.waitSignals([dialog.rejected, dialog.other_chosen]):
        qtbot.mouseClick(_button(dialog, "Later"), Qt.MouseButton.LeftButton)


def test_a_closed_dialog_is_gone_and_the_focus_is_where_it_was(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    caller = QPushButton()
    page = show(holder(column(caller)))
    caller.setFocus()
    dialog = _ask(looks, RELOAD, page, qtbot)
    assert dialog.isModal()
    with qtbot.waitSignal(dialog.destroyed):
        _press(dialog, Qt.Key.Key_Escape, qtbot)
    assert page.focusWidget() is caller
    assert page.findChildren(QuestionDialog) == []


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
@pytest.mark.parametrize("zoom", [0.8, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("question", [RELOAD, DELETE], ids=["reload", "delete"])
def test_a_question_is_500_wide_and_cuts_no_text(
    looks: LookSource, show: Show, qtbot: QtBot, zoom: float, question: Question
) -> None:
    looks.set_look(Look(looks.look.colors, looks.look.texts, zoom))
    dialog = _ask(looks, question, show(holder(column(None))), qtbot)
    assert dialog.width() == round(500 * zoom)
    assert clipped(dialog) == []
    dialog.reject()


def test_a_dialog_that_is_open_takes_another_language(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    dialog = _ask(looks, RELOAD, show(holder(column(None))), qtbot)
    looks.set_look(Look(looks.look.colors, Texts("zh_CN")))
    QApplication.processEvents()
    assert _button(dialog, "取消").isVisible()
    assert clipped(dialog) == []
    dialog.reject()


def test_a_text_can_be_read_and_copied(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    dialog = TextDialog(looks, "Report", "Moxie\nggml error", show(holder(column(None))))
    with qtbot.waitExposed(dialog):
        dialog.open()
    text = dialog.findChild(QPlainTextEdit)
    assert text is not None
    assert (text.isReadOnly(), text.accessibleName()) == (True, "Report")
    qtbot.mouseClick(_button(dialog, "Copy text"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "Moxie\nggml error"
    assert _button(dialog, "Copied").isVisible()
    with qtbot.waitSignal(dialog.destroyed):
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)


def _button(page: QWidget, text: str) -> Button:
    found = [b for b in parts(page, Button) if b.text() == text]
    assert len(found) == 1
    return found[0]
