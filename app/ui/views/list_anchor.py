"""Which message must not move while rows above and below it change their heights."""

from typing import NamedTuple

from app.ui.views.chat_model import ChatModel
from app.ui.views.row_window import RowWindow


class Anchor(NamedTuple):
    """A message, and how far its top is above the view's; negative when it begins inside the view."""

    message_id: int
    offset: int


class VersionAsked(NamedTuple):
    """Where another version of a message was asked for, as in `Anchor`, and how."""

    offset: int
    step: int
    has_keyboard: bool


def find_anchor(model: ChatModel, rows: RowWindow, top: int, height: int, seen: set[int]) -> Anchor | None:
    """Return the first row in sight that was seen before and is drawn to its end; None without rows.

    Args:
        top: Where the view begins in the list.
        seen: Ids of the messages that were in sight until now.
    """
    heights = rows.heights
    if not len(heights):
        return None
    found: list[tuple[int, int]] = []
    row = heights.row_at(top)
    while row < len(heights) and heights.top(row) < top + height:
        found.append((_certainty(model, rows, row, seen), row))
        row += 1
    best = max(found, key=lambda pair: (pair[0], -pair[1]), default=(0, heights.row_at(top)))[1]
    return Anchor(model.item_id(best), top - heights.top(best))


def _certainty(model: ChatModel, rows: RowWindow, row: int, seen: set[int]) -> int:
    widget = rows.widgets.get(model.item_id(row))
    if widget is None:
        return 0
    is_drawn = not widget.is_building
    return 1 + is_drawn + 2 * (is_drawn and widget.item.id in seen)
