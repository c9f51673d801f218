"""Design tokens of Moxie: every colour, size and duration of the window, as data without Qt.

`python tokens.py` prints the contrast of every text pair and the distance of chart colours as people with
colour-vision deficiency see them, and ends with an error when a rule is broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme, `#RRGGBB`. Surfaces go from far (window) to near (raised)."""

    name: str
    window: str  # behind everything, chat paper
    surface: str  # rail, lists, docks, bars
    raised: str  # cards, pop-ups, dialogs
    sunken: str  # inputs, code, chart ground
    hover: str
    pressed: str
    border: str  # hairlines between areas
    border_strong: str  # card outlines on hover, table heads
    control: str  # outlines that carry meaning: switch, slider, check box (3:1)
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
    tier_other: str  # used by other programs
    series: tuple[str, ...]
    heat: tuple[str, ...]
    code_keyword: str
    code_string: str
    code_comment: str
    code_name: str
    scrim: str  # #AARRGGBB behind dialogs


LIGHT = Palette(
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

DARK = Palette(
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

SERIES_NAMES = (
    "vram, tok/s",
    "spill, temperature",
    "ram, second run",
    "disk, power",
    "cpu, third run",
    "budget",
)
SERIES_DASH: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3), (1, 2), (4, 4))
"""Dash pattern that goes with `Palette.series[i]`; `()` is a solid line. Lines never differ by colour alone."""

SPACE = {"xxs": 2, "xs": 4, "s": 8, "m": 12, "l": 16, "xl": 24, "xxl": 32, "xxxl": 48}
RADIUS = {"s": 4, "m": 8, "l": 12, "pill": 999}
CONTROL_HEIGHT = {"compact": 28, "normal": 34, "large": 40}
ICON_SIZE = {"s": 16, "m": 20, "l": 24}
LAYOUT = {"rail": 68, "conversations": 228, "dock": 328, "model_bar": 74, "status_bar": 28, "prose_max": 720}


@dataclass(frozen=True, slots=True)
class TypeStyle:
    """Size and line in pixels at 100 %, weight as in CSS."""

    size: int
    line: int
    weight: int


TYPE = {
    "caption": TypeStyle(12, 16, 400),  # smallest text of the program, also for Chinese
    "label": TypeStyle(13, 18, 500),
    "body": TypeStyle(14, 20, 400),
    "prose": TypeStyle(15, 24, 400),  # chat answers; Chinese 26
    "subtitle": TypeStyle(15, 22, 600),
    "title": TypeStyle(18, 24, 600),
    "headline": TypeStyle(24, 32, 600),
    "figure": TypeStyle(28, 34, 600),  # one big number of a card
    "code": TypeStyle(13, 20, 400),
}
FONT_TEXT = (
    "Inter",
    "Segoe UI Variable Text",
    "Segoe UI",
    "Microsoft YaHei UI",
    "Noto Sans CJK SC",
    "sans-serif",
)
FONT_CODE = (
    "JetBrains Mono",
    "Cascadia Mono",
    "Consolas",
    "Microsoft YaHei UI",
    "Noto Sans Mono CJK SC",
    "monospace",
)


@dataclass(frozen=True, slots=True)
class Shadow:
    """Soft shadow: blur and downward offset in pixels, opacity 0..1. Height is told by surface colour first."""

    blur: int
    offset: int
    opacity: float


ELEVATION = {"card": Shadow(0, 0, 0.0), "menu": Shadow(20, 6, 0.18), "dialog": Shadow(48, 16, 0.28)}
MOTION_MS = {"instant": 0, "fast": 120, "normal": 180, "slow": 260}
"""Fast: hover, press. Normal: fold, tab. Slow: dialog, dock. All 0 when the system asks for reduced motion."""


