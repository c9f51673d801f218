"""One line over the foot of the window that says what was done, and may undo it."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QEnterEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import row

SHOWN_MS = 6_000
SHOWN_WITH_ACTION_MS = 10_000
_ABOVE_FOOT = 44
_BESIDE = 24
"""Room to the foot of the window, clear of its status bar, and to its sides."""


class Toast(QFrame):
    """Lies over the window it is a child of; goes after a while, unless mouse or focus is on it."""

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._on_action: Callable[[], None] | None = None
        self._message = TextLabel("body", wrap=True)
        self._action = Button(looks, "link", size="compact")
        self._close = IconButton(looks, "close", small=True)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._on_timeout)
        self._action.clicked.connect(self._on_action_clicked)
        self._close.clicked.connect(self.hide)
        self.setProperty("surface", "toast")
        self._layout = row(self._message, self._action, self._close, gap=10, margins=(16, 8, 8, 8))
        self.setLayout(self._layout)
        self.hide()
        self._set_texts()
        looks.changed.connect(self._set_texts)
        if parent is not None:
            parent.installEventFilter(self)

    def show_message(
        self, text: str, action_text: str = "", on_action: Callable[[], None] | None = None
    ) -> None:
        """Say `text`; `action_text` names the button that calls `on_action` once."""
        self._on_action = on_action
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
            self.hide()
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
            self.hide()

    def _on_action_clicked(self) -> None:
        action, self._on_action = self._on_action, None
        self._timer.stop()
        self.hide()
        if action is not None:
            action()

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
