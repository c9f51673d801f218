"""Own line icons on a 24 grid and the mark of Moxie, as path data of SVG syntax. No Qt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

GRID: Final = 24.0
STROKE: Final = 1.7
LOGO_GRID: Final = 32.0


@dataclass(frozen=True, slots=True)
class Glyph:
    """One icon: what is drawn as a line with round ends, and what is filled."""

    line: str = ""
    fill: str = ""


@dataclass(frozen=True, slots=True)
class LogoPart:
    """One face of the mark: `color` is a field of `Palette`, or None for a shade of black."""

    path: str
    color: str | None
    opacity: float


def _circle(x: float, y: float, r: float) -> str:
    return f"M{x - r} {y}a{r} {r} 0 0 1 {2 * r} 0a{r} {r} 0 0 1 {-2 * r} 0z"


def _box(x: float, y: float, width: float, height: float, r: float) -> str:
    across, down = width - 2 * r, height - 2 * r
    return (
        f"M{x + r} {y}h{across}a{r} {r} 0 0 1 {r} {r}v{down}a{r} {r} 0 0 1 {-r} {r}"
        f"h{-across}a{r} {r} 0 0 1 {-r} {-r}v{-down}a{r} {r} 0 0 1 {r} {-r}z"
    )


_DISC: Final = _circle(12, 12, 8)
_GRID_AT: Final = (4, 9.8, 15.6)

GLYPHS: Final[Mapping[str, Glyph]] = {
    "chat": Glyph(
        "M4.5 6.5a2 2 0 0 1 2-2h11a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-6.5l-4 3.3v-3.3h-.5a2 2 0 0 1-2-2z"
        "M8.5 9h7M8.5 12.2h4.5"
    ),
    "models": Glyph("M12 3.5 20 8v8l-8 4.5L4 16V8zM4.2 8.1 12 12.5l7.8-4.4M12 12.5v7.8"),
    "lab": Glyph(
        "M9.5 3.8h5M10.5 3.8v6L5.3 18a1.7 1.7 0 0 0 1.5 2.5h10.4a1.7 1.7 0 0 0 1.5-2.5l-5.2-8.2v-6M7.6 15h8.8"
    ),
    "settings": Glyph(
        "M4 7.5h9M17.5 7.5H20M4 16.5h2.5M11 16.5h9" + _circle(15.2, 7.5, 2.2) + _circle(8.8, 16.5, 2.2)
    ),
    "search": Glyph(_circle(10.8, 10.8, 5.8) + "M15.2 15.2l4.6 4.6"),
    "plus": Glyph("M12 5v14M5 12h14"),
    "minus": Glyph("M5 12h14"),
    "up": Glyph("M6.5 14.5l5.5-5.5 5.5 5.5"),
    "down": Glyph("M6.5 9.5l5.5 5.5 5.5-5.5"),
    "right": Glyph("M9.5 6.5l5.5 5.5-5.5 5.5"),
    "left": Glyph("M14.5 6.5l-5.5 5.5 5.5 5.5"),
    "eject": Glyph("M12 5.5 18.5 13h-13zM5.5 17.8h13"),
    "dock": Glyph(_box(4, 5, 16, 14, 2.5) + "M14.5 5v14"),
    "copy": Glyph(
        _box(8.5, 8.5, 11, 11, 2.2)
        + "M15.5 8.5V6.7a2.2 2.2 0 0 0-2.2-2.2H6.7a2.2 2.2 0 0 0-2.2 2.2v6.6a2.2 2.2 0 0 0 2.2 2.2h1.8"
    ),
    "edit": Glyph("M5 19h3.2L19 8.2 15.8 5 5 15.8zM13.3 7.5l3.2 3.2"),
    "delete": Glyph(
        "M4.5 7h15M9 7V5.6a1.3 1.3 0 0 1 1.3-1.3h3.4A1.3 1.3 0 0 1 15 5.6V7"
        "M6.4 7l.8 11a1.8 1.8 0 0 0 1.8 1.7h6a1.8 1.8 0 0 0 1.8-1.7l.8-11M10.2 11v5M13.8 11v5"
    ),
    "retry": Glyph("M19 12a7 7 0 1 1-2-4.9L19.3 9.2M19.5 4.8v4.6h-4.6"),
    "undo": Glyph("M8.6 5.2 4.8 9l3.8 3.8M5.2 9h8.6a5 5 0 0 1 0 10h-4.3"),
    "send": Glyph("M12 19V5.5M6 11.3l6-6 6 6"),
    "stop": Glyph(_box(7, 7, 10, 10, 2), _box(7, 7, 10, 10, 2)),
    "attach": Glyph(
        "M18.8 11l-6.9 6.9a4.2 4.2 0 0 1-6-6l7.2-7.2a2.8 2.8 0 0 1 4 4l-7.1 7.1a1.4 1.4 0 0 1-2-2l6.3-6.2"
    ),
    "think": Glyph(
        "M12 4.2a5.8 5.8 0 0 0-3.4 10.5c.6.5.9 1 .9 1.7v.6h5v-.6c0-.7.3-1.2.9-1.7A5.8 5.8 0 0 0 12 4.2z"
        "M10 20.2h4"
    ),
    "gpu": Glyph(
        _box(3.5, 7, 17, 9.5, 2)
        + _circle(9, 11.8, 2.3)
        + _circle(15.6, 11.8, 2.3)
        + "M6 16.5v2.3M9.5 16.5v2.3"
    ),
    "ram": Glyph(
        _box(3.5, 7.5, 17, 8, 1.6)
        + "M7.5 10.2v2.6M12 10.2v2.6M16.5 10.2v2.6M6 15.5v2.3M10 15.5v2.3M14 15.5v2.3M18 15.5v2.3"
    ),
    "disk": Glyph(_box(4, 4, 16, 16, 2.6) + _circle(12, 10.6, 3.6) + "M7.2 16.8h4"),
    "cpu": Glyph(
        _box(6.5, 6.5, 11, 11, 2)
        + _box(10, 10, 4, 4, 0.8)
        + "M9.5 3.8v2.7M14.5 3.8v2.7M9.5 17.5v2.7M14.5 17.5v2.7"
        "M3.8 9.5h2.7M3.8 14.5h2.7M17.5 9.5h2.7M17.5 14.5h2.7"
    ),
    "heat": Glyph("M10 13.2V6a2 2 0 1 1 4 0v7.2a4 4 0 1 1-4 0zM12 10v6"),
    "bolt": Glyph("M13 3.5 5.8 13.4h5.4L10.6 20.5 18.2 10.4h-5.4z"),
    "check": Glyph("M5.5 12.5l4.3 4.3 8.7-9.3"),
    "ok": Glyph(_DISC + "M8.6 12.3l2.4 2.4 4.5-4.9"),
    "warning": Glyph("M12 4.6 20.4 19H3.6zM12 10v4.2M12 16.6v.1"),
    "error": Glyph("M8.6 4h6.8L20 8.6v6.8L15.4 20H8.6L4 15.4V8.6zM12 8.2v4.6M12 15.6v.1"),
    "info": Glyph(_DISC + "M12 11.2v4.6M12 8.2v.1"),
    "download": Glyph("M12 4.5v10.2M7.5 10.4l4.5 4.5 4.5-4.5M5 19.3h14"),
    "folder": Glyph(
        "M4 7.3a1.8 1.8 0 0 1 1.8-1.8h3.6l2 2.3h6.8A1.8 1.8 0 0 1 20 9.6v7.1a1.8 1.8 0 0 1-1.8 1.8H5.8"
        "A1.8 1.8 0 0 1 4 16.7z"
    ),
    "drop": Glyph("M12 4v9.5M8 9.8l4 4 4-4M4.5 14.5v3a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-3"),
    "close": Glyph("M6.5 6.5l11 11M17.5 6.5l-11 11"),
    "shield": Glyph(
        "M12 3.8 18.8 6.3v5.2c0 4.2-2.8 7.3-6.8 8.7-4-1.4-6.8-4.5-6.8-8.7V6.3zM9 12l2.2 2.2 3.9-4.2"
    ),
    "more": Glyph(
        fill=_circle(6, 12, 1.6) + _circle(12, 12, 1.6) + _circle(18, 12, 1.6),
    ),
    "play": Glyph("M8 5.2v13.6L18.8 12z"),
    "gauge": Glyph("M5.2 17.6a8.2 8.2 0 1 1 13.6 0M12 13.6l3.6-4.4"),
    "clock": Glyph(_DISC + "M12 7.6V12l3 2"),
    "tune": Glyph("M6 4.5v6M6 14.5v5M12 4.5v2.5M12 11v8.5M18 4.5v8M18 16.5v3M4 12.5h4M10 9h4M16 14.5h4"),
    "layers": Glyph("M12 4.5l8 4.2-8 4.2-8-4.2zM4.3 12.4l7.7 4 7.7-4M4.3 16l7.7 4 7.7-4"),
    "wrench": Glyph(
        "M14.6 6.2a4.3 4.3 0 0 1 5-1L16.8 8l.4 1.8 1.8.4 2.2-2.4a4.4 4.4 0 0 1-5.9 5L8.4 19.7"
        "a2.1 2.1 0 0 1-3-3L12.2 10a4.4 4.4 0 0 1 2.4-3.8z"
    ),
    "globe": Glyph(
        _DISC + "M4 12h16M12 4c2.4 2.3 3.5 5 3.5 8s-1.1 5.7-3.5 8c-2.4-2.3-3.5-5-3.5-8s1.1-5.7 3.5-8z"
    ),
    "plan": Glyph(_box(4, 5, 16, 4, 1.2) + _box(4, 13, 10, 4, 1.2) + "M17 15h3"),
    "grid": Glyph("".join(_box(x, y, 4.4, 4.4, 1) for x in _GRID_AT for y in _GRID_AT)),
    "spinner": Glyph("M12 4.5a7.5 7.5 0 1 1-7.5 7.5"),
}

LOGO: Final = (
    LogoPart("M16 2.6 27.6 9.3v13.4L16 29.4 4.4 22.7V9.3z", "accent", 1.0),
    LogoPart("M4.4 9.3 16 16v13.4L4.4 22.7z", None, 0.20),
    LogoPart("M16 16 27.6 9.3v13.4L16 29.4z", None, 0.06),
    LogoPart(
        "M16 7.2c.5 2.7 1.6 3.8 4.3 4.3-2.7.5-3.8 1.6-4.3 4.3-.5-2.7-1.6-3.8-4.3-4.3 2.7-.5 3.8-1.6 4.3-4.3z",
        "on_accent",
        1.0,
    ),
)
"""A closed casket with a spark in its lid."""
