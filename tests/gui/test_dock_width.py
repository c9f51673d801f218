"""The side panel is as wide as the person wants it, within bounds."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.window_geometry import DockState, dock_of_text, window_text

OWN = LAYOUT["dock"]


@pytest.fixture
def window(looks: LookSource, show: Callable[[QWidget], QWidget]) -> MainWindow:
    window = MainWindow(looks)
    window.resize(1440, 900)
    window.set_dock_open(True)
    show(window)
    return window


def wait_for_width(qtbot: QtBot, window: MainWindow, width: int) -> None:
    qtbot.waitUntil(lambda: window.dock.width() == width, timeout=5000)


def drag(window: MainWindow, pixels: int) -> None:
    """Drag the handle to the left, which makes the panel wider."""
    handle = window.dock.handle
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=QPoint(2, 100))
    QTest.mouseMove(handle, QPoint(2 - pixels, 100))
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=QPoint(2 - pixels, 100))


def test_it_is_dragged_wider_and_double_clicked_back(window: MainWindow, qtbot: QtBot) -> None:
    assert window.dock.width() == OWN
    drag(window, 100)
    wait_for_width(qtbot, window, OWN + 100)
    assert window.width() == 1440
    QTest.mouseDClick(window.dock.handle, Qt.MouseButton.LeftButton)
    wait_for_width(qtbot, window, OWN)
    assert window.dock.width_wish is None


def test_it_has_bounds(window: MainWindow, qtbot: QtBot) -> None:
    drag(window, -1000)
    wait_for_width(qtbot, window, window.dock.minimumSizeHint().width())
    assert 200 < window.dock.width() <= OWN
    window.resize(2400, 900)
    drag(window, 2000)
    qtbot.waitUntil(lambda: window.dock.width() > OWN)
    assert window.dock.width_wish == window.dock.width() < 1000


def test_the_keyboard_moves_it_and_its_width_is_told(window: MainWindow, qtbot: QtBot) -> None:
    handle = window.dock.handle
    handle.setFocus()
    QTest.keyClick(handle, Qt.Key.Key_Left)
    wait_for_width(qtbot, window, OWN + 16)
    assert handle.accessibleName() == "Width of the side panel"
    assert handle.accessibleDescription() == f"{OWN + 16} pixels"
    QTest.keyClick(handle, Qt.Key.Key_Right)
    QTest.keyClick(handle, Qt.Key.Key_PageUp)
    qtbot.waitUntil(lambda: window.dock.width() > OWN + 16)
    QTest.keyClick(handle, Qt.Key.Key_Home)
    wait_for_width(qtbot, window, OWN)


def test_a_wide_panel_gives_way_in_a_narrow_window_and_comes_back(window: MainWindow, qtbot: QtBot) -> None:
    drag(window, 400)
    wait_for_width(qtbot, window, OWN + 400)
    window.resize(1040, 700)
    qtbot.waitUntil(lambda: window.dock.width() < OWN + 400)
    assert window.width() == 1040
    window.resize(1440, 900)
    wait_for_width(qtbot, window, OWN + 400)


def test_larger_text_makes_its_own_width_larger(window: MainWindow, looks: LookSource, qtbot: QtBot) -> None:
    looks.set_look(Look(looks.look.colors, looks.look.texts, 1.5))
    wait_for_width(qtbot, window, round(OWN * 1.5))


@pytest.mark.parametrize("width", [None, 412])
def test_its_width_is_kept(window: MainWindow, width: int | None) -> None:
    state = DockState(True, "plan", width)
    assert dock_of_text(window_text(window, state)) == state


@pytest.mark.parametrize("width", ["412", -1, 10**9, True])
def test_a_damaged_width_is_its_own_width(window: MainWindow, width: object) -> None:
    text = window_text(window, DockState(True, "plan", width))  # type: ignore[arg-type]  # what damage can make of it
    assert dock_of_text(text) == DockState(True, "plan")
