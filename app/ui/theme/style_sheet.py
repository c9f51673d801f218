"""The look becomes palette, font and style sheet of the application. No widget has a style sheet of its own.

Widgets name what they are in properties (`style`, `ink`, `kind`, `surface`, `tone`, ...); the rules are in
`style_rules.py`.
"""

import re
from collections.abc import Iterator
from string import Template
from typing import Final

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from app.ui.theme.look import Look
from app.ui.theme.style_rules import CONTROLS, FRAMES, TONES, VIEWS
from app.ui.theme.tokens import CONTROL_HEIGHT, FONT_CODE, TYPE, Palette

INKS: Final = {
    "soft": "text_soft",
    "faint": "text_faint",
    "accent": "accent_text",
    "success": "success_text",
    "warning": "warning_text",
    "danger": "danger_text",
    "info": "info_text",
}
"""What a label's `ink` is called, and the colour of the palette."""

_WEIGHTS: Final = {"medium": 500, "strong": 600}
"""Of buttons, and of those that matter most."""

_DP = re.compile(r"(-?\d+(?:\.\d+)?)dp")
"""A length that grows with the text; `px` stays as it is."""


def apply_look(app: QApplication, look: Look) -> None:
    """Make `look` the look of the whole application. GUI thread.

    The old sheet is taken away first: where one sheet replaces another, Qt styles every widget once for each
    of its ancestors and itself, which takes five times as long.
    """
    app.setStyleSheet("")
    if app.style().objectName() != "fusion":  # only without a sheet the style has its own name
        app.setStyle("Fusion")
    app.setFont(look.font("body"))
    app.setPalette(_palette(look.colors))
    app.setStyleSheet(style_sheet(look))


def style_sheet(look: Look) -> str:
    """Return the style sheet of one look."""
    colors = look.colors
    values = {
        name: getattr(colors, name)
        for name in Palette.__dataclass_fields__
        if isinstance(getattr(colors, name), str)
    }
    heights = {f"h_{name}": f"{pixels - 2}dp" for name, pixels in CONTROL_HEIGHT.items()}
    focused = {f"f_{name}": f"{pixels - 4}dp" for name, pixels in CONTROL_HEIGHT.items()}
    weights = {name: str(look.weight("label", weight)) for name, weight in _WEIGHTS.items()}
    rules = [FRAMES, CONTROLS, VIEWS, *_label_rules(look), *_tone_rules()]
    text = Template("\n".join(rules)).substitute(values, **heights, **focused, **weights)
    return _DP.sub(lambda found: f"{round(float(found[1]) * look.zoom)}px", text)


def polish(widget: QWidget) -> Iterator[None]:
    """Style a widget and all in it now, one at a step: later, when it is shown, it would be all at once."""
    for part in (widget, *widget.findChildren(QWidget)):
        if isValid(part):
            part.ensurePolished()
        yield


def restyle(widget: QWidget) -> None:
    """Let a changed property of `widget` take effect."""
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.updateGeometry()
    widget.update()


def _label_rules(look: Look) -> list[str]:
    rules = []
    for name, style in TYPE.items():
        family = f" font-family: {_quoted(FONT_CODE)};" if name == "code" else ""
        rules.append(
            f'*[style="{name}"] {{ font-size: {style.size}dp; font-weight: {look.weight(name)};{family} }}'
        )
    rules += [f'QLabel[ink="{ink}"] {{ color: ${color}; }}' for ink, color in INKS.items()]
    return rules


def _tone_rules() -> list[str]:
    return [TONES.replace("@tone", tone) for tone in ("accent", "info", "success", "warning", "danger")]


def _quoted(families: tuple[str, ...]) -> str:
    return ", ".join(f'"{family}"' for family in families)


def _palette(colors: Palette) -> QPalette:
    palette = QPalette()
    roles = QPalette.ColorRole
    pairs = {
        roles.Window: colors.window,
        roles.Base: colors.sunken,
        roles.AlternateBase: colors.surface,
        roles.Button: colors.raised,
        roles.Text: colors.text,
        roles.WindowText: colors.text,
        roles.ButtonText: colors.text,
        roles.PlaceholderText: colors.text_faint,
        roles.Highlight: colors.accent,
        roles.HighlightedText: colors.on_accent,
        roles.Link: colors.accent_text,
        roles.LinkVisited: colors.accent_text,
        roles.ToolTipBase: colors.raised,
        roles.ToolTipText: colors.text,
    }
    for role, color in pairs.items():
        palette.setColor(role, QColor(color))
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(colors.text_faint))
    return palette
