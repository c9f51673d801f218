"""SVG path data becomes a QPainterPath, so that icons need no SVG module and are sharp at every scale."""

import re
from collections.abc import Iterator
from functools import cache
from math import atan2, degrees, hypot, sqrt

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

_TOKEN = re.compile(r"[A-Za-z]|[-+]?(?:\d+\.?\d*|\.\d+)")
_ARGUMENTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "A": 7, "Z": 0}


@cache
def painter_path(data: str) -> QPainterPath:
    """Return path data as a path. Arcs must be of circles, flags parted by blanks.

    Raises:
        KeyError: a command other than M L H V C S A Z.
    """
    pen = _Pen()
    for command, numbers in _steps(data):
        pen.draw(command, numbers)
    return pen.path


def _steps(data: str) -> Iterator[tuple[str, list[float]]]:
    tokens = _TOKEN.findall(data)
    at, command = 0, "M"
    while at < len(tokens):
        if tokens[at].isalpha():
            command = tokens[at]
            at += 1
        count = _ARGUMENTS[command.upper()]
        yield command, [float(token) for token in tokens[at : at + count]]
        at += count
        if command in "Mm":  # pairs that follow a move are lines
            command = "L" if command == "M" else "l"


class _Pen:
    def __init__(self) -> None:
        self.path = QPainterPath()
        self._control: QPointF | None = None  # of the curve before, mirrored by S

    def draw(self, command: str, numbers: list[float]) -> None:
        here = self.path.currentPosition()
        base = here if command.islower() else QPointF(0, 0)
        points = [base + QPointF(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=False)]
        control = None
        match command.upper():
            case "M":
                self.path.moveTo(points[0])
            case "L":
                self.path.lineTo(points[0])
            case "H":
                self.path.lineTo(QPointF(base.x() + numbers[0], here.y()))
            case "V":
                self.path.lineTo(QPointF(here.x(), base.y() + numbers[0]))
            case "C":
                self.path.cubicTo(points[0], points[1], points[2])
                control = points[1]
            case "S":
                mirrored = here * 2 - self._control if self._control else here
                self.path.cubicTo(mirrored, points[0], points[1])
                control = points[0]
            case "A":
                end = base + QPointF(numbers[5], numbers[6])
                self._arc(end, numbers[0], is_large=numbers[3] == 1, is_clockwise=numbers[4] == 1)
            case "Z":
                self.path.closeSubpath()
        self._control = control

    def _arc(self, end: QPointF, radius: float, *, is_large: bool, is_clockwise: bool) -> None:
        """Draw a circular arc (SVG 1.1, appendix F.6.5, with rx = ry)."""
        start = self.path.currentPosition()
        x, y = (start.x() - end.x()) / 2, (start.y() - end.y()) / 2
        distance = hypot(x, y)
        radius = max(radius, distance)
        height = sqrt(max(0.0, radius**2 - distance**2)) / distance
        side = -height if is_large == is_clockwise else height
        center = QPointF(end.x() + x + side * y, end.y() + y - side * x)
        first, last = _angle(start - center), _angle(end - center)
        sweep = (first - last) % 360 if is_clockwise else -((last - first) % 360)
        box = QRectF(center.x() - radius, center.y() - radius, 2 * radius, 2 * radius)
        self.path.arcTo(box, first, -sweep)


def _angle(arm: QPointF) -> float:
    """Return the angle of `arm` as Qt counts: degrees, against the clock, 0 at three o'clock."""
    return degrees(atan2(-arm.y(), arm.x()))
