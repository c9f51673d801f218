"""Findings, the failure card, the toast: they say what happened and their buttons work."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAccessible, QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.findings import FindingCode, error, note, warning
from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK, LIGHT
from app.ui.widgets import toast as toast_module
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.failure_card import FailureCard
from app.ui.widgets.findings_view import FindingRow, FindingsList
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, holder, scrolled
from app.ui.widgets.toast import Toast
from tests.gui.look_names import LOOK_NAMES
from tests.gui.page_parts import clipped, parts

Show = Callable[[QWidget], QWidget]
EMPTY = error(FindingCode.FILE_EMPTY, file="推理/qwen3-30b-a3b-instruct-2507-ud-q4_k_xl.gguf")
NO_GPU = warning(FindingCode.GPU_NOT_FOUND)
NO_TEMPLATE = note(FindingCode.CHAT_TEMPLATE_MISSING, file="qwen3.gguf")


def test_findings_stand_gravest_first_and_tell_theirs_at_a_press(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    findings = FindingsList(looks)
    findings.show_findings((NO_TEMPLATE, NO_GPU, EMPTY), {FindingCode.GPU_NOT_FOUND: "Look again"})
    show(findings)
    texts = Texts("en")
    assert _messages(findings) == [texts.finding(f).message for f in (EMPTY, NO_GPU, NO_TEMPLATE)]
    buttons = [b for b in parts(findings, QPushButton) if b.isVisible()]
    assert [button.text() for button in buttons] == ["Look again"]
    with qtbot.waitSignal(findings.action_requested) as asked:
        qtbot.keyClick(buttons[0], Qt.Key.Key_Return)
    assert asked.args == [NO_GPU]


def test_no_finding_is_said_in_words_of_the_language(looks: LookSource, show: Show) -> None:
    findings = FindingsList(looks)
    findings.show_findings((EMPTY, NO_GPU), {})
    show(findings)
    findings.show_findings((), {})
    assert _messages(findings) == ["All checks passed."]
    looks.set_look(Look(DARK, Texts("zh_CN")))
    assert _messages(findings) == ["检查全部通过。"]


def test_findings_change_language_in_place(looks: LookSource, show: Show) -> None:
    findings = FindingsList(looks)
    findings.show_findings((NO_GPU,), {})
    show(findings)
    looks.set_look(Look(LIGHT, Texts("zh_CN")))
    assert _messages(findings) == [Texts("zh_CN").finding(NO_GPU).message]


def test_a_finding_tells_its_severity_to_who_cannot_see_the_sign(looks: LookSource, show: Show) -> None:
    line = FindingRow(looks)
    line.show_finding(EMPTY, None)
    show(line)
    names = [label.accessibleName() for label in parts(line, QLabel)]
    assert any(name.startswith(Texts("en").text("severity.error")) for name in names)


def test_every_button_of_a_failure_works_and_its_price_is_told(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    card = _card(looks)
    show(card)
    for text, signal in (
        ("Load with experts of 30 layers in RAM", card.primary_requested),
        ("Shorten context to 16k", card.secondary_requested),
        ("Copy report", card.report_requested),
    ):
        with qtbot.waitSignal(signal):
            qtbot.keyClick(_button(card, text), Qt.Key.Key_Return)
    assert _button(card, "Load with").accessibleDescription() == "about 27 tok/s instead of 31"


def test_details_open_and_close_in_the_card(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    card = _card(looks)
    show(scrolled(holder(column(card, None))))
    details = card.findChild(QPlainTextEdit)
    assert details is not None
    assert not details.isVisible()
    qtbot.mouseClick(_button(card, "Details"), Qt.MouseButton.LeftButton)
    assert details.isVisible()
    assert details.toPlainText() == "cudaMalloc failed"
    qtbot.mouseClick(_button(card, "Details"), Qt.MouseButton.LeftButton)
    assert not details.isVisible()


def test_a_card_without_second_way_price_and_details_still_has_its_button(
    looks: LookSource, show: Show
) -> None:
    card = FailureCard(looks)
    card.show_failure(NO_GPU, "", "Load on the CPU", None, None, "")
    show(card)
    shown = [b.text() for b in parts(card, Button) if b.isVisible()]
    assert shown == ["Load on the CPU", "Copy report"]


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
@pytest.mark.parametrize("zoom", [0.8, 1.0, 2.0])
def test_no_text_of_findings_and_failure_is_cut_in_a_narrow_window(
    looks: LookSource, show: Show, zoom: float
) -> None:
    looks.set_look(Look(looks.look.colors, looks.look.texts, zoom))
    findings, card = FindingsList(looks), _card(looks)
    findings.show_findings((EMPTY, NO_GPU, NO_TEMPLATE), {FindingCode.FILE_EMPTY: "下载 Download"})
    inner = holder(column(findings, card, None, margins=(16, 16, 16, 16)))
    page = show(scrolled(inner))
    page.resize(round(520 * zoom), 600)
    QApplication.processEvents()
    assert inner.width() <= page.width()
    assert clipped(page) == []


def test_a_toast_undoes_once_and_goes(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    page = show(holder(column(None)))
    page.resize(700, 400)
    toast = Toast(looks, page)
    undone: list[str] = []
    toast.show_message("Chat deleted.", "Undo", lambda: undone.append("chat"))
    assert toast.isVisible()
    assert page.rect().contains(toast.geometry())
    undo = _button(toast, "Undo")
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    undo.click()
    assert (undone, toast.isVisible()) == (["chat"], False)


def test_a_toast_is_announced_and_can_be_closed_by_keyboard(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    page = show(holder(column(None)))
    toast = Toast(looks, page)
    toast.show_message("Chat deleted.", "Undo", page.update)
    assert toast.accessibleName() == "Chat deleted. Undo"
    interface = QAccessible.queryAccessibleInterface(toast)
    assert interface is not None
    close = toast.findChild(IconButton)
    assert close is not None
    assert close.accessibleName() == "Close message"
    close.setFocus()
    qtbot.keyClick(close, Qt.Key.Key_Escape)
    assert not toast.isVisible()


def test_a_toast_goes_by_itself_but_not_under_the_mouse_or_the_focus(
    looks: LookSource, show: Show, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toast_module, "SHOWN_MS", 40)
    monkeypatch.setattr(toast_module, "SHOWN_WITH_ACTION_MS", 40)
    page = show(holder(column(None)))
    toast = Toast(looks, page)
    toast.show_message("Copied.")
    qtbot.waitUntil(lambda: not toast.isVisible())
    toast.show_message("Chat deleted.", "Undo", page.update)
    where = toast.rect().center().toPointF()
    QApplication.sendEvent(toast, QEnterEvent(where, where, where))
    QTest.qWait(120)
    assert toast.isVisible()
    _button(toast, "Undo").setFocus()
    QApplication.sendEvent(toast, QEvent(QEvent.Type.Leave))
    QTest.qWait(120)
    assert toast.isVisible()
    page.setFocus()
    qtbot.waitUntil(lambda: not toast.isVisible())


@pytest.mark.parametrize("zoom", [1.0, 2.0])
def test_a_long_toast_stays_in_the_window_and_follows_it(looks: LookSource, show: Show, zoom: float) -> None:
    looks.set_look(Look(LIGHT, Texts("zh_CN"), zoom))
    page = show(holder(column(None)))
    page.resize(900, 500)
    toast = Toast(looks, page)
    toast.show_message("引擎保留了 f16：此版本用 q8_0 需开启 Flash Attention。" * 3, "撤销", page.update)
    for width in (900, 520):
        page.resize(width, 500)
        QApplication.processEvents()
        assert page.rect().contains(toast.geometry())
        assert clipped(toast) == []


def _card(looks: LookSource) -> FailureCard:
    card = FailureCard(looks)
    card.show_failure(
        EMPTY,
        "1.7 GB are missing.",
        "Load with experts of 30 layers in RAM",
        "Shorten context to 16k",
        "about 27 tok/s instead of 31",
        "cudaMalloc failed",
    )
    return card


def _button(page: QWidget, text: str) -> Button:
    found = [b for b in parts(page, Button) if b.text().startswith(text)]
    assert len(found) == 1
    return found[0]


def _messages(page: QWidget) -> list[str]:
    labels = parts(page, TextLabel)
    return [label.text() for label in labels if label.isVisible() and label.property("style") == "body"]


def test_an_undo_outlives_what_is_said_after_it(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    page = show(QWidget())
    undone: list[str] = []
    toast = Toast(looks, page)
    toast.show_message("Chat deleted.", "Undo", lambda: undone.append("chat"), is_undo=True)
    toast.show_message("Message deleted.", "Undo", lambda: undone.append("message"), is_undo=True)
    toast.show_message("Copied.")
    assert toast.accessibleName() == "Copied."
    toast.undo()
    assert undone == ["message"]
    close = toast.findChild(IconButton)
    assert isinstance(close, IconButton)
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert toast.accessibleName() == "Chat deleted. Undo"
    toast.undo()
    assert undone == ["message", "chat"]
    assert not toast.isVisible()
    toast.undo()
    assert undone == ["message", "chat"]


def test_the_key_that_undoes_does_nothing_else_a_toast_offers(looks: LookSource, show: Show) -> None:
    done: list[str] = []
    toast = Toast(looks, show(QWidget()))
    toast.show_message("Not opened.", "Choose file", lambda: done.append("file"))
    toast.undo()
    assert (done, toast.isVisible()) == ([], True)
