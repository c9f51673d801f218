"""Whether the system asks for dark windows."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication


def is_system_dark() -> bool:
    """Return what the system is set to; light where it does not say. GUI thread.

    `QStyleHints.colorSchemeChanged` tells of a change.
    """
    return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
