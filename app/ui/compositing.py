"""Whether windows can be seen through here: X without a compositing manager paints black instead."""

import ctypes
import sys

from PySide6.QtGui import QGuiApplication


def has_compositing() -> bool:
    """Ask the X server if the windows are its own; other systems compose. Needs an application object."""
    if sys.platform != "linux" or QGuiApplication.platformName() != "xcb":
        return True
    try:
        return _is_manager_running(ctypes.CDLL("libX11.so.6"))
    except (OSError, AttributeError):  # square corners are right everywhere
        return False


def _is_manager_running(x11: ctypes.CDLL) -> bool:
    """Return whether somebody owns the selection that a compositing manager takes."""
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = x11.XGetSelectionOwner.restype = ctypes.c_ulong
    display = ctypes.c_void_p(x11.XOpenDisplay(None))
    if not display:
        return False
    screen = x11.XDefaultScreen(display)
    manager = x11.XInternAtom(display, f"_NET_WM_CM_S{screen}".encode(), 0)
    owner = x11.XGetSelectionOwner(display, ctypes.c_ulong(manager))
    x11.XCloseDisplay(display)
    return bool(owner)
