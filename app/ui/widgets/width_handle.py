"""The edge of a panel on the right: the mouse drags it, the arrow keys move it."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import LookSource

THICKNESS: Final = 6
_LINE: Final = 2
_STEP: Final = 16
_PAGE: Final = 80
_WIDER: Final = {
    Qt.Key.Key_Left: _STEP,
    Qt.Key.Key_Right: -_STEP,
    Qt.Key.Key_PageUp: _PAGE,
    Qt.Key.Key_PageDown: -_PAGE,
}


class WidthHandle(QWidget):
    """Lies on the panel's left edge; seen under the mouse and with the keyboard.

    Signals:
        widened: by so many pixels; less than 0 is narrower.
        reset_requested: the panel is to have its own width again: double click, Home.
    """

    widened = Signal(int)
    reset_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._looks = looks
        self._grabbed_at: int | None = None
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        looks.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        if self.hasFocus() or self.underMouse() or self._grabbed_at is not None:
            painter = QPainter(self)
            painter.fillRect(0, 0, _LINE, self.height(), self._looks.look.color("accent"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._grabbed_at = event.globalPosition().toPoint().x()
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed_at is not None:
            x = event.globalPosition().toPoint().x()
            wider, self._grabbed_at = self._grabbed_at - x, x
            self.widened.emit(wider)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002 Qt's signature
        self._grabbed_at = None
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002 Qt's signature
        self._grabbed_at = None
        self.reset_requested.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _WIDER:
            self.widened.emit(_WIDER[key])
        elif key is Qt.Key.Key_Home:
            self.reset_requested.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()
