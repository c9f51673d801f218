"""Buttons with words, and buttons that are only an icon."""

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QHideEvent, QIcon, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy

from app.ui.theme.icons import icon
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle

_INKS = {"primary": "on_accent", "danger": "on_danger", "link": "accent_text", "secondary": "text"}
_ICON_SIZE = 18
_TURN_MS = 80
_TURN_DEGREES = 30


class _EnterButton(QPushButton):
    """A button that Enter presses too; Qt gives it only Space outside of dialogs."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat():
            self.click()
        else:
            super().keyPressEvent(event)


class Button(_EnterButton):
    """A button: primary, secondary, ghost, danger or link; one primary in a view."""

    def __init__(
        self,
        looks: LookSource,
        kind: str = "secondary",
        icon_name: str | None = None,
        *,
        size: str = "normal",
    ) -> None:
        """Make a button; `size` is compact, normal or large."""
        super().__init__()
        self._looks = looks
        self._kind = kind
        self._icon_name = icon_name
        self._rest_text: str | None = None
        self._had_focus = False
        self._angle = 0
        self._spin = QTimer(self, interval=_TURN_MS)
        self._spin.timeout.connect(self._on_spin)
        self.setProperty("kind", kind)
        self.setProperty("measure", size)
        self.setAutoDefault(False)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._set_icon()
        looks.changed.connect(self._set_icon)

    @property
    def is_busy(self) -> bool:
        """What it started is under way."""
        return self._rest_text is not None

    def setText(self, text: str) -> None:
        """Set the words; while busy, those it has afterwards."""
        if self.is_busy:
            self._rest_text = text
        else:
            super().setText(text)

    def set_icon_name(self, icon_name: str | None) -> None:
        """Show another icon, or none."""
        self._icon_name = icon_name
        self._set_icon()

    def set_kind(self, kind: str) -> None:
        """Become another kind of button."""
        if kind != self._kind:
            self._kind = kind
            self.setProperty("kind", kind)
            self._set_icon()
            restyle(self)

    def set_busy(self, text: str | None) -> None:
        """Show a spinner with `text` and take no clicks; with None be as before."""
        if text is None:
            self._end_busy()
            return
        if not self.is_busy:
            self._had_focus = self.hasFocus()
            self._rest_text = self.text()
            self.setMinimumWidth(self.sizeHint().width())
            self.setProperty("busy", True)
            self.setEnabled(False)
            self._set_spinning(self.isVisible())
        super().setText(text)
        self._set_icon()
        restyle(self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._set_spinning(self.is_busy)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._set_spinning(False)

    def _end_busy(self) -> None:
        if self._rest_text is None:
            return
        text, self._rest_text = self._rest_text, None
        super().setText(text)
        self._set_spinning(False)
        self.setMinimumWidth(0)
        self.setProperty("busy", False)
        self.setEnabled(True)
        self._set_icon()
        restyle(self)
        if self._had_focus and self.window().focusWidget() is None:
            self.setFocus()

    def _set_spinning(self, is_spinning: bool) -> None:
        if is_spinning and not self._looks.look.reduced_motion:
            self._spin.start()
        else:
            self._spin.stop()

    def _on_spin(self) -> None:
        self._angle = (self._angle + _TURN_DEGREES) % 360
        self._set_icon()

    def _set_icon(self) -> None:
        look = self._looks.look
        size = round(_ICON_SIZE * look.zoom)
        ink = look.color(_INKS.get(self._kind, "text_soft"))
        self.setIconSize(QSize(size, size))
        if self.is_busy:
            self.setIcon(icon("spinner", ink, None, size, self._angle))
        elif self._icon_name:
            self.setIcon(icon(self._icon_name, ink, look.color("text_faint"), size))
        else:
            self.setIcon(QIcon())


class IconButton(_EnterButton):
    """A button that is only an icon; its words are the tool tip and what readers of the screen say."""

    def __init__(
        self, looks: LookSource, icon_name: str, *, small: bool = False, ink: str = "text_soft"
    ) -> None:
        super().__init__()
        self._looks = looks
        self._icon_name = icon_name
        self._size = 16 if small else 20
        self._ink = ink
        self.setProperty("kind", "ghost")
        self.setProperty("iconOnly", "small" if small else "true")
        self.setAutoDefault(False)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._set_icon()
        looks.changed.connect(self._set_icon)

    def set_words(self, text: str, shortcut: str = "") -> None:
        """Say what it does; `shortcut` is only told, not bound."""
        self.setAccessibleName(text)
        self.setAccessibleDescription(shortcut)
        self.setToolTip(f"{text}  {shortcut}" if shortcut else text)

    def set_icon_name(self, icon_name: str, ink: str | None = None) -> None:
        """Show another icon; without `ink` in the same palette colour."""
        self._icon_name, self._ink = icon_name, ink or self._ink
        self._set_icon()

    def _set_icon(self) -> None:
        look = self._looks.look
        size = round(self._size * look.zoom)
        self.setIconSize(QSize(size, size))
        self.setIcon(icon(self._icon_name, look.color(self._ink), look.color("text_faint"), size))
