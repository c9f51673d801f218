"""Random numbers that stay the same for a seed on every system and with every numpy version."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

UNIFORMS_PER_NORMAL: Final = 12
"""Their sum has variance 1; sums round alike everywhere, which logarithms and cosines do not."""


class FixedRandom:
    """A stream of numbers from PCG64, whose raw output numpy promises never to change (NEP 19)."""

    def __init__(self, *seed: int) -> None:
        self._bits = np.random.PCG64(list(seed))

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Return `count` numbers from [0, 1)."""
        raw: NDArray[np.uint64] = self._bits.random_raw(count)
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, *shape: int) -> NDArray[np.float64]:
        """Return nearly normal numbers of mean 0 and variance 1, within -6 .. 6."""
        count = int(np.prod(shape))
        rows = self.uniform(count * UNIFORMS_PER_NORMAL).reshape(UNIFORMS_PER_NORMAL, count)
        total = np.zeros(count)
        for row in rows:  # one after the other: numpy's own sum picks its order by processor
            total += row
        return (total - UNIFORMS_PER_NORMAL / 2).reshape(shape)

    def permutation(self, count: int) -> NDArray[np.intp]:
        """Return 0 .. count-1 in random order."""
        return np.argsort(self.uniform(count), kind="stable")
