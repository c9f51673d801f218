"""Controls to write in, and a choice from a list."""

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from app.ui.theme.icons import paint_icon
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import IconLabel, KeyCap, TextLabel
from app.ui.widgets.layouts import column


class SearchField(QLineEdit):
    """A field to search in: a lens before the text; behind it the shortcut, or a button that clears.

    Escape clears; in an empty field it goes on to whoever holds the field. `textChanged` is QLineEdit's.
    """

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._lens = IconLabel(looks, "search", "text_faint", 16)
        self._key = KeyCap()
        self._clear = IconButton(looks, "close", small=True)
        self._clear.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for part in (self._lens, self._key, self._clear):
            part.setParent(self)
        self._lens.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._key.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._clear.clicked.connect(self.clear)
        self.textChanged.connect(self._arrange)
        self._on_look_changed()
        looks.changed.connect(self._on_look_changed)

    def set_words(self, placeholder: str, shortcut: str = "") -> None:
        """Say what is searched; `shortcut` is only shown, not bound."""
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self._key.setText(shortcut)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._arrange()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._arrange()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    def _arrange(self) -> None:
        has_text = bool(self.text())
        shows_key = bool(self._key.text()) and not has_text and not self.hasFocus()
        self._clear.setVisible(has_text)
        self._key.setVisible(shows_key)
        self._key.adjustSize()
        self._lens.move(10, (self.height() - self._lens.height()) // 2)
        behind = self._clear.sizeHint().width() + 4 if has_text else 0
        for part, is_shown in ((self._clear, has_text), (self._key, shows_key)):
            if is_shown:
                part.resize(part.sizeHint())
                part.move(self.width() - part.width() - 6, (self.height() - part.height()) // 2)
                behind = part.width() + 4
        self.setTextMargins(self._lens.width() + 6, 0, behind, 0)

    def _on_look_changed(self) -> None:
        self._clear.set_words(self._looks.look.text("ui.search.clear"))
        self._arrange()


class Field(QWidget):
    """A line to write in, and below it a sentence that says how to mend a wrong value.

    Signals:
        edited: the text, at each key.
        committed: the text, at Enter and when the focus leaves.
    """

    edited = Signal(str)
    committed = Signal(str)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.line_edit = QLineEdit()
        self._sentence = TextLabel("caption", "danger", wrap=True)
        self._sentence.hide()
        self.setLayout(column(self.line_edit, self._sentence, gap=4))
        self.setFocusProxy(self.line_edit)
        self.line_edit.textEdited.connect(self.edited)
        self.line_edit.editingFinished.connect(self._on_editing_finished)

    def set_words(self, name: str, placeholder: str = "") -> None:
        """Say what is written here."""
        self.line_edit.setAccessibleName(name)
        self.line_edit.setPlaceholderText(placeholder)

    def text(self) -> str:
        """Return what is written."""
        return self.line_edit.text()

    def set_text(self, text: str) -> None:
        """Set the text; one that is being edited keeps its cursor when equal."""
        if text != self.line_edit.text():
            self.line_edit.setText(text)

    def set_wrong(self, sentence: str | None) -> None:
        """Mark the value as wrong and say what to write; None takes the mark away."""
        self._sentence.setText(sentence or "")
        self._sentence.setVisible(sentence is not None)
        self.line_edit.setAccessibleDescription(sentence or "")
        if bool(self.line_edit.property("wrong")) != (sentence is not None):
            self.line_edit.setProperty("wrong", sentence is not None)
            restyle(self.line_edit)

    def _on_editing_finished(self) -> None:
        self.committed.emit(self.text())


class Choice(QComboBox):
    """One of a list that opens. The wheel moves it only while it is open."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        looks.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        look = self._looks.look
        size = 16 * look.zoom
        box = QRectF(self.width() - size - 8, (self.height() - size) / 2, size, size)
        paint_icon(QPainter(self), "down", box, look.color("text_soft" if self.isEnabled() else "text_faint"))

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Wheel:
            event.ignore()
            return False
        return super().event(event)
