"""How high a message will be, guessed from its text alone: good enough for the scroll bar. No Qt."""

from typing import Final

from app.ui.views.chat_items import MessageItem

_ROUND_ABOUT: Final = 58
"""Space above and below, and the line of figures."""
_FOLD: Final = 46
_BUBBLE: Final = 20
_BUBBLE_TEXT_MAX: Final = 528
_BUBBLE_LINES_MAX: Final = 34
_CHARACTER: Final = 7.6
_FAILURE: Final = 260


def estimated_height(item: MessageItem, width: int, line: int, zoom: float) -> int:
    """Return pixels for `width` and lines of `line` pixels."""
    room = min(width, _BUBBLE_TEXT_MAX) if item.is_user else width
    per_line = max(1.0, room / (_CHARACTER * zoom))
    lines = item.text.count("\n") + len(item.text) / per_line + 0.5
    height = _ROUND_ABOUT * zoom
    if item.is_user:
        height += _BUBBLE + min(lines, _BUBBLE_LINES_MAX) * line
    else:
        height += lines * line
        height += _FOLD * zoom if item.reasoning else 0
        height += _FAILURE * zoom if item.failure else 0
    return max(1, round(height))
