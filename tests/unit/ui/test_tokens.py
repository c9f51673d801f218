"""Colours can be read, and told apart by everyone."""

from collections.abc import Iterator

import pytest

from app.ui.theme.tokens import DARK, LIGHT, SERIES_DASH, TYPE, Palette
from tests.unit.ui.color_sight import SIGHTS, contrast, nearest

THEMES = pytest.mark.parametrize("colors", [LIGHT, DARK], ids=lambda colors: colors.name)
GROUNDS = ("window", "surface", "raised", "sunken", "hover")
TONES = ("info", "success", "warning", "danger")
TEXT_LEAST, OUTLINE_LEAST, TIER_LEAST = 4.5, 3.0, 2.4
TIERS_APART, SERIES_APART = 11.5, 8.0


def _text_pairs() -> Iterator[tuple[str, str]]:
    """Yield (front, back) of every text the window sets."""
    for ground in GROUNDS:
        for ink in ("text", "text_soft", "text_faint", "accent_text"):
            yield ink, ground
    for tone in (*TONES, "accent"):
        for ink in ("text", "text_soft", f"{tone}_text"):
            yield ink, f"{tone}_soft"
    for tone in TONES:
        yield f"{tone}_text", "raised"
        yield f"{tone}_text", "surface"
    for ground in ("accent", "accent_hover", "accent_pressed"):
        yield "on_accent", ground
    for ground in ("danger", "danger_hover"):
        yield "on_danger", ground
    for ink in ("code_keyword", "code_string", "code_comment", "code_name"):
        yield ink, "sunken"
    yield from (("text_soft", "pressed"), ("text", "pressed"), ("text", "border"), ("accent_text", "hover"))


@THEMES
@pytest.mark.parametrize(("front", "back"), sorted(set(_text_pairs())))
def test_text_can_be_read(colors: Palette, front: str, back: str) -> None:
    assert contrast(getattr(colors, front), getattr(colors, back)) >= TEXT_LEAST


@THEMES
def test_outlines_that_carry_meaning_can_be_seen(colors: Palette) -> None:
    pairs = [
        *((line, colors.raised) for line in colors.series),
        (colors.control, colors.raised),
        (colors.control, colors.surface),
        *((colors.accent, getattr(colors, ground)) for ground in GROUNDS),
        *((colors.danger, getattr(colors, ground)) for ground in ("surface", "raised", "sunken")),
    ]
    assert [pair for pair in pairs if contrast(*pair) < OUTLINE_LEAST] == []
    tiers = (colors.tier_vram, colors.tier_ram, colors.tier_disk)
    assert [tier for tier in tiers if contrast(tier, colors.sunken) < TIER_LEAST] == []


@THEMES
@pytest.mark.parametrize("sight", SIGHTS)
def test_tiers_and_series_are_told_apart(colors: Palette, sight: str) -> None:
    assert nearest((colors.tier_vram, colors.tier_ram, colors.tier_disk), sight) >= TIERS_APART
    assert nearest(colors.series[:5], sight) >= SERIES_APART


def test_the_checks_know_what_cannot_be_read_or_told_apart() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") < TEXT_LEAST
    assert nearest(("#C04040", "#507020"), "protan") < nearest(("#C04040", "#507020"), "usual")


def test_both_themes_have_the_same_number_of_series_and_each_its_dash() -> None:
    assert len(LIGHT.series) == len(DARK.series) == len(SERIES_DASH) == len(set(SERIES_DASH))
    assert len(LIGHT.heat) == len(DARK.heat)


def test_no_text_is_smaller_than_chinese_can_be_read() -> None:
    assert min(style.size for style in TYPE.values()) == 12
