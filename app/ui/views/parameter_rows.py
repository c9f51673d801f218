"""One parameter each: a name, what it does, and the control that sets it."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLineEdit, QPlainTextEdit, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.views.parameter_values import NumberField, ValueRefused, number_text, read_number
from app.ui.views.words import Words, say
from app.ui.widgets.controls import Choice, MarkSlider
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, row

_FIELD_WIDTH: Final = 120
_BESIDE_FROM: Final = 250
"""Width at which a field has room beside its name."""
_TEXT_MARGIN: Final = 18
_TYPING_PAUSE_MS: Final = 400
_COLLECT_MS: Final = 0


class _Named(QWidget):
    """Name and hint of a parameter, in the language in force."""

    def __init__(self, looks: LookSource, key: str) -> None:
        super().__init__()
        self._looks = looks
        self._key = key
        self._name = TextLabel("label", wrap=True)
        self._hint = TextLabel("caption", "faint", wrap=True)
        looks.changed.connect(self._apply_look)

    def _spoken_name(self) -> str:
        name = self._looks.look.text(f"ui.parameters.{self._key}")
        self._name.setText(name)
        self._hint.setText(self._looks.look.text(f"ui.parameters.{self._key}.hint"))
        return name

    def _apply_look(self) -> None:
        raise NotImplementedError


class NumberRow(_Named):
    """A number that is written; a wrong one is marked while it is typed, and never set.

    Signals:
        committed: the number, or None for an empty field; at Enter and when the focus leaves.
    """

    committed = Signal(object)

    def __init__(self, looks: LookSource, field: NumberField) -> None:
        super().__init__(looks, field.name)
        self._field = field
        self._value: float | None = None
        self._refused: Words | None = None
        self._placeholder: Words | None = None
        self.line_edit = QLineEdit()
        self._sentence = TextLabel("caption", "danger", wrap=True)
        self._sentence.hide()
        self._top = row(column(self._name, self._hint, gap=0), self.line_edit, gap=10)
        self._top.setStretch(0, 1)
        self.setLayout(column(self._top, self._sentence, gap=4))
        self.line_edit.textEdited.connect(self._on_edited)
        self.line_edit.editingFinished.connect(self._on_editing_finished)
        self._apply_look()

    @property
    def sentence(self) -> str:
        """What is said about a wrong value; empty when the value is right."""
        return self._sentence.text() if self._refused else ""

    def show_value(self, value: float | None, placeholder: Words | None = None) -> None:
        """Show the value in force; what is being typed stays. `placeholder` says what empty means."""
        is_new = value != self._value
        self._value, self._placeholder = value, placeholder
        is_edited = self.line_edit.hasFocus() and self.line_edit.isModified()
        if is_new or not (self._refused or is_edited):
            self.line_edit.setText(number_text(value))
            self._set_refused(None)
        self._apply_look()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        has_room = self.width() >= _BESIDE_FROM * self._looks.look.zoom
        sides, stacked = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._top.setDirection(sides if has_room else stacked)

    def _apply_look(self) -> None:
        look = self._looks.look
        self._arrange()
        self.line_edit.setAccessibleName(self._spoken_name())
        self.line_edit.setFixedWidth(round(_FIELD_WIDTH * look.zoom))
        if self._placeholder is not None:
            self.line_edit.setPlaceholderText(say(look.texts, self._placeholder))
        self._show_sentence()

    def _show_sentence(self) -> None:
        texts = self._looks.look.texts
        self._sentence.setText(say(texts, self._refused) if self._refused else "")
        self._sentence.setVisible(self._refused is not None)
        self.line_edit.setAccessibleDescription(self._sentence.text() or self._hint.text())

    def _set_refused(self, words: Words | None) -> None:
        self._refused = words
        self._show_sentence()
        if bool(self.line_edit.property("wrong")) != (words is not None):
            self.line_edit.setProperty("wrong", words is not None)
            restyle(self.line_edit)

    def _read(self) -> float | None:
        return read_number(self._field, self.line_edit.text())

    def _on_edited(self) -> None:
        try:
            self._read()
        except ValueRefused as refused:
            self._set_refused(refused.words)
        else:
            self._set_refused(None)

    def _on_editing_finished(self) -> None:
        if self._refused is not None or not self.line_edit.isModified():
            return
        self.line_edit.setModified(False)
        value = self._read()
        if value != self._value:
            self._value = value
            self.committed.emit(value)


class SliderRow(_Named):
    """A value on a slider over a few stops, said in words beside its name.

    Signals:
        moved: position of the new stop; at most one per turn of the event loop.
    """

    moved = Signal(int)

    def __init__(self, looks: LookSource, key: str) -> None:
        super().__init__(looks, key)
        self._words: Words | None = None
        self._value = TextLabel("caption", "soft", wrap=True)
        self.slider = MarkSlider(looks, fill="accent")
        self._later = QTimer(self, interval=_COLLECT_MS, singleShot=True)
        self._later.timeout.connect(lambda: self.moved.emit(self.slider.value()))
        self.slider.valueChanged.connect(lambda: self._later.start())
        self._head = row(self._name, gap=8)
        self.setLayout(column(self._head, self.slider, self._value, self._hint, gap=2))
        self._apply_look()

    @property
    def is_being_moved(self) -> bool:
        """The person holds the knob, or has moved it and nobody knows yet."""
        return self.slider.isSliderDown() or self._later.isActive()

    def take_over(self) -> None:
        """Tell the stop shown as if it had been moved there."""
        self._later.start()

    def forget_move(self) -> None:
        """Tell nothing of a move that was not told yet."""
        self._later.stop()

    def show_stop(self, position: int, last: int, words: Words, mark: int | None = None) -> None:
        """Show a stop of 0 .. `last` and what it means; `mark` is what would be chosen without the person."""
        self._words = words
        self.slider.blockSignals(True)
        self.slider.setRange(0, last)
        self.slider.setValue(position)
        self.slider.blockSignals(False)
        self.slider.set_mark(mark)
        self._apply_look()

    def _apply_look(self) -> None:
        self.slider.setAccessibleName(self._spoken_name())
        if self._words is not None:
            text = say(self._looks.look.texts, self._words)
            self._value.setText(text)
            self.slider.set_value_text(text)


class ChoiceRow(_Named):
    """One of a few words.

    Signals:
        chosen: the key of the choice.
    """

    chosen = Signal(str)

    def __init__(self, looks: LookSource, key: str) -> None:
        super().__init__(looks, key)
        self._choices: tuple[tuple[str, Words], ...] = ()
        self.choice = Choice(looks)
        self.choice.activated.connect(lambda index: self.chosen.emit(self._choices[index][0]))
        self.setLayout(column(self._name, self._hint, self.choice, gap=2))
        self._apply_look()

    def show_choices(self, choices: Sequence[tuple[str, Words]], current: str) -> None:
        """Offer (key, words); `current` is the one in force."""
        self._choices = tuple(choices)
        self._apply_look()
        keys = [key for key, _ in self._choices]
        self.choice.setCurrentIndex(keys.index(current) if current in keys else -1)

    def _apply_look(self) -> None:
        self.choice.setAccessibleName(self._spoken_name())
        self.choice.setAccessibleDescription(self._hint.text())
        texts = [say(self._looks.look.texts, words) for _, words in self._choices]
        if [self.choice.itemText(index) for index in range(self.choice.count())] == texts:
            return
        index = self.choice.currentIndex()
        self.choice.clear()
        self.choice.addItems(texts)
        self.choice.setCurrentIndex(index)


class _Editor(QPlainTextEdit):
    left = Signal()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()


class TextRow(_Named):
    """Some lines of text.

    Signals:
        written: the text, a moment after the last key and when the focus leaves.
    """

    written = Signal(str)

    def __init__(self, looks: LookSource, key: str, lines: int) -> None:
        super().__init__(looks, key)
        self._lines = lines
        self._known = ""
        self.editor = _Editor()
        self.editor.setTabChangesFocus(True)
        self._pause = QTimer(self, interval=_TYPING_PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(self.flush)
        self.editor.textChanged.connect(self._pause.start)
        self.editor.left.connect(self.flush)
        self.setLayout(column(self._name, self.editor, self._hint, gap=4))
        self._apply_look()

    def show_text(self, text: str) -> None:
        """Show the text in force; what is being written stays."""
        if text != self._known and not self._pause.isActive():
            self._known = text
            self.editor.blockSignals(True)
            self.editor.setPlainText(text)
            self.editor.blockSignals(False)

    def flush(self) -> None:
        """Tell what is written, if it is not known yet."""
        self._pause.stop()
        text = self.editor.toPlainText()
        if text != self._known:
            self._known = text
            self.written.emit(text)

    def _apply_look(self) -> None:
        look = self._looks.look
        self.editor.setAccessibleName(self._spoken_name())
        self.editor.setAccessibleDescription(self._hint.text())
        self.editor.setPlaceholderText(look.text(f"ui.parameters.{self._key}.placeholder"))
        spacing = QFontMetrics(look.font("body")).lineSpacing()
        self.editor.setFixedHeight(spacing * self._lines + _TEXT_MARGIN)
