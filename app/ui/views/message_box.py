"""A box to write in: grows with the text, and Enter inside Chinese or Japanese input sends nothing."""

import math
from typing import Final

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QInputMethodEvent, QKeyEvent, QKeySequence, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.ui.theme.look import LookSource

LINES_MAX: Final = 8
_MARGIN: Final = 3


class MessageBox(QPlainTextEdit):
    """Plain text of 1 to 8 lines; more scrolls.

    Signals:
        submitted: Enter, while nothing is being composed.
        recall_requested: Up in the empty box.
        escaped: Esc.
        focus_changed: whether the keyboard is here.
    """

    submitted = Signal()
    recall_requested = Signal()
    escaped = Signal()
    focus_changed = Signal(bool)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._preedit = ""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(_MARGIN)
        self.textChanged.connect(self._on_text_changed)
        looks.changed.connect(self._on_look_changed)
        self._on_look_changed()

    @property
    def is_composing(self) -> bool:
        """An input method holds letters that are no text yet."""
        return bool(self._preedit)

    def sizeHint(self) -> QSize:
        return QSize(200, self._height())

    def has_words(self) -> bool:
        """There is more than white space."""
        block = self.document().firstBlock()
        while block.isValid():
            if block.text().strip():
                return True
            block = block.next()
        return False

    def replace_text(self, text: str) -> None:
        """Set the whole text, which Undo can take back, and go to its end."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            is_undo = event.matches(QKeySequence.StandardKey.Undo)
            if is_undo and not self.document().isUndoAvailable():
                event.ignore()  # the window may have something to undo
                return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._on_return(event)
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText() and not self.is_composing:
            self.recall_requested.emit()
        elif event.key() == Qt.Key.Key_Escape and not self.is_composing:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._preedit = event.preeditString()
        super().inputMethodEvent(event)
        self._fit()

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():  # never the rich form
            self.insertPlainText(source.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._preedit = ""
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def _on_return(self, event: QKeyEvent) -> None:
        if self.is_composing:
            event.accept()  # the key belongs to the input method
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        else:
            event.accept()
            self.submitted.emit()

    def _on_text_changed(self) -> None:
        self._fit()

    def _on_look_changed(self) -> None:
        self.setFont(self._looks.look.font("prose"))
        self._fit()

    def _fit(self) -> None:
        height = self._height()
        if height != self.height() or height != self.maximumHeight():
            self.setFixedHeight(height)
            self.updateGeometry()
        is_long = len(self._line_heights()) > LINES_MAX
        shown = Qt.ScrollBarPolicy.ScrollBarAsNeeded if is_long else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _height(self) -> int:
        heights = self._line_heights()[:LINES_MAX] or [0.0]
        text = max(sum(heights), float(self.fontMetrics().lineSpacing()))
        return math.ceil(text) + 2 * _MARGIN + 2

    def _line_heights(self) -> list[float]:
        """Measure lines as they wrap, but no further than needed; Chinese ones are higher than Latin."""
        block = self.document().firstBlock()
        heights: list[float] = []
        while block.isValid() and len(heights) <= LINES_MAX:
            self.blockBoundingRect(block)  # lays it out
            layout = block.layout()
            count = min(layout.lineCount(), LINES_MAX + 1)
            heights += [layout.lineAt(number).height() for number in range(count)]
            block = block.next()
        return heights
