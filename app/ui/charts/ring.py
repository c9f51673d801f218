"""A fixed ring of timed rows: the memory of every chart. No Qt; nothing is allocated after the start."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LONGEST_STEP_SECONDS: Final = 8.0
"""A longer silence is a gap in the line: a hidden window is sampled every 5 s while it
answers, and a driver may be slow."""


class Ring:
    """The last `capacity` rows of some named values, in order of time.

    Every row is written twice, `capacity` apart, so the rows in order are always one plain slice: reading
    copies nothing. The slices are views: read them before the next `append`.
    """

    def __init__(
        self,
        names: Sequence[str],
        capacity: int,
        *,
        longest_step_seconds: float = LONGEST_STEP_SECONDS,
    ) -> None:
        """Reserve all memory there will ever be."""
        self._capacity = capacity
        self._rows = {name: row for row, name in enumerate(names)}
        self._cells: FloatArray = np.full((len(names) + 1, 2 * capacity), np.nan)
        self.longest_step_seconds = longest_step_seconds
        self._written = 0
        self._shift_seconds = 0.0
        self._breaks_next = False

    def __len__(self) -> int:
        return min(self._written, self._capacity)

    @property
    def byte_count(self) -> int:
        """Memory of the values; the same from first to last."""
        return int(self._cells.nbytes)

    @property
    def times(self) -> FloatArray:
        """Seconds of each row, oldest first, never falling."""
        return self._cells[0, self._window()]

    def values(self, name: str) -> FloatArray:
        """Return one value of each row; NaN where the source gave none and where the line has a gap."""
        return self._cells[1 + self._rows[name], self._window()]

    def append(self, seconds: float, values: Mapping[str, float | None]) -> float:
        """Add a row; names left out are without value.

        After a long silence, or when the clock stepped back, a row without values goes in between.

        Returns:
            The time the row got: `seconds`, moved on by what the clock has stepped back so far.
        """
        placed = seconds + self._shift_seconds
        if self._written:
            last = self._time_of_last()
            if placed <= last:
                placed = last + self.longest_step_seconds
                self._shift_seconds = placed - seconds
                self._breaks_next = True
            if self._breaks_next or placed - last > self.longest_step_seconds:
                self._write((placed + last) / 2, {})
        self._breaks_next = False
        self._write(placed, values)
        return placed

    def break_line(self) -> None:
        """Leave a gap before the next row: the machine slept, or what was read has nothing in common."""
        self._breaks_next = self._written > 0

    def latest(self, name: str) -> float | None:
        """Return the value of the newest row, None when it has none."""
        return self.value_at(len(self) - 1, name) if len(self) else None

    def value_at(self, index: int, name: str) -> float | None:
        """Return the value of row `index`, counted from the oldest."""
        value = float(self.values(name)[index])
        return None if np.isnan(value) else value

    def has_values(self, name: str) -> bool:
        """Return whether any row has a value of that name."""
        return bool(np.isfinite(self.values(name)).any())

    def index_near(self, seconds: float) -> int | None:
        """Return the row nearest in time; None when the ring is empty."""
        times = self.times
        if not len(times):
            return None
        after = int(np.searchsorted(times, seconds))
        if after == 0 or after == len(times):
            return min(after, len(times) - 1)
        return after if times[after] - seconds < seconds - times[after - 1] else after - 1

    def _window(self) -> slice:
        if self._written <= self._capacity:
            return slice(0, self._written)
        start = self._written % self._capacity
        return slice(start, start + self._capacity)

    def _time_of_last(self) -> float:
        return float(self._cells[0, (self._written - 1) % self._capacity])

    def _write(self, seconds: float, values: Mapping[str, float | None]) -> None:
        slot = self._written % self._capacity
        for column in (slot, slot + self._capacity):
            self._cells[0, column] = seconds
            self._cells[1:, column] = np.nan
            for name, value in values.items():
                self._cells[1 + self._rows[name], column] = np.nan if value is None else value
        self._written += 1
