"""Whether a window can be shown here, found out without loading Qt."""

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_X11_PLUGIN: Final = ("Qt", "plugins", "platforms", "libqxcb.so")


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether there is a screen, or something that Qt was told to take for one."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform == "win32" or any(environment.get(name) for name in names)


def missing_library(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return what keeps Qt from showing a window, as the system's loader words it; None when nothing does.

    Qt itself would end the process over it (`qt.qpa.plugin: Could not load the Qt platform plugin "xcb"`).
    """
    spec = importlib.util.find_spec("PySide6")
    if spec is None or spec.origin is None:
        return "PySide6"
    if sys.platform != "linux" or environment.get("WAYLAND_DISPLAY") or environment.get("QT_QPA_PLATFORM"):
        return None
    plugin = Path(spec.origin).parent.joinpath(*_X11_PLUGIN)
    try:
        ctypes.CDLL(str(plugin))
    except OSError as reason:
        return str(reason)
    return None
