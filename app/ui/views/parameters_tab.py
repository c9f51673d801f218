"""How the model answers and how it is loaded, in two depths: Simple and Expert."""

from dataclasses import replace
from typing import Any, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QWidget

from app.options import SamplingOptions
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.load_parameters import LoadParameters
from app.ui.views.parameter_rows import NumberRow, SliderRow, TextRow
from app.ui.views.parameter_values import (
    DECIMAL,
    WHOLE,
    NumberField,
    creativity,
    length_stops,
    read_stop,
    stop_text,
)
from app.ui.views.plan_head import SectionTitle
from app.ui.views.words import Words
from app.ui.widgets.buttons import Button
from app.ui.widgets.controls import Segmented
from app.ui.widgets.layouts import card, column, holder, row, scrolled

SIMPLE: Final = "simple"
EXPERT: Final = "expert"
_TEMPERATURE_STEPS: Final = 10
_TEMPERATURE_MOST: Final = 2
_NUMBERS: Final = (
    NumberField("temperature", DECIMAL),
    NumberField("top_k", WHOLE),
    NumberField("top_p", DECIMAL),
    NumberField("min_p", DECIMAL),
    NumberField("repeat_penalty", DECIMAL),
    NumberField("max_tokens", WHOLE, "no_limit"),
    NumberField("seed", WHOLE, "random"),
)


class ParametersTab(QWidget):
    """The third tab of the dock.

    Signals:
        sampling_changed: `SamplingOptions` for the next answer.
        system_prompt_changed: the text.
        wishes_changed: `Wishes` for the next load.
    """

    sampling_changed = Signal(object)
    system_prompt_changed = Signal(str)
    wishes_changed = Signal(object)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._sampling = SamplingOptions()
        self.detail = Segmented(looks, stretch=True)
        self._answers_title = SectionTitle()
        self.system_prompt = TextRow(looks, "system_prompt", lines=4)
        self.creativity = SliderRow(looks, "creativity")
        self.length = SliderRow(looks, "length")
        self.numbers = {field.name: NumberRow(looks, field) for field in _NUMBERS}
        self.stop = TextRow(looks, "stop", lines=2)
        self.load = LoadParameters(looks)
        self.reset = Button(looks, "ghost", "undo", size="compact")
        self._lay_out()
        self._connect()
        self._apply_look()
        self.show_detail(SIMPLE)
        self._show()

    def show_view(self, view: ModelView) -> None:
        """Show the wishes in force, and what the plan makes of those left open."""
        self.load.show_view(view)

    def show_sampling(self, sampling: SamplingOptions) -> None:
        """Show how answers are sampled."""
        self._sampling = sampling
        self._show()

    def show_system_prompt(self, text: str) -> None:
        """Show the text every chat begins with."""
        self.system_prompt.show_text(text)

    def show_detail(self, detail: str) -> None:
        """Show `SIMPLE` or `EXPERT`."""
        is_expert = detail == EXPERT
        self.detail.set_current(detail)
        self.creativity.setVisible(not is_expert)
        self.length.setVisible(not is_expert)
        for line in (*self.numbers.values(), self.stop):
            line.setVisible(is_expert)
        self.load.show_detail(is_expert=is_expert)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.system_prompt.flush()
        self.stop.flush()
        self.load.expert.flush()

    def _lay_out(self) -> None:
        answers = column(
            self._answers_title,
            self.system_prompt,
            self.creativity,
            self.length,
            *self.numbers.values(),
            self.stop,
            gap=14,
        )
        page = column(
            self.detail,
            card(answers, 12),
            card(column(self.load), 12),
            row(None, self.reset),
            None,
            gap=12,
            margins=(8, 8, 8, 14),
        )
        area = scrolled(holder(page))
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(column(area))

    def _connect(self) -> None:
        self.detail.chosen.connect(self.show_detail)
        self.system_prompt.written.connect(self.system_prompt_changed)
        self.creativity.moved.connect(lambda at: self._set(temperature=at / _TEMPERATURE_STEPS))
        self.length.moved.connect(self._on_length_moved)
        for name, line in self.numbers.items():
            line.committed.connect(lambda value, name=name: self._set(**{name: value}))
        self.stop.written.connect(lambda text: self._set(stop=read_stop(text)))
        self.load.wishes_changed.connect(self.wishes_changed)
        self.reset.clicked.connect(self._on_reset_clicked)
        self._looks.changed.connect(self._apply_look)

    def _set(self, **values: Any) -> None:
        changed = replace(self._sampling, **values)
        if changed != self._sampling:
            self._sampling = changed
            self._show()
            self.sampling_changed.emit(changed)

    def _show(self) -> None:
        sampling = self._sampling
        if not self.creativity.is_being_moved:
            self._show_creativity()
        if not self.length.is_being_moved:
            self._show_length()
        for name, line in self.numbers.items():
            placeholder = {"max_tokens": "no_limit", "seed": "random"}.get(name)
            words = Words(f"ui.parameters.empty.{placeholder}") if placeholder else None
            line.show_value(getattr(sampling, name), words)
        self.stop.show_text(stop_text(sampling.stop))

    def _show_creativity(self) -> None:
        temperature = self._sampling.temperature
        most = _TEMPERATURE_MOST * _TEMPERATURE_STEPS
        word = Words(f"ui.parameters.creativity.{creativity(temperature)}")
        words = Words("ui.parameters.creativity.value", {"value": f"{temperature:g}", "word": word})
        usual = round(SamplingOptions().temperature * _TEMPERATURE_STEPS)
        self.creativity.show_stop(min(most, round(temperature * _TEMPERATURE_STEPS)), most, words, usual)

    def _show_length(self) -> None:
        stops = length_stops(self._sampling.max_tokens)
        tokens = self._sampling.max_tokens
        words = (
            Words("ui.parameters.length.no_limit")
            if tokens is None
            else Words("ui.parameters.length.value", {"tokens": tokens})
        )
        self.length.show_stop(stops.index(tokens), len(stops) - 1, words)

    def _on_length_moved(self, position: int) -> None:
        self._set(max_tokens=length_stops(self._sampling.max_tokens)[position])

    def _on_reset_clicked(self) -> None:
        self._set(**{name: getattr(SamplingOptions(), name) for name in SamplingOptions.__dataclass_fields__})
        self.load.reset()

    def _apply_look(self) -> None:
        look = self._looks.look
        self.detail.setAccessibleName(look.text("ui.parameters.depth"))
        current = self.detail.current or SIMPLE
        self.detail.set_items([(key, look.text(f"ui.parameters.{key}")) for key in (SIMPLE, EXPERT)])
        self.detail.set_current(current)
        next_answer = look.text("ui.parameters.next_answer")
        self._answers_title.show_title(look.text("ui.parameters.answers"), next_answer, "neutral")
        self.reset.setText(look.text("ui.parameters.reset"))
        self.reset.setToolTip(look.text("ui.parameters.reset.hint"))
        self.reset.setAccessibleDescription(look.text("ui.parameters.reset.hint"))
