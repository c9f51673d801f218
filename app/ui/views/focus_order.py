"""Tab through a list whose widgets come and go: in the order in which they are seen."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def focus_next(area: QWidget, rows: Sequence[QWidget], *, is_forward: bool) -> bool:
    """Move the focus to the next control in `rows`, from top to bottom, or out of `area` at their ends.

    False when there is nowhere to go.
    """
    stops = [area, *(stop for row in rows for stop in _stops(row))]
    current = QApplication.focusWidget()
    reason = Qt.FocusReason.TabFocusReason if is_forward else Qt.FocusReason.BacktabFocusReason
    place = stops.index(current) if current in stops else _place_of_row(rows, stops, current)
    following = place + (1 if is_forward else -1)
    if 0 <= following < len(stops):
        stops[following].setFocus(reason)
        return True
    outside = _outside(area, is_forward=is_forward)
    if outside is None:
        return False
    outside.setFocus(reason)
    return True


def _stops(row: QWidget) -> list[QWidget]:
    children: list[Any] = list(row.findChildren(QWidget))

    def place(child: QWidget) -> tuple[int, int]:
        corner = child.mapTo(row, child.rect().topLeft())
        return corner.y(), corner.x()

    return sorted((child for child in children if _takes_tab(child)), key=place)


def _takes_tab(widget: QWidget) -> bool:
    takes = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes and widget.isVisible() and widget.isEnabled()


def _place_of_row(rows: Sequence[QWidget], stops: list[QWidget], current: QWidget | None) -> int:
    """Return the stop before the text that has the focus by a click."""
    for row in rows:
        if current is not None and row.isAncestorOf(current):
            first = next(iter(_stops(row)), None)
            return stops.index(first) - 1 if first is not None else 0
    return 0


def _outside(area: QWidget, *, is_forward: bool) -> QWidget | None:
    widget = area.nextInFocusChain() if is_forward else area.previousInFocusChain()
    while widget is not None and widget is not area:
        if not area.isAncestorOf(widget) and _takes_tab(widget):
            return widget
        widget = widget.nextInFocusChain() if is_forward else widget.previousInFocusChain()
    return None
