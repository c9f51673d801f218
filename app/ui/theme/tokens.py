"""Design tokens: every colour, size and duration of the window, as data without Qt.

`tests/unit/ui/test_tokens.py` holds the contrast of every pair and the distance of tiers and series as
people with colour-vision deficiency see them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme, `#RRGGBB`.

    Attributes:
        window: Behind everything; chat paper. Surfaces go from far (`window`) to near (`raised`).
        surface: Rail, lists, docks, bars.
        raised: Cards, pop-ups, dialogs.
        sunken: Inputs, code, chart ground.
        border: Hairlines between areas.
        border_strong: Outlines of buttons and fields, table heads.
        control: Outlines that carry meaning: switch, slider, check box.
        tier_other: Memory that other programs use.
        series: Lines of charts in fixed order, each with `SERIES_DASH[i]`.
        heat: Stops of the expert map, little use to much.
        scrim: `#AARRGGBB`, laid over the window behind a dialog.
    """

    name: str
    window: str
    surface: str
    raised: str
    sunken: str
    hover: str
    pressed: str
    border: str
    border_strong: str
    control: str
    text: str
    text_soft: str
    text_faint: str
    accent: str
    accent_hover: str
    accent_pressed: str
    on_accent: str
    accent_soft: str
    accent_text: str
    info_soft: str
    info_text: str
    success_soft: str
    success_text: str
    warning_soft: str
    warning_text: str
    danger: str
    danger_hover: str
    on_danger: str
    danger_soft: str
    danger_text: str
    tier_vram: str
    tier_ram: str
    tier_disk: str
    tier_other: str
    series: tuple[str, ...]
    heat: tuple[str, ...]
    code_keyword: str
    code_string: str
    code_comment: str
    code_name: str
    scrim: str


LIGHT: Final = Palette(
    name="light",
    window="#F6F7F5",
    surface="#FBFCFB",
    raised="#FFFFFF",
    sunken="#EFF2EF",
    hover="#E9EDEA",
    pressed="#DEE4E0",
    border="#E1E6E2",
    border_strong="#C6CEC9",
    control="#7C8782",
    text="#151A18",
    text_soft="#48534E",
    text_faint="#626D68",
    accent="#0B7862",
    accent_hover="#096853",
    accent_pressed="#075645",
    on_accent="#FFFFFF",
    accent_soft="#DBF0E8",
    accent_text="#086752",
    info_soft="#E0ECFA",
    info_text="#1F5AA8",
    success_soft="#DDF2E3",
    success_text="#1B6B3A",
    warning_soft="#FBEBC8",
    warning_text="#7A4F00",
    danger="#C0362C",
    danger_hover="#A62C23",
    on_danger="#FFFFFF",
    danger_soft="#FBE1DE",
    danger_text="#A62C23",
    tier_vram="#07765F",
    tier_ram="#3982E7",
    tier_disk="#C88A12",
    tier_other="#9AA5A0",
    series=("#0A795D", "#C13D14", "#3779DA", "#B77F19", "#AD4B99", "#6A7570"),
    heat=("#EDF1EE", "#C9E6DA", "#84CBB3", "#38A088", "#0F6F68", "#0A3A4A"),
    code_keyword="#8A3A9A",
    code_string="#216E3C",
    code_comment="#626D68",
    code_name="#1F5AA8",
    scrim="#73101614",
)

