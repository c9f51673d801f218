"""How far apart colours look, for usual sight and the three kinds of colour-vision deficiency."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import dist

Matrix = tuple[tuple[float, float, float], ...]

SIGHTS: Mapping[str, Matrix] = {  # Machado, Oliveira, Fernandes 2009, severity 1.0, for linear RGB
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
_LMS: Matrix = (
    (0.4122, 0.5363, 0.0514),
    (0.2119, 0.6807, 0.1074),
    (0.0883, 0.2817, 0.6300),
)
_LAB: Matrix = (
    (0.2105, 0.7936, -0.0041),
    (1.9780, -2.4286, 0.4506),
    (0.0259, 0.7828, -0.8087),
)


def contrast(front: str, back: str) -> float:
    """Return the WCAG 2 contrast ratio of two `#RRGGBB`, 1..21."""
    high, low = sorted((_luminance(front), _luminance(back)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def nearest(colors: Sequence[str], sight: str) -> float:
    """Return the smallest distance (OKLab x 100) between two of `colors`."""
    seen = [_oklab(color, SIGHTS[sight]) for color in colors]
    return 100 * min(dist(one, two) for one, two in combinations(seen, 2))


def _linear(color: str) -> list[float]:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _luminance(color: str) -> float:
    red, green, blue = _linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _oklab(color: str, sight: Matrix) -> list[float]:
    seen = [min(1.0, max(0.0, part)) for part in _times(sight, _linear(color))]
    return _times(_LAB, [part ** (1 / 3) for part in _times(_LMS, seen)])


def _times(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [sum(m * v for m, v in zip(line, vector, strict=True)) for line in matrix]
