"""The bundled fonts: Inter for text, JetBrains Mono for code."""

import logging
from typing import Final

from PySide6.QtGui import QFontDatabase

from app.paths import resource_path

FONT_FILES: Final = (
    "Inter-Regular.ttf",
    "Inter-Medium.ttf",
    "Inter-SemiBold.ttf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Bold.ttf",
)

_log = logging.getLogger(__name__)


def load_fonts() -> bool:
    """Make the bundled fonts known to Qt, once, before the first widget. GUI thread.

    Returns False when one cannot be read; the next family of `tokens.FONT_TEXT` then stands in.
    """
    missing = [
        name for name in FONT_FILES if QFontDatabase.addApplicationFont(str(resource_path("fonts", name))) < 0
    ]
    if missing:
        _log.warning("fonts cannot be read: %s", ", ".join(missing))
    return not missing