DARK: Final = Palette(
    name="dark",
    window="#0F1314",
    surface="#151A1B",
    raised="#1B2123",
    sunken="#0B0E0F",
    hover="#232A2C",
    pressed="#2C3436",
    border="#252C2E",
    border_strong="#3A4446",
    control="#6F7C7E",
    text="#E9EEEC",
    text_soft="#B0BAB7",
    text_faint="#8F9A97",
    accent="#45CFAE",
    accent_hover="#62DCBF",
    accent_pressed="#33B797",
    on_accent="#04231B",
    accent_soft="#12332B",
    accent_text="#62DCBF",
    info_soft="#14293D",
    info_text="#86C1F7",
    success_soft="#13301F",
    success_text="#71D69B",
    warning_soft="#37290C",
    warning_text="#F2C15F",
    danger="#E8675B",
    danger_hover="#F07E73",
    on_danger="#2A0704",
    danger_soft="#3C1A17",
    danger_text="#F89B91",
    tier_vram="#33CBB5",
    tier_ram="#5890E8",
    tier_disk="#EDB852",
    tier_other="#5D686A",
    series=("#41A289", "#F1724C", "#71ABFA", "#EDB852", "#E088C2", "#93A09D"),
    heat=("#171D1F", "#173A3B", "#1A6259", "#2C967D", "#79CF9C", "#F2EDA6"),
    code_keyword="#D79BE8",
    code_string="#8FD69B",
    code_comment="#8F9A97",
    code_name="#86C1F7",
    scrim="#A6000000",
)

SERIES_DASH: Final[tuple[tuple[float, ...], ...]] = ((), (6, 3), (2, 2), (8, 3, 2, 3), (1, 2), (4, 4))
"""Dash that goes with `Palette.series[i]`, in widths of the pen; `()` is solid. No line differs by colour
alone."""

SPACE: Final[Mapping[str, int]] = {
    "xxs": 2, "xs": 4, "s": 8, "m": 12, "l": 16, "xl": 24, "xxl": 32, "xxxl": 48,
}  # fmt: skip
RADIUS: Final[Mapping[str, int]] = {"s": 4, "m": 8, "inner": 10, "l": 12, "xl": 14}
CONTROL_HEIGHT: Final[Mapping[str, int]] = {"compact": 28, "normal": 34, "large": 40}
ICON_SIZE: Final[Mapping[str, int]] = {"s": 16, "m": 20, "l": 24}
LAYOUT: Final[Mapping[str, int]] = {
    "rail": 68, "conversations": 228, "dock": 328, "model_bar": 74, "status_bar": 28, "prose_max": 720,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypeStyle:
    """Size and line in pixels at 100 %, weight as in CSS."""

    size: int
    line: int
    weight: int


TYPE: Final[Mapping[str, TypeStyle]] = {
    "caption": TypeStyle(12, 16, 400),  # the smallest: Chinese closes up below 12
    "label": TypeStyle(13, 18, 500),
    "body": TypeStyle(14, 20, 400),
    "prose": TypeStyle(15, 24, 400),
    "subtitle": TypeStyle(15, 22, 600),
    "title": TypeStyle(18, 24, 600),
    "headline": TypeStyle(24, 32, 600),
    "figure": TypeStyle(28, 34, 600),
    "code": TypeStyle(13, 20, 400),
}
REGULAR: Final = 400
TITLES: Final = ("subtitle", "title", "headline", "figure")
"""Styles that keep their weight in every language."""
FONT_TEXT: Final = (
    "Inter",
    "Segoe UI Variable Text",
    "Segoe UI",
    "Microsoft YaHei UI",
    "Noto Sans CJK SC",
    "sans-serif",
)
FONT_CODE: Final = (
    "JetBrains Mono",
    "Cascadia Mono",
    "Consolas",
    "Microsoft YaHei UI",
    "Noto Sans Mono CJK SC",
    "monospace",
)


@dataclass(frozen=True, slots=True)
class Shadow:
    """Blur and downward offset in pixels, opacity 0..1."""

    blur: int
    offset: int
    opacity: float


ELEVATION: Final[Mapping[str, Shadow]] = {"menu": Shadow(20, 6, 0.18), "dialog": Shadow(48, 16, 0.28)}
MOTION_MS: Final[Mapping[str, int]] = {"fast": 120, "normal": 180, "slow": 260}
"""Fast: hover, press. Normal: fold, tab. Slow: dialog, dock. All 0 where `Look.reduced_motion`."""
