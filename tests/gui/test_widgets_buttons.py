"""Buttons by keyboard, while busy, and in another theme."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK, LIGHT
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.layouts import column, holder, row

Show = Callable[[QWidget], QWidget]


@pytest.mark.parametrize("kind", ["primary", "secondary", "ghost", "danger", "link"])
def test_keys_and_mouse_press_a_button(looks: LookSource, show: Show, qtbot: QtBot, kind: str) -> None:
    button = Button(looks, kind, "play")
    button.setText("Load model")
    show(button)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
        with qtbot.waitSignal(button.clicked, timeout=1000):
            qtbot.keyClick(button, key)
    with qtbot.waitSignal(button.clicked, timeout=1000):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize("kind", ["primary", "secondary", "ghost", "danger", "link"])
def test_focus_shows_and_moves_nothing(looks: LookSource, show: Show, qtbot: QtBot, kind: str) -> None:
    first, other = Button(looks, kind, "play"), Button(looks, "ghost")
    for button in (first, other):
        button.setText("Load model")
    page = show(holder(row(first, other)))
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    before, size = _picture(first), first.sizeHint()
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    assert _picture(first) != before
    assert first.sizeHint() == size
    assert page.sizeHint().isValid()


def test_a_busy_button_keeps_its_width_and_takes_no_click(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    button = Button(looks, "primary", "play")
    button.setText("Load this model")
    show(holder(row(button)))
    width = button.width()
    clicks: list[bool] = []
    button.clicked.connect(clicks.append)
    button.set_busy("Load…")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.keyClick(button, Qt.Key.Key_Space)
    button.click()
    assert clicks == []
    assert (button.text(), button.is_busy) == ("Load…", True)
    assert button.sizeHint().expandedTo(button.minimumSize()).width() == width


def test_a_busy_button_looks_like_its_kind_and_not_disabled(looks: LookSource, show: Show) -> None:
    button = Button(looks, "primary")
    button.setText("Load model")
    show(holder(row(button)))
    button.set_busy("Loading…")
    assert _corner(button) == QColor(LIGHT.accent)


def test_words_set_while_busy_show_afterwards_and_focus_comes_back(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    button = Button(looks, "primary", "play")
    button.setText("Load model")
    show(holder(column(button)))
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    button.set_busy("Loading…")
    button.setText("加载模型")
    assert button.text() == "Loading…"
    button.set_busy(None)
    assert (button.text(), button.isEnabled(), button.hasFocus()) == ("加载模型", True, True)


def test_the_spinner_stands_still_while_hidden_and_with_reduced_motion(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    button = Button(looks, "primary")
    show(holder(row(button)))
    button.set_busy("Loading…")
    frame = button.icon().cacheKey()
    qtbot.waitUntil(lambda: button.icon().cacheKey() != frame)
    button.hide()
    assert not button._spin.isActive()
    looks.set_look(Look(LIGHT, Texts("en"), reduced_motion=True))
    button.show()
    assert not button._spin.isActive()


def test_an_icon_button_says_what_it_does(looks: LookSource) -> None:
    button = IconButton(looks, "copy")
    button.set_words("Copy code", "Ctrl+C")
    assert button.accessibleName() == "Copy code"
    assert button.toolTip() == "Copy code  Ctrl+C"


def test_a_button_takes_the_colours_of_another_theme(looks: LookSource, show: Show) -> None:
    button = Button(looks, "primary", "play")
    button.setText("Load model")
    show(holder(row(button)))
    light = button.icon().cacheKey()
    looks.set_look(Look(DARK, Texts("en")))
    assert _corner(button) == QColor(DARK.accent)
    assert button.icon().cacheKey() != light


@pytest.mark.parametrize("zoom", [0.8, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("size", ["compact", "normal", "large"])
def test_words_fit_their_button_at_every_text_size(
    looks: LookSource, show: Show, zoom: float, size: str
) -> None:
    looks.set_look(Look(LIGHT, Texts("zh_CN"), zoom))
    button = Button(looks, "primary", "play", size=size)
    button.setText("把 30 层专家放内存后加载")
    show(holder(row(button)))
    text = button.fontMetrics().boundingRect(button.text())
    assert button.width() >= text.width() + button.iconSize().width()
    assert button.height() >= text.height()
    heights = {"compact": 28, "normal": 34, "large": 40}
    assert abs(button.height() - heights[size] * zoom) <= 2


def _picture(widget: QWidget) -> QImage:
    return widget.grab().toImage()


def _corner(button: QWidget) -> QColor:
    """Return the colour of its ground, near the left edge where no word is."""
    return _picture(button).pixelColor(QPoint(6, button.height() // 2))
