"""Segmented, Switch and MarkSlider by keyboard, mouse and wheel."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK, LIGHT
from app.ui.widgets.controls import MarkSlider, Segmented, Switch
from app.ui.widgets.layouts import column, holder, row

Show = Callable[[QWidget], QWidget]
NOTCH = 120


def _segmented(looks: LookSource) -> Segmented:
    choice = Segmented(looks)
    choice.set_items([("auto", "Auto"), ("manual", "Manual"), ("off", "Off")])
    choice.set_current("auto")
    return choice


def test_arrows_choose_and_tell_the_key(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    choice = _segmented(looks)
    show(choice)
    first = _words(choice)[0]
    first.setFocus()
    with qtbot.waitSignal(choice.chosen) as chosen:
        qtbot.keyClick(first, Qt.Key.Key_Right)
    assert (chosen.args, choice.current) == (["manual"], "manual")


def test_tab_enters_a_choice_at_the_chosen_word_and_leaves_it(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    choice, before, after = _segmented(looks), QPushButton(), QPushButton()
    choice.set_current("manual")
    page = show(holder(row(before, choice, after)))
    before.setFocus()
    qtbot.keyClick(before, Qt.Key.Key_Tab)
    focused = page.focusWidget()
    assert isinstance(focused, QPushButton)
    assert focused.text() == "Manual"
    qtbot.keyClick(focused, Qt.Key.Key_Tab)
    assert page.focusWidget() is after


def test_a_click_chooses_and_the_program_choosing_is_no_signal(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    choice = _segmented(looks)
    show(choice)
    keys: list[str] = []
    choice.chosen.connect(keys.append)
    choice.set_current("off")
    qtbot.mouseClick(_words(choice)[1], Qt.MouseButton.LeftButton)
    assert keys == ["manual"]


def test_another_language_keeps_choice_and_focus(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    choice = _segmented(looks)
    page = show(choice)
    _words(choice)[0].setFocus()
    qtbot.waitUntil(_words(choice)[0].hasFocus)
    choice.set_items([("auto", "自动"), ("manual", "手动"), ("off", "关")])
    focused = page.focusWidget()
    assert isinstance(focused, QPushButton)
    assert (choice.current, focused.text()) == ("auto", "自动")


def test_choosing_moves_no_word(looks: LookSource, show: Show) -> None:
    choice = _segmented(looks)
    show(choice)
    before = [button.geometry() for button in _words(choice)]
    choice.set_current("manual")
    QApplication.processEvents()
    assert [button.geometry() for button in _words(choice)] == before


@pytest.mark.parametrize("zoom", [0.8, 1.0, 1.5, 2.0])
def test_no_word_of_a_choice_is_cut(looks: LookSource, show: Show, zoom: float) -> None:
    looks.set_look(Look(LIGHT, Texts("zh_CN"), zoom))
    choice = Segmented(looks)
    choice.set_items([("a", "专家放内存"), ("b", "手动")])
    choice.set_current("a")
    show(holder(row(choice, None)))
    for button in _words(choice):
        assert button.width() >= button.fontMetrics().horizontalAdvance(button.text()) + 20


def test_space_and_mouse_turn_a_switch(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    switch = Switch(looks)
    show(holder(row(switch)))
    with qtbot.waitSignal(switch.toggled):
        qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked()
    with qtbot.waitSignal(switch.toggled):
        qtbot.mouseClick(switch, Qt.MouseButton.LeftButton, pos=QPoint(switch.width() - 3, 3))
    assert not switch.isChecked()


def test_a_switch_differs_by_more_than_colour(looks: LookSource, show: Show) -> None:
    switch = Switch(looks)
    show(holder(row(switch)))
    off = _grey(switch)
    switch.setChecked(True)
    assert _grey(switch) != off


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (Qt.Key.Key_Right, 25),
        (Qt.Key.Key_Up, 25),
        (Qt.Key.Key_Left, 23),
        (Qt.Key.Key_Down, 23),
        (Qt.Key.Key_PageUp, 28),
        (Qt.Key.Key_PageDown, 20),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_End, 48),
    ],
)
def test_keys_move_the_slider(looks: LookSource, show: Show, qtbot: QtBot, key: Qt.Key, value: int) -> None:
    slider = _slider(looks)
    show(slider)
    qtbot.keyClick(slider, key)
    assert slider.value() == value


def test_the_mouse_takes_the_knob_where_it_points(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    slider = _slider(looks)
    slider.setFixedWidth(300)
    show(slider)
    middle = slider.height() // 2
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(1, middle))
    assert (slider.value(), slider.isSliderDown()) == (0, True)
    qtbot.mouseMove(slider, QPoint(299, middle))
    assert slider.value() == 48
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(150, middle))
    assert not slider.isSliderDown()


def test_without_tracking_a_drag_tells_one_value_at_its_end(
    looks: LookSource, show: Show, qtbot: QtBot
) -> None:
    slider = _slider(looks)
    slider.setTracking(False)
    slider.setFixedWidth(300)
    show(slider)
    values: list[int] = []
    slider.valueChanged.connect(values.append)
    middle = slider.height() // 2
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(1, middle))
    qtbot.mouseMove(slider, QPoint(299, middle))
    assert values == []
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(299, middle))
    assert values == [48]


def test_the_wheel_moves_only_a_focused_slider(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    slider, other = _slider(looks), QPushButton()
    show(holder(column(slider, other)))
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    assert not _turn_wheel(slider, NOTCH)
    assert slider.value() == 24
    slider.setFocus()
    assert _turn_wheel(slider, NOTCH)
    assert slider.value() == 25
    for _ in range(4):  # a touch pad sends parts of a notch
        _turn_wheel(slider, -NOTCH // 4)
    assert slider.value() == 24


def test_mark_and_focus_are_painted(looks: LookSource, show: Show, qtbot: QtBot) -> None:
    slider, other = _slider(looks), QPushButton()
    show(holder(column(slider, other)))
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    bare = _image(slider)
    slider.set_mark(10)
    marked = _image(slider)
    slider.setFocus()
    assert len({bytes(image.constBits()) for image in (bare, marked, _image(slider))}) == 3


def test_a_slider_says_its_value_in_words(looks: LookSource) -> None:
    slider = _slider(looks)
    slider.setAccessibleName("Experts in RAM")
    slider.set_value_text("24 of 48 layers")
    assert (slider.accessibleDescription(), slider.toolTip()) == ("24 of 48 layers", "24 of 48 layers")


def test_painted_controls_take_another_theme_and_text_size(looks: LookSource, show: Show) -> None:
    switch, slider = Switch(looks), _slider(looks)
    show(holder(row(switch, slider)))
    before, size = _image(switch), switch.size()
    looks.set_look(Look(DARK, Texts("en"), 2.0))
    assert switch.size() == size * 2
    assert slider.sizeHint().height() == 56
    assert _image(switch) != before


def _words(choice: Segmented) -> list[QPushButton]:
    return list(choice._segments())


def _slider(looks: LookSource) -> MarkSlider:
    slider = MarkSlider(looks)
    slider.setRange(0, 48)
    slider.setValue(24)
    return slider


def _turn_wheel(slider: MarkSlider, delta: int) -> bool:
    """Return whether the slider took it."""
    event = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    slider.wheelEvent(event)
    return event.isAccepted()


def _image(widget: QWidget) -> QImage:
    return widget.grab().toImage()


def _grey(widget: QWidget) -> QImage:
    return _image(widget).convertToFormat(QImage.Format.Format_Grayscale8)
