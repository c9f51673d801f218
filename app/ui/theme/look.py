"""What every widget gets: the colours in force and the language, and word when either changes."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QFont

from app.texts import Texts
from app.ui.theme.tokens import FONT_CODE, FONT_TEXT, REGULAR, TITLES, TYPE, Palette


@dataclass(frozen=True, slots=True)
class Look:
    """Theme and language.

    Attributes:
        zoom: Text scale, 0.8 .. 2.0.
        reduced_motion: Durations are 0.
    """

    colors: Palette
    texts: Texts
    zoom: float = 1.0
    reduced_motion: bool = False

    @property
    def is_chinese(self) -> bool:
        """Texts are Chinese: lines need more room."""
        return self.texts.language == "zh_CN"

    def text(self, key: str, **values: object) -> str:
        """Return the sentence for `key` in this language."""
        return self.texts.text(key, **values)

    def color(self, name: str, alpha: float = 1.0) -> QColor:
        """Return palette colour `name`; `alpha` below 1 sets its opacity."""
        color = QColor(getattr(self.colors, name))
        if alpha < 1.0:
            color.setAlphaF(alpha)
        return color

    def weight(self, style: str, weight: int | None = None) -> int:
        """Return the weight of `style`: only titles are bold in Chinese: its strokes close up."""
        if self.is_chinese and style not in TITLES:
            return REGULAR
        return weight or TYPE[style].weight

    def font(self, style: str, weight: int | None = None) -> QFont:
        """Return the font of type style `style` for painted text, figures of equal width."""
        spec = TYPE[style]
        font = QFont()
        font.setFamilies(list(FONT_CODE if style == "code" else FONT_TEXT))
        font.setPixelSize(round(spec.size * self.zoom))
        font.setWeight(QFont.Weight(self.weight(style, weight)))
        font.setFeature(QFont.Tag("tnum"), 1)
        return font

    def literal_font(self) -> QFont:
        """Return the code font for text to be read sign by sign: `<|` stays two signs, never one."""
        font = self.font("code")
        for feature in ("calt", "liga"):
            font.setFeature(QFont.Tag(feature), 0)
        return font


class LookSource(QObject):
    """The look in force.

    Every widget keeps the source, reads `look` when it paints or sets texts, and connects `changed` to a
    method that sets its texts, icons and colours again.

    Signals:
        changed: theme, language or zoom is another one now.
    """

    changed = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look

    @property
    def look(self) -> Look:
        """The look in force."""
        return self._look

    def set_look(self, look: Look) -> None:
        """Make `look` the one in force and tell all widgets. GUI thread."""
        if look != self._look:
            self._look = look
            self.changed.emit()
