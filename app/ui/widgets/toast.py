"""One line over the foot of the window that says what was done, and may undo it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QEnterEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import row

SHOWN_MS = 6_000
SHOWN_WITH_ACTION_MS = 10_000
_KEPT: Final = 5
"""What can still be undone below what is said now."""
_ABOVE_FOOT = 44
_BESIDE = 24
"""Room to the foot of the window, clear of its status bar, and to its sides."""


class _Said(NamedTuple):
    """A line, and what its button does."""

    text: str
    action_text: str = ""
    on_action: Callable[[], None] | None = None
    is_undo: bool = False

    def do(self) -> None:
        """Do what the button offers."""
        if self.on_action is not None:
            self.on_action()


class Toast(QFrame):
    """Lies over the window it is a child of; goes after a while, unless mouse or focus is on it.

    What is said later covers what can still be undone; that comes back once the later line has gone.
    """

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._said = _Said("")
        self._below: list[_Said] = []
        self._message = TextLabel("body", wrap=True)
        self._action = Button(looks, "link", size="compact")
        self._close = IconButton(looks, "close", small=True)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._on_timeout)
        self._action.clicked.connect(self._on_action_clicked)
        self._close.clicked.connect(self._go_on)
        self.setProperty("surface", "toast")
        self._layout = row(self._message, self._action, self._close, gap=10, margins=(16, 8, 8, 8))
        self.setLayout(self._layout)
        self.hide()
        self._set_texts()
        looks.changed.connect(self._set_texts)
        if parent is not None:
            parent.installEventFilter(self)

    def show_message(
        self,
        text: str,
        action_text: str = "",
        on_action: Callable[[], None] | None = None,
        *,
        is_undo: bool = False,
    ) -> None:
        """Say `text`; `action_text` names the button that calls `on_action` once; `undo` does, too."""
        if not self.isHidden() and self._said.is_undo:
            self._below = [*self._below, self._said][-_KEPT:]
        self._say(_Said(text, action_text, on_action, is_undo))

    def undo(self) -> None:
        """Take back what was done last, as long as the toast offers it."""
        if not self.isHidden() and self._said.is_undo:
            self._on_action_clicked()
        elif self._below:
            self._below.pop().do()

    def _say(self, said: _Said) -> None:
        self._said = said
        text, action_text, on_action, _ = said
        self._message.setText(text)
        self._action.setText(action_text)
        self._action.setVisible(on_action is not None)
        self._timer.start(SHOWN_MS if on_action is None else SHOWN_WITH_ACTION_MS)
        self._place()
        self.show()
        self.raise_()
        self.setAccessibleName(f"{text} {action_text}".strip())
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.accessibleName()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize and not self.isHidden():
            self._place()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._go_on()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._timer.stop()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._timer.start(SHOWN_MS)

    def _on_timeout(self) -> None:
        focus = self.window().focusWidget()
        if focus is not None and self.isAncestorOf(focus):
            self._timer.start(SHOWN_MS)
        else:
            self._go_on()

    def _on_action_clicked(self) -> None:
        said = self._said
        self._go_on()
        said.do()

    def _go_on(self) -> None:
        """Take the line away; what can still be undone below it comes back."""
        self._timer.stop()
        self._said = _Said("")
        if self._below:
            self._say(self._below.pop())
        else:
            self.hide()

    def _place(self) -> None:
        parent = self.parentWidget()
        if parent is None:
            self.adjustSize()
            return
        self.ensurePolished()
        words = self._message.fontMetrics().horizontalAdvance(self._message.text()) + 2
        beside = self._layout.totalMinimumSize().width() - self._message.minimumSizeHint().width()
        width = min(words + beside, parent.width() - 2 * _BESIDE)
        height = self._layout.totalHeightForWidth(width)
        self.setGeometry((parent.width() - width) // 2, parent.height() - height - _ABOVE_FOOT, width, height)

    def _set_texts(self) -> None:
        self._close.set_words(self._looks.look.text("ui.toast.close"))
        self._action.setAccessibleDescription(self._message.text())
        self._place()
