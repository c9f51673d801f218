"""The looks every page is seen in.

`@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)` runs a test in each of them.
"""

from collections.abc import Mapping

from app.ui.theme.tokens import DARK, LIGHT, Palette

LOOKS: Mapping[str, tuple[Palette, str]] = {
    "light-en": (LIGHT, "en"),
    "dark-en": (DARK, "en"),
    "light-zh": (LIGHT, "zh_CN"),
    "dark-zh": (DARK, "zh_CN"),
}
LOOK_NAMES = tuple(LOOKS)
