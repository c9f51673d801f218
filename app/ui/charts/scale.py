"""Which numbers stand beside a chart. Pure."""

import math
from dataclasses import dataclass
from typing import Final

_ROUND: Final = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Times a power of ten; the half of each is a short number too."""

SHOWN_SHARE_ABOVE: Final = 0.08
"""Room over the highest tick, so that a line along it is seen whole."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The value axis of one curve, from 0.

    Attributes:
        highest_tick: The upper number; the line in the middle is its half.
    """

    highest_tick: float

    @property
    def ticks(self) -> tuple[float, float, float]:
        """The three numbers beside the chart."""
        return (0.0, self.highest_tick / 2, self.highest_tick)

    @property
    def top(self) -> float:
        """The value at the upper edge."""
        return self.highest_tick * (1 + SHOWN_SHARE_ABOVE)


def round_scale(largest: float | None, least: float) -> Scale:
    """Return the smallest round scale that holds `largest`, and at least `least`."""
    wanted = max(least, largest or 0.0)
    power = 10.0 ** math.floor(math.log10(wanted))
    return Scale(next(step * power for step in _ROUND if step * power >= wanted * 0.999))


def tick_text(value: float) -> str:
    """Return a tick's number in as few figures as tell it apart."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
