"""The window opens where it was left, and never where no screen is."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.ui.window_geometry import (
    Area,
    DockState,
    Geometry,
    dock_of_text,
    fitting_geometry,
    geometry_of_text,
    place_window,
    window_text,
)

LAPTOP = Area(0, 0, 1366, 728)
BESIDE = Area(1366, 0, 1920, 1040)
DOCK = DockState(True, "plan")
LEFT_OF = Area(-2560, -300, 2560, 1400)


def test_the_first_window_fits_a_small_screen() -> None:
    window = fitting_geometry(None, [LAPTOP])
    assert (window.width, window.height) == (1366, 688)
    assert (window.x, window.y) == (0, 40)


def test_a_saved_place_is_kept() -> None:
    saved = Geometry(1500, 100, 1200, 800, True)
    assert fitting_geometry(saved, [LAPTOP, BESIDE]) == saved


def test_a_place_on_a_screen_at_negative_coordinates_is_kept() -> None:
    saved = Geometry(-2000, -200, 1200, 800)
    assert fitting_geometry(saved, [LAPTOP, LEFT_OF]) == saved


@pytest.mark.parametrize(
    "saved",
    [
        Geometry(1500, 100, 1200, 800),  # its screen is gone
        Geometry(1300, 100, 1200, 800),  # a strip too narrow to take
        Geometry(100, 725, 1200, 800),  # only its frame is visible
        Geometry(100, -900, 1200, 800),
    ],
)
def test_a_place_off_all_screens_becomes_the_middle_of_the_main_one(saved: Geometry) -> None:
    window = fitting_geometry(saved, [LAPTOP])
    assert (window.width, window.height) == (1200, 688)
    assert (window.x, window.y) == (83, 40)


def test_a_window_larger_than_its_screen_shrinks_and_stays_maximised() -> None:
    window = fitting_geometry(Geometry(0, 40, 3840, 2100, True), [LAPTOP])
    assert window == Geometry(0, 40, 1366, 728, True)


@example(Geometry(-3926, 0, 4046, 1))  # wider than the screen it reaches into
@given(
    st.builds(
        Geometry,
        *([st.integers(-30_000, 30_000)] * 2),
        *([st.integers(1, 30_000)] * 2),
        st.booleans(),
    )
)
def test_wherever_it_was_it_can_be_taken_by_its_top(saved: Geometry) -> None:
    screens: Sequence[Area] = [LAPTOP, BESIDE, LEFT_OF]
    window = fitting_geometry(saved, screens)
    assert any(
        window.x < screen.x + screen.width
        and window.x + window.width > screen.x
        and screen.y <= window.y < screen.y + screen.height
        and window.width <= screen.width
        for screen in screens
    )


@given(st.text() | st.none())
def test_settings_of_any_text_are_a_geometry_or_none(text: str | None) -> None:
    assert geometry_of_text(text) is None
    assert dock_of_text(text) is None


@pytest.mark.parametrize("text", ['{"dock": 1}', '{"dock": {"is_open": true}}', '{"dock": {"tab": []}}'])
def test_a_side_panel_no_window_has_is_none(text: str) -> None:
    assert dock_of_text(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 0, "y": 0, "width": 0, "height": 5, "is_maximized": false}',
        '{"x": 1e300, "y": 0, "width": 5, "height": 5, "is_maximized": false}',
        '{"x": 99999999999999, "y": 0, "width": 5, "height": 5, "is_maximized": false}',
        '{"x": true, "y": 0, "width": 5, "height": 5, "is_maximized": false}',
        '{"x": 0, "y": 0, "width": 5, "height": 5, "is_maximized": 1}',
        "[]",
        "[" * 100_000,
    ],
)
def test_values_no_window_can_have_are_none(text: str) -> None:
    assert geometry_of_text(text) is None


def test_a_real_window_comes_back_where_it_was(qtbot: QtBot) -> None:
    first = QMainWindow()
    qtbot.addWidget(first)
    place_window(first, json.dumps(asdict(Geometry(30, 60, 500, 400))))
    first.show()
    assert geometry_of_text(window_text(first, DOCK)) == Geometry(30, 60, 500, 400)
    assert dock_of_text(window_text(first, DOCK)) == DOCK
    first.setGeometry(50, 70, 600, 410)
    second = QMainWindow()
    qtbot.addWidget(second)
    place_window(second, window_text(first, DOCK))
    second.show()
    assert second.geometry() == first.geometry()


def test_a_maximised_window_comes_back_maximised_and_remembers_its_size(qtbot: QtBot) -> None:
    first = QMainWindow()
    qtbot.addWidget(first)
    place_window(first, json.dumps(asdict(Geometry(30, 60, 500, 400, True))))
    first.show()
    qtbot.waitUntil(first.isMaximized)
    saved = geometry_of_text(window_text(first, DOCK))
    assert saved == Geometry(30, 60, 500, 400, True)
