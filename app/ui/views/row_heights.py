"""How high the rows of a long list are, measured or estimated, and where each begins. No Qt."""

from bisect import bisect_right
from itertools import accumulate


class RowHeights:
    """Heights of all rows; an estimate holds until the row is measured."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._offsets: list[int] | None = [0]

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """Height of all rows together."""
        return self._sums()[-1]

    def reset(self, heights: list[int]) -> None:
        """Take new rows."""
        self._heights = list(heights)
        self._offsets = None

    def insert(self, row: int, height: int) -> None:
        """Add a row."""
        self._heights.insert(row, height)
        self._offsets = None

    def remove(self, row: int) -> None:
        """Take a row out."""
        del self._heights[row]
        self._offsets = None

    def height(self, row: int) -> int:
        """Return the height of a row."""
        return self._heights[row]

    def set_height(self, row: int, height: int) -> bool:
        """Take a measured height; True when it is another one than before."""
        if self._heights[row] == height:
            return False
        delta = height - self._heights[row]
        self._heights[row] = height
        if self._offsets is not None and row == len(self._heights) - 1:
            self._offsets[-1] += delta  # the growing last row: the usual case while text streams
        else:
            self._offsets = None
        return True

    def top(self, row: int) -> int:
        """Return where a row begins."""
        return self._sums()[row]

    def row_at(self, y: int) -> int:
        """Return the row at `y`, the first or last one beyond the ends. There must be a row."""
        found = bisect_right(self._sums(), y) - 1
        return max(0, min(found, len(self._heights) - 1))

    def _sums(self) -> list[int]:
        if self._offsets is None:
            self._offsets = list(accumulate(self._heights, initial=0))
        return self._offsets
