"""Fields to search and write in, and the list to choose from."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import LIGHT
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.fields import Choice, Field, SearchField
from app.ui.widgets.labels import KeyCap
from app.ui.widgets.layouts import column, holder

Show = Callable[[QWidget], QWidget]


def test_escape_clears_a_search_and_then_leaves_it(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    page = _Page()
    field = SearchField(looks)
    page.setLayout(column(field))
    show(page)
    field.setFocus()
    qtbot.keyClicks(field, "moe")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert (field.text(), page.escapes) == ("", 0)
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert page.escapes == 1


def test_the_cross_clears_and_leaves_the_focus_in_the_field(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    field = SearchField(looks)
    show(field)
    field.setFocus()
    field.setText("moe")
    cross = field.findChild(IconButton)
    assert cross is not None
    assert (cross.isVisible(), cross.accessibleName()) == (True, "Clear search")
    qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert (field.text(), field.hasFocus(), cross.isVisible()) == ("", True, False)


def test_the_shortcut_shows_only_in_an_empty_field_at_rest(looks: LookSource, show: Show) -> None:
    field, other = SearchField(looks), QPushButton()
    field.set_words("Search chats", "Ctrl K")
    show(holder(column(other, field)))
    other.setFocus()
    key = field.findChild(KeyCap)
    assert key is not None
    assert (key.isVisible(), field.accessibleName()) == (True, "Search chats")
    field.setText("a")
    assert not key.isVisible()


def test_text_never_runs_under_what_lies_in_the_field(looks: LookSource, show: Show) -> None:
    field = SearchField(looks)
    field.setFixedWidth(200)
    show(field)
    field.setText("a long search for a model of many experts")
    cross = field.findChild(IconButton)
    assert cross is not None
    left, right = field.textMargins().left(), field.textMargins().right()
    assert field.width() - right - 10 <= cross.x()
    assert left >= 16


def test_a_wrong_value_is_marked_and_told_in_a_sentence(looks: LookSource, show: Show) -> None:
    field = Field(looks)
    field.set_words("Temperature")
    page = show(holder(column(field, None)))
    page.setFocus()
    field.set_wrong("Write a number from 0 to 2.")
    QApplication.processEvents()
    sentence = field.findChild(QLabel)
    assert sentence is not None
    assert (sentence.isVisible(), sentence.text()) == (True, "Write a number from 0 to 2.")
    assert field.line_edit.accessibleDescription() == "Write a number from 0 to 2."
    edge = field.line_edit.grab().toImage().pixelColor(QPoint(field.width() // 2, 0))
    assert edge == QColor(LIGHT.danger)
    field.set_wrong(None)
    assert not sentence.isVisible()


def test_enter_and_leaving_commit_a_field(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    field, other = Field(looks), QPushButton()
    show(holder(column(field, other)))
    committed: list[str] = []
    field.committed.connect(committed.append)
    field.setFocus()
    qtbot.keyClicks(field.line_edit, "12")
    qtbot.keyClick(field.line_edit, Qt.Key.Key_Return)
    qtbot.keyClicks(field.line_edit, "8")
    other.setFocus()
    assert committed == ["12", "128"]


def test_the_wheel_over_a_closed_choice_goes_to_the_page(looks: LookSource, show: Show) -> None:
    choice = Choice(looks)
    choice.addItems(["f16", "q8_0"])
    show(choice)
    event = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(choice, event)
    assert choice.currentText() == "f16"


@pytest.mark.parametrize("zoom", [0.8, 1.0, 1.5, 2.0])
def test_fields_are_as_high_as_their_text(looks: LookSource, show: Show, zoom: float) -> None:
    looks.set_look(Look(LIGHT, Texts("zh_CN"), zoom))
    search, field, choice = SearchField(looks), Field(looks), Choice(looks)
    show(holder(column(search, field, choice)))
    for part in (search, field.line_edit, choice):
        assert abs(part.height() - 34 * zoom) <= 2
        assert part.height() >= part.fontMetrics().height() + 4


class _Page(QWidget):
    escapes = 0

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.escapes += 1