def luminance(color: str) -> float:
    """Return WCAG 2 relative luminance of `#RRGGBB`, 0..1."""
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(front: str, back: str) -> float:
    """Return the WCAG 2 contrast ratio, 1..21."""
    high, low = sorted((luminance(front), luminance(back)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def text_pairs(p: Palette) -> list[tuple[str, str, str, float]]:
    """Return (name, front, back, least ratio) of every pair the screens use."""
    grounds = {
        "window": p.window,
        "surface": p.surface,
        "raised": p.raised,
        "sunken": p.sunken,
        "hover": p.hover,
    }
    pairs = [
        (f"{name} on {ground}", front, back, 4.5)
        for name, front in (("text", p.text), ("text_soft", p.text_soft), ("text_faint", p.text_faint))
        for ground, back in grounds.items()
    ]
    pairs += [(f"accent_text on {g}", p.accent_text, b, 4.5) for g, b in grounds.items()]
    pairs += [
        ("text_soft on pressed", p.text_soft, p.pressed, 4.5),
        ("text on accent_soft", p.text, p.accent_soft, 4.5),
    ]
    pairs += [
        (f"on_accent on {n}", p.on_accent, b, 4.5)
        for n, b in (
            ("accent", p.accent),
            ("accent_hover", p.accent_hover),
            ("accent_pressed", p.accent_pressed),
        )
    ]
    pairs += [
        ("on_danger on danger", p.on_danger, p.danger, 4.5),
        ("accent_text on accent_soft", p.accent_text, p.accent_soft, 4.5),
    ]
    for kind in ("info", "success", "warning", "danger"):
        front, soft = getattr(p, f"{kind}_text"), getattr(p, f"{kind}_soft")
        pairs += [
            (f"{kind}_text on {kind}_soft", front, soft, 4.5),
            (f"{kind}_text on raised", front, p.raised, 4.5),
            (f"text on {kind}_soft", p.text, soft, 4.5),
            (f"text_soft on {kind}_soft", p.text_soft, soft, 4.5),
        ]
    pairs += [
        (f"{n} on sunken", getattr(p, n), p.sunken, 4.5)
        for n in ("code_keyword", "code_string", "code_comment", "code_name")
    ]
    pairs += [
        (f"series {n} on raised", c, p.raised, 3.0) for n, c in zip(SERIES_NAMES, p.series, strict=True)
    ]
    pairs += [
        (f"{n} on sunken", getattr(p, n), p.sunken, 2.4) for n in ("tier_vram", "tier_ram", "tier_disk")
    ]
    return [
        *pairs,
        ("control on raised", p.control, p.raised, 3.0),
        ("accent on window (focus)", p.accent, p.window, 3.0),
    ]


_DEFICIENCIES = {  # Machado, Oliveira, Fernandes 2009, severity 1.0, applied to linear RGB
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
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


def _oklab(color: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    r, g, b = (min(1.0, max(0.0, sum(m * v for m, v in zip(row, linear, strict=True)))) for row in matrix)
    long, medium, short = (
        (0.4122 * r + 0.5363 * g + 0.0514 * b),
        (0.2119 * r + 0.6807 * g + 0.1074 * b),
        (0.0883 * r + 0.2817 * g + 0.6300 * b),
    )
    long, medium, short = long ** (1 / 3), medium ** (1 / 3), short ** (1 / 3)
    return (
        0.2105 * long + 0.7936 * medium - 0.0041 * short,
        1.9780 * long - 2.4286 * medium + 0.4506 * short,
        0.0259 * long + 0.7828 * medium - 0.8087 * short,
    )


def nearest_pair(colors: tuple[str, ...], deficiency: str) -> float:
    """Return the smallest distance (OKLab x 100) between two of `colors`, as seen with `deficiency`."""
    seen = [_oklab(c, _DEFICIENCIES[deficiency]) for c in colors]
    return 100 * min(
        sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5 for x, y in combinations(seen, 2)
    )


def broken_rules(p: Palette) -> list[str]:
    """Return a sentence for each broken contrast or distance rule; empty when all hold."""
    bad = [
        f"{p.name}: {n} is {contrast(f, b):.2f}, least {least}"
        for n, f, b, least in text_pairs(p)
        if contrast(f, b) < least
    ]
    groups = {"tiers": ((p.tier_vram, p.tier_ram, p.tier_disk), 11.5), "series": (p.series[:5], 8.0)}
    for group, (colors, least) in groups.items():
        bad += [
            f"{p.name}: {group} {d} {nearest_pair(colors, d):.1f}, least {least}"
            for d in _DEFICIENCIES
            if nearest_pair(colors, d) < least
        ]
    return bad


def main() -> None:
    """Print all figures; exit 1 when a rule is broken."""
    for p in (LIGHT, DARK):
        print(f"\n{p.name}")
        for name, front, back, least in text_pairs(p):
            print(f"  {name:34} {front} / {back}  {contrast(front, back):5.2f}  (>= {least})")
        for d in _DEFICIENCIES:
            tiers = nearest_pair((p.tier_vram, p.tier_ram, p.tier_disk), d)
            print(f"  nearest pair, {d:7} tiers {tiers:5.1f}  series {nearest_pair(p.series[:5], d):5.1f}")
    bad = broken_rules(LIGHT) + broken_rules(DARK)
    raise SystemExit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
