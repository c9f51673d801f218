"""All options of an engine that can be fixed by hand, and what the engine is told with them."""

import shlex
from dataclasses import replace
from typing import Any, Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.engine.extra_flags import split_flags
from app.options import ALL_LAYERS, CHOICES
from app.planner.facts import ExpertWishes
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.parameter_rows import ChoiceRow, NumberRow, TextRow
from app.ui.views.parameter_values import WHOLE, NumberField
from app.ui.views.words import Words
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, row

_AUTO: Final = "auto"
_ON_OFF: Final[dict[str, Any]] = {_AUTO: None, "on": True, "off": False}
_NUMBERS: Final = ("n_gpu_layers", "n_batch", "n_ubatch", "n_threads_batch")
_SWITCHES: Final = ("swa_full", "op_offload", "check_tensors")
_WORDS: Final = ("flash_attn", "load_mode", "chat_template")
_COMMAND_LINES: Final = 12


class ExpertParameters(QWidget):
    """Rows for `ExpertWishes`; what is left open shows what the plan chose.

    Signals:
        expert_changed: `ExpertWishes`.
    """

    expert_changed = Signal(object)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._view = ModelView()
        self._wishes = ExpertWishes()
        self._is_outdated = False
        self.numbers = {name: NumberRow(looks, NumberField(name, WHOLE, _AUTO)) for name in _NUMBERS}
        self.choices = {name: ChoiceRow(looks, name) for name in (*_SWITCHES, *_WORDS)}
        self.flags = TextRow(looks, "extra_flags", lines=2)
        self.command = CommandView(looks)
        lines = (*self.numbers.values(), *self.choices.values(), self.flags, self.command)
        self.setLayout(column(*lines, gap=14))
        for name, number in self.numbers.items():
            number.committed.connect(lambda value, name=name: self._wish(**{name: value}))
        for name, choice in self.choices.items():
            choice.chosen.connect(lambda key, name=name: self._on_chosen(name, key))
        self.flags.written.connect(lambda text: self._wish(extra_flags=_words_of(text)))
        self._show()

    def show_view(self, view: ModelView) -> None:
        """Show the wishes of a view, and what the plan makes of those left open."""
        self._view, self._wishes = view, view.wishes.expert
        self._is_outdated = True
        if self.isVisible():
            self._show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_outdated:
            self._show()

    def flush(self) -> None:
        """Tell what is written and not told yet."""
        self.flags.flush()

    def _on_chosen(self, name: str, key: str) -> None:
        value = _ON_OFF[key] if name in _SWITCHES else key
        self._wish(**{name: None if key == _AUTO else value})

    def _wish(self, **values: Any) -> None:
        changed = replace(self._wishes, **values)
        if changed != self._wishes:
            self._wishes = changed
            self._show()
            self.expert_changed.emit(changed)

    def _show(self) -> None:
        self._is_outdated = False
        for name, number in self.numbers.items():
            value = getattr(self._wishes, name)
            number.show_value(value, self._auto(name, value))
        for name, choice in self.choices.items():
            value = getattr(self._wishes, name)
            choice.show_choices([(_AUTO, self._auto(name, value)), *_choices_of(name)], _key_of(name, value))
        words = self._wishes.extra_flags
        if words != _words_of(self.flags.editor.toPlainText()):
            self.flags.show_text(shlex.join(words))
        self.command.show_lines(self._view.command)

    def _auto(self, name: str, wished: object) -> Words:
        """Return how "you decide" is said: with what was decided, where that is known."""
        plan = self._view.plan
        if plan is None or wished is not None:
            return Words("ui.parameters.auto")
        value = getattr(plan.options, name)
        if isinstance(value, bool):
            said = Words("ui.plan.value.on" if value else "ui.plan.value.off")
        elif value == ALL_LAYERS:
            said = Words("ui.plan.value.all")
        elif isinstance(value, int):
            said = Words("ui.plan.value.count", {"value": value})
        else:
            said = _word(value)
        return Words("ui.parameters.auto_value", {"value": said})


class CommandView(QWidget):
    """The lines an engine is told, with what the person changed."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._lines: tuple[tuple[str, str], ...] = ()
        self._title = TextLabel("label", wrap=True)
        self._hint = TextLabel("caption", "faint", wrap=True)
        self.copy = IconButton(looks, "copy", small=True)
        self.copy.clicked.connect(self._on_copy)
        self.text = QPlainTextEdit(readOnly=True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setLayout(column(row(self._title, None, self.copy), self._hint, self.text, gap=4))
        looks.changed.connect(self._show)
        self._show()

    def show_lines(self, lines: tuple[tuple[str, str], ...]) -> None:
        """Show lines with their marks."""
        if lines != self._lines:
            self._lines = lines
            self._show()

    def _show(self) -> None:
        look = self._looks.look
        self._title.setText(look.text("ui.parameters.command"))
        self._hint.setText(
            look.text("ui.parameters.command.hint" if self._lines else "ui.parameters.command.none")
        )
        self.copy.set_words(look.text("ui.parameters.command.copy"))
        self.copy.setVisible(bool(self._lines))
        self.text.setVisible(bool(self._lines))
        self.text.setAccessibleName(look.text("ui.parameters.command"))
        font = look.font("code")
        self.text.setFont(font)
        self.text.setFixedHeight(QFontMetrics(font).lineSpacing() * _COMMAND_LINES)
        text = "\n".join(f"{mark} {line}" for mark, line in self._lines)
        if text != self.text.toPlainText():
            self.text.setPlainText(text)

    def _on_copy(self) -> None:
        kept = [line for mark, line in self._lines if mark != "-"]
        QGuiApplication.clipboard().setText("\n".join(kept))


def _choices_of(name: str) -> list[tuple[str, Words]]:
    if name in _SWITCHES or name == "flash_attn":
        return [(key, Words(f"ui.plan.value.{key}")) for key in ("on", "off")]
    return [(key, _word(key)) for key in CHOICES[name] if key != _AUTO]


def _key_of(name: str, value: object) -> str:
    if value is None:
        return _AUTO
    if name in _SWITCHES:
        return "on" if value else "off"
    return str(value)


def _word(value: object) -> Words:
    if value == _AUTO:
        return Words("ui.plan.value.auto")
    return Words("ui.plan.value.name", {"value": value})


def _words_of(text: str) -> tuple[str, ...]:
    try:
        return split_flags(text)
    except ValueError:  # a quotation mark that is still being written
        return tuple(text.split())
