"""Where the window stands and how its side panel is: as it was left, but never where no screen is."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

DEFAULT_WIDTH: Final = 1440
DEFAULT_HEIGHT: Final = 900

_TITLE_HEIGHT: Final = 40
"""A title bar and its border; what is left of the screen is for the window's inside."""

_GRIP_WIDTH: Final = 120
_GRIP_HEIGHT: Final = 30
"""So much of the window's top must be on a screen for a mouse to take it."""

_LARGEST: Final = 32767
"""Qt's own limit of a window is higher, X11's is this."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle on the desktop, in device-independent pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where a window stands, without its frame; while maximised, where it would be otherwise."""

    x: int
    y: int
    width: int
    height: int
    is_maximized: bool = False


@dataclass(frozen=True, slots=True)
class DockState:
    """How the side panel was left.

    Attributes:
        is_open: What the person wished; None leaves it to the window.
        tab: Key of the tab in front.
        width: What the person gave it, in pixels; None for its own.
    """

    is_open: bool | None
    tab: str
    width: int | None = None


def window_text(window: QWidget, dock: DockState) -> str:
    """Return where a window stands now and how its side panel is, as the settings keep it."""
    return json.dumps({**asdict(geometry_of(window)), "dock": asdict(dock)})


def dock_of_text(text: str | None) -> DockState | None:
    """Read the side panel of what `window_text` wrote; None for anything else."""
    data = _stored(text).get("dock")
    if not isinstance(data, dict) or not isinstance(data.get("tab"), str):
        return None
    is_open, width = data.get("is_open"), data.get("width")
    return DockState(
        is_open if isinstance(is_open, bool) else None,
        data["tab"],
        width if type(width) is int and 0 < width <= _LARGEST else None,
    )


def geometry_of_text(text: str | None) -> Geometry | None:
    """Read the place of what `window_text` wrote; None for anything else."""
    names = [field.name for field in fields(Geometry)]
    stored = _stored(text)
    if not stored.keys() >= set(names):
        return None
    data = {name: stored[name] for name in names}
    numbers = [data[name] for name in ("x", "y", "width", "height")]
    if not all(type(number) is int and abs(number) <= _LARGEST for number in numbers):
        return None
    if type(data["is_maximized"]) is not bool or data["width"] <= 0 or data["height"] <= 0:
        return None
    return Geometry(**data)


def fitting_geometry(saved: Geometry | None, screens: Sequence[Area]) -> Geometry:
    """Return where to open the window.

    Args:
        saved: Where it was left; None at the first start.
        screens: Usable areas, the main screen first; at least one.
    """
    if saved is None:
        return _centred(DEFAULT_WIDTH, DEFAULT_HEIGHT, screens[0])
    for screen in screens:
        width, height = min(saved.width, screen.width), min(saved.height, screen.height)
        fitting = Geometry(saved.x, saved.y, width, height, saved.is_maximized)
        if _can_be_taken(fitting, screen):
            return fitting
    centred = _centred(saved.width, saved.height, screens[0])
    return Geometry(centred.x, centred.y, centred.width, centred.height, saved.is_maximized)


def place_window(window: QWidget, saved_text: str | None) -> None:
    """Give a window that is not shown yet its place; show it with `show` afterwards."""
    screens = [_area(screen.availableGeometry()) for screen in QGuiApplication.screens()]
    primary = QGuiApplication.primaryScreen()
    if primary is not None:
        screens.insert(0, _area(primary.availableGeometry()))
    if not screens:
        return
    geometry = fitting_geometry(geometry_of_text(saved_text), screens)
    window.setGeometry(geometry.x, geometry.y, geometry.width, geometry.height)
    if geometry.is_maximized:
        window.setWindowState(window.windowState() | Qt.WindowState.WindowMaximized)


def geometry_of(window: QWidget) -> Geometry:
    """Return where a window stands now."""
    rect = window.normalGeometry()
    if rect.isEmpty():  # never shown in its normal state
        rect = window.geometry()
    return Geometry(rect.x(), rect.y(), rect.width(), rect.height(), window.isMaximized())


def _stored(text: str | None) -> dict[str, Any]:
    try:
        data = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _area(rect: QRect) -> Area:
    return Area(rect.x(), rect.y(), rect.width(), rect.height())


def _can_be_taken(window: Geometry, screen: Area) -> bool:
    left, right = max(window.x, screen.x), min(window.x + window.width, screen.x + screen.width)
    top = window.y - _TITLE_HEIGHT
    is_top_visible = (
        screen.y - _TITLE_HEIGHT <= top <= screen.y + screen.height - _GRIP_HEIGHT - _TITLE_HEIGHT
    )
    return is_top_visible and right - left >= min(_GRIP_WIDTH, window.width)


def _centred(width: int, height: int, screen: Area) -> Geometry:
    width = min(width, screen.width)
    height = min(height, screen.height - _TITLE_HEIGHT)
    x = screen.x + (screen.width - width) // 2
    y = screen.y + _TITLE_HEIGHT + (screen.height - _TITLE_HEIGHT - height) // 2
    return Geometry(x, y, width, height)
