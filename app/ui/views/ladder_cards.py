"""The steps of a plan as cards: what each takes, gives up and changes, and a button that takes it."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.planner.facts import LadderStep
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import Look, LookSource
from app.ui.theme.style_sheet import polish, restyle
from app.ui.views.plan_words import chosen_step, step_changes, step_memory, steps_of
from app.ui.views.state_words import speed_range_words
from app.ui.views.words import say
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layouts import card, column, row

_STEPS: Final = 4
_TAKEN_IN = frozenset({ModelPhase.PLANNED, ModelPhase.FAILED, ModelPhase.READY})
"""Phases in which another step can be loaded."""


class LadderCards(QWidget):
    """The steps, one below the other.

    Signals:
        step_requested: the `LadderStep` to load.
    """

    step_requested = Signal(object)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._cards: list[_StepCard] = []
        self._layout = column(gap=8)
        self.setLayout(self._layout)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelView) -> None:
        """Show the steps of the plan."""
        self._view = view
        self._show()

    def prepare(self, count: int = _STEPS) -> Iterator[None]:
        """Make the widgets of this many steps, one at a step."""
        while len(self._cards) < count:
            made = _StepCard(self._looks)
            made.hide()
            made.step_requested.connect(self.step_requested)
            self._cards.append(made)
            self._layout.addWidget(made)
            yield
            yield from polish(made)

    def _show(self) -> None:
        plan = self._view.plan
        steps = steps_of(plan) if plan is not None else ()
        for _ in self.prepare(len(steps)):
            pass
        chosen = chosen_step(self._view)
        for index, view in enumerate(self._cards):
            view.setVisible(index < len(steps))
            if index < len(steps):
                view.show_step(self._view, index, is_chosen=steps[index] == chosen)


class _StepCard(QWidget):
    step_requested = Signal(object)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._step: LadderStep | None = None
        self._title = TextLabel("subtitle", wrap=True)
        self._chip = Chip("accent")
        self._use = Button(looks, "secondary", size="compact")
        self._use.clicked.connect(self._on_clicked)
        self._figures = TextLabel("caption", wrap=True)
        self._changes = TextLabel("caption", "soft", wrap=True)
        self._frame = card(
            column(row(self._title, self._chip, None, self._use), self._figures, self._changes, gap=4),
            padding=12,
        )
        self.setLayout(column(self._frame))

    def show_step(self, view: ModelView, index: int, *, is_chosen: bool) -> None:
        """Show the step at `index` of the view's plan."""
        look, plan = self._looks.look, view.plan
        assert plan is not None
        self._step = steps_of(plan)[index]
        name = look.text(f"ui.plan.step.{self._step.name}")
        self._title.setText(name)
        self._chip.setText(look.text("ui.plan.step.loaded" if view.is_loaded else "ui.plan.step.chosen"))
        self._use.setText(look.text("ui.plan.step.use"))
        self._use.setAccessibleName(look.text("ui.plan.step.use_named", name=name))
        self._use.setToolTip(look.text("ui.plan.step.use_hint"))
        is_offered = not is_chosen or view.phase is ModelPhase.FAILED
        self._use.setVisible(is_offered)
        self._chip.setVisible(not is_offered)
        self._use.setEnabled(view.phase in _TAKEN_IN)
        self._figures.setText(_figures_text(look, self._step))
        self._changes.setText(_changes_text(look, view, self._step))
        if bool(self._frame.property("selected")) != is_chosen:
            self._frame.setProperty("selected", is_chosen)
            restyle(self._frame)

    def _on_clicked(self) -> None:
        if self._step is not None:
            self.step_requested.emit(self._step)


def _figures_text(look: Look, step: LadderStep) -> str:
    places = [say(look.texts, words) for words in step_memory(step)]
    speed = step.tokens_per_second
    figures = places if speed is None else [*places, speed_range_words(look, speed)]
    return look.text("ui.chat.figure.separator").join(figures)


def _changes_text(look: Look, view: ModelView, step: LadderStep) -> str:
    plan = view.plan
    assert plan is not None
    if step is plan.ladder[0]:
        return look.text("ui.plan.step.first")
    lines = [say(look.texts, words) for words in step_changes(plan.options, step.options, view.facts)]
    if step is plan.bigger_context:
        lines.append(look.text("ui.plan.step.bigger"))
    elif step.sacrifices:
        separator = look.text("ui.list_separator")
        lost = separator.join(look.text(f"plan.sacrifice.{lost.value}") for lost in step.sacrifices)
        lines.append(look.text("ui.plan.step.lost", lost=lost))
    return "\n".join(lines)
