"""The card in the middle of the chat page while a model loads: every phase, and where it stands."""

from enum import Enum
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import Look, LookSource
from app.ui.views.moe_steps import moe_steps
from app.ui.views.state_words import model_name
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, row
from app.ui.widgets.progress_line import ProgressLine

STEPS: Final = ("checking", "planning", "starting", "weights", "context", "warmup")
"""Phases in their order, also ends of their text keys; from `starting` on as `LoadProgress` has them."""
BEFORE_LOAD: Final = STEPS[:2]
"""Phases of picking a file; the others begin with a click."""
BAR_THICKNESS: Final = 8


class StepState(Enum):
    """Where a phase stands; also the end of its text key."""

    DONE = "done"
    NOW = "now"
    NEXT = "next"


_ICONS: Final = {
    StepState.DONE: ("ok", "accent_text"),
    StepState.NOW: ("spinner", "accent_text"),
    StepState.NEXT: ("clock", "text_faint"),
}


def current_step(view: ModelView) -> str:
    """Return the phase that is under way."""
    if view.phase is ModelPhase.CHECKING:
        return "checking"
    if view.phase is ModelPhase.WARMING:
        return "warmup"
    phase = view.progress.phase if view.progress else "starting"
    return phase if phase in STEPS else "starting"


class LoadingCard(QWidget):
    """Shows the load under way.

    Signals:
        cancel_requested: it is to stop.
    """

    cancel_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._view = ModelView()
        self._title = ElidedLabel("title")
        self.cancel = Button(looks, "secondary")
        self._lines = {step: _StepLine(looks, step) for step in STEPS}
        self._bar = ProgressLine(looks, thickness=BAR_THICKNESS)
        head = row(gap=12)
        head.addWidget(self._title, 1)
        head.addWidget(self.cancel)
        body = column(head, 2, gap=10)
        for step, line in self._lines.items():
            body.addWidget(line)
            if step == "weights":
                body.addWidget(self._bar)
        self.setLayout(column(card(body, 20), gap=0))
        self.cancel.clicked.connect(self.cancel_requested)
        looks.changed.connect(self._show)
        self._show()

    def show_view(self, view: ModelView) -> None:
        """Show how far the load has come."""
        self._view = view
        self._show()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        name = model_name(view) or ""
        key = "ui.stage.checking" if view.phase is ModelPhase.CHECKING else "ui.stage.loading"
        self._title.setText(look.text(key, name=name))
        self.cancel.setText(look.text("ui.stage.cancel"))
        self.cancel.setVisible(view.can_cancel_load)
        now = STEPS.index(current_step(view))
        for number, (step, line) in enumerate(self._lines.items()):
            state = StepState.DONE if number < now else StepState.NOW if number == now else StepState.NEXT
            line.show_state(state, step_detail(look, view, step) if state is not StepState.NEXT else "")
            line.setVisible(view.phase is not ModelPhase.CHECKING or step in BEFORE_LOAD)
        is_reading = current_step(view) == "weights" and view.phase is ModelPhase.LOADING
        self._bar.setVisible(is_reading)
        self._bar.setAccessibleName(look.text("ui.stage.step.weights"))
        if is_reading:
            self._bar.show_fraction(view.progress.fraction if view.progress else None)
        else:
            self._bar.end()


class _StepLine(QWidget):
    def __init__(self, looks: LookSource, step: str) -> None:
        super().__init__()
        self._looks = looks
        self._step = step
        self._icon = IconLabel(looks, "clock", "text_faint")
        self._title = TextLabel("label")
        self._detail = ElidedLabel("caption", "faint")
        self.setLayout(row(self._icon, self._title, None, self._detail, gap=12))

    def show_state(self, state: StepState, detail: str) -> None:
        look = self._looks.look
        title = look.text(f"ui.stage.step.{self._step}")
        self._icon.set_icon(*_ICONS[state])
        self._title.setText(title)
        self._title.set_ink("faint" if state is StepState.NEXT else None)
        self._detail.setText(detail)
        self._detail.set_ink("soft" if state is StepState.NOW else "faint")
        word = look.text(f"ui.stage.step.{state.value}")
        self.setAccessibleName(look.text("ui.stage.step.spoken", step=title, state=word))
        self.setAccessibleDescription(detail)


def step_detail(look: Look, view: ModelView, step: str) -> str:
    """Return the figures of a phase; empty where there are none."""
    facts, plan = view.facts, view.plan
    if step == "checking" and facts is not None:
        return look.text("ui.stage.files", count=max(1, len(facts.files)), size=facts.size_bytes)
    if step == "planning" and plan is not None:
        steps = moe_steps(facts)
        if steps.count:
            held = steps.step_of_options(plan.options)
            return look.text("ui.stage.experts_in_ram", step=held, count=steps.count)
        return look.text("ui.stage.in_ram", size=plan.ram_bytes)
    if step == "weights" and facts is not None and view.progress is not None:
        fraction = view.progress.fraction
        if view.progress.phase == "weights" and fraction is not None:
            done = int(fraction * facts.size_bytes)
            return look.text("ui.stage.weights_read", done=done, total=facts.size_bytes)
    if step == "context" and plan is not None:
        return look.text("ui.stage.context", tokens=f"{plan.options.n_ctx:,}")
    return ""
