"""What a message is stacked from."""

from collections.abc import Iterable

from PySide6.QtWidgets import QWidget


class Part(QWidget):
    """A widget that is told its width and answers with its height."""

    def fit(self, width: int) -> int:
        """Lay out for `width` pixels, take that size, and return the height."""
        raise NotImplementedError


def stack(parts: Iterable[tuple[Part, int, int]], width: int, left: int = 0, top: int = 0) -> int:
    """Place (part, gap above, indent) under each other and return where the last one ends."""
    y = top
    for number, (part, gap, indent) in enumerate(parts):
        y += gap if number else 0
        height = part.fit(max(1, width - indent))
        part.move(left + indent, y)
        y += height
    return y
