"""Which of the versions of a message is shown, and the way to the others: ‹ 2 / 3 ›."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import TextLabel

_GAP: Final = 2


class VersionSwitch(QWidget):
    """Hidden while there is one version only.

    Signals:
        step_requested: -1 for the version before, 1 for the next.
    """

    step_requested = Signal(int)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._before = IconButton(looks, "left", small=True)
        self._place = TextLabel("caption", "faint")
        self._next = IconButton(looks, "right", small=True)
        for part in (self._before, self._place, self._next):
            part.setParent(self)
        self._before.clicked.connect(lambda: self.step_requested.emit(-1))
        self._next.clicked.connect(lambda: self.step_requested.emit(1))

    def show_version(self, version: int, count: int) -> None:
        """Show which one it is, from 1, of how many."""
        look = self._looks.look
        self.setVisible(count > 1)
        self._place.setText(look.text("ui.chat.version", version=version, count=count))
        self._place.setAccessibleName(look.text("ui.chat.version_spoken", version=version, count=count))
        self._before.set_words(look.text("ui.chat.version_before"))
        self._next.set_words(look.text("ui.chat.version_next"))
        self._before.setEnabled(version > 1)
        self._next.setEnabled(version < count)

    def focus_step(self, step: int) -> None:
        """Put the keyboard on the button of a step, or on the other one where that leads nowhere."""
        first, other = (self._before, self._next) if step < 0 else (self._next, self._before)
        (first if first.isEnabled() else other).setFocus()

    def fit(self, height: int) -> int:
        """Place the parts in a line of this height and return the width."""
        x = 0
        for part in (self._before, self._place, self._next):
            part.adjustSize()
            part.move(x, (height - part.height()) // 2)
            x += part.width() + _GAP
        self.resize(x - _GAP, height)
        return x - _GAP
