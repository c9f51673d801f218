"""Fast, Safe, Minimum side by side: what each takes, and which one the load button means."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QWidget

from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import polish, restyle
from app.ui.views.models_words import memory_of, step_words
from app.ui.views.plan_words import step_changes
from app.ui.views.state_words import speed_figure
from app.ui.views.words import Words, say
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layer_facts import Tier
from app.ui.widgets.layouts import card, column, holder, row
from app.ui.widgets.tier_bar import TierBar

_STACKED_BELOW: Final = 600
_STEPS_OF_A_PLAN: Final = 3
_HEAD_HEIGHT: Final = 30


class StepCards(QWidget):
    """One card for each step of the ladder.

    Signals:
        step_chosen: index of the step.
    """

    step_chosen = Signal(int)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self.cards: list[StepCard] = []
        self._line = row(gap=12)
        self.setLayout(self._line)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelPageView) -> None:
        """Show the steps; hidden without a plan."""
        for _ in self.show_in_steps(view):
            pass

    def show_in_steps(self, view: ModelPageView) -> Iterator[None]:
        """Do the same, a card at a step."""
        self._view = view
        yield from self._steps()

    def prepare(self) -> Iterator[None]:
        """Make the cards of a plan."""
        yield from self._make(_STEPS_OF_A_PLAN)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < _STACKED_BELOW * self._looks.look.zoom
        sides, stacked = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._line.setDirection(stacked if is_narrow else sides)

    def _show(self) -> None:
        self.show_view(self._view)

    def _steps(self) -> Iterator[None]:
        plans = self._view.plans
        self.setVisible(bool(plans))
        yield from self._make(len(plans))
        for index, view in enumerate(self.cards):
            view.setVisible(index < len(plans))
            if index < len(plans):
                view.show_step(self._view, index)
                yield

    def _make(self, count: int) -> Iterator[None]:
        while len(self.cards) < count:
            view = StepCard(self._looks)
            view.hide()
            view.use.clicked.connect(partial(self.step_chosen.emit, len(self.cards)))
            self.cards.append(view)
            self._line.addWidget(view, 1)
            yield
            yield from polish(view)


class StepCard(QWidget):
    """One step: its speed where that can be known, what it changes, and its memory by kind."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._title = TextLabel("subtitle")
        self._chip = Chip("accent")
        self.use = Button(looks, "secondary", size="compact")
        self._speed = TextLabel("figure")
        self._unit = TextLabel("body", "soft")
        self._why = TextLabel("caption", "faint", wrap=True)
        self._names = {tier: TextLabel("caption", "soft") for tier in Tier}
        self._bars = {tier: TierBar(looks, tier) for tier in Tier}
        self._sizes = {tier: TextLabel("caption") for tier in Tier}
        self._title.setMinimumHeight(_HEAD_HEIGHT)
        head = row(self._title, None, self._chip, self.use)
        figure = row(self._speed, self._unit, None, gap=6)
        figure.setAlignment(self._unit, Qt.AlignmentFlag.AlignBottom)
        self._figure = holder(figure)
        body = column(head, self._figure, self._why, None, self._grid(), gap=6)
        self._frame = card(body, 14)
        self.setLayout(column(self._frame))

    def show_step(self, view: ModelPageView, index: int) -> None:
        """Show the step at `index`."""
        look, plan, step = self._looks.look, view.plans[index], view.steps[index]
        name = look.text(f"ui.plan.step.{step.name}")
        is_chosen = index == view.chosen
        self._title.setText(name)
        self._chip.setText(look.text("ui.plan.step.chosen"))
        self._chip.setVisible(is_chosen)
        self.use.setText(look.text("ui.models.step.use"))
        self.use.setAccessibleName(look.text("ui.plan.step.use_named", name=name))
        self.use.setVisible(not is_chosen)
        speed = plan.tokens_per_second
        self._figure.setVisible(speed is not None)
        if speed is not None:
            low, high = speed_figure(speed.low), speed_figure(speed.high)
            self._speed.setText(low if low == high else f"{low}–{high}")
            self._unit.setText(look.text("ui.models.step.unit"))
        changes = step_changes(view.plans[0].options, plan.options, view.facts)
        lines = [step_words(plan), *(words for words in changes if not _is_of_context(words))]
        self._why.setText("\n".join(say(look.texts, words) for words in lines))
        self._show_memory(view, index)
        if bool(self._frame.property("selected")) != is_chosen:
            self._frame.setProperty("selected", is_chosen)
            restyle(self._frame)

    def _grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(5)
        for line, tier in enumerate(Tier):
            self._sizes[tier].setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(self._names[tier], line, 0)
            grid.addWidget(self._bars[tier], line, 1)
            grid.addWidget(self._sizes[tier], line, 2)
        return grid

    def _show_memory(self, view: ModelPageView, index: int) -> None:
        look = self._looks.look
        taken = [dict(zip(Tier, memory_of(plan), strict=True)) for plan in view.plans]
        budget = view.budget
        rooms = {
            Tier.VRAM: sum(budget.vram_free_bytes) if budget else 0,
            Tier.RAM: budget.ram_free_bytes if budget else 0,
            Tier.DISK: view.facts.size_bytes if view.facts else 0,
        }
        for tier in Tier:
            amount = taken[index][tier]
            is_shown = any(of_step[tier] for of_step in taken)
            name = look.text(f"ui.models.tier.{tier.value}")
            size = look.text("ui.plan.value.bytes", value=amount)
            self._names[tier].setText(name)
            self._sizes[tier].setText(size)
            self._bars[tier].show_share(amount, max(rooms[tier], amount))
            for part in (self._names[tier], self._bars[tier], self._sizes[tier]):
                part.setVisible(is_shown)


def _is_of_context(words: Words) -> bool:
    """Say whether a change is the context's, which the first line tells of already."""
    name = words.values.get("name")
    return isinstance(name, Words) and name.key == "ui.plan.change.n_ctx"
