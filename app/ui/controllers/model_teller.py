"""The model as it is now, and how everyone hears of every change in order."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.findings import Finding
from app.planner.facts import MemoryBudget, OffloadPlan
from app.planner.measured_speeds import MachineSpeeds
from app.planner.speed_gains import SpeedGain
from app.ui.controllers.model_changes import Background, judged, planned_again
from app.ui.model_view import ModelPhase, ModelView


class ModelTeller(QObject):
    """Holds the `ModelView` of the window and what it follows from; who inherits changes it.

    Signals:
        view_changed: a `ModelView`, to every listener in the order they came to be.
        answer_event: `PromptProgress`, `Token`, `Finished` or `Failed` of the running answer; the last one
            comes before the view is `READY` or `FAILED`.
        speed_changed: tokens per second or None, and whether it is the prompt that is being read.
        pick_refused: a `Finding`: why the file picked last is not taken; the loaded model stays.
    """

    view_changed = Signal(object)
    answer_event = Signal(object)
    speed_changed = Signal(object, bool)
    pick_refused = Signal(object)

    def __init__(self, language: Callable[[], str], engine_name: str | None) -> None:
        """Begin without a model.

        Args:
            engine_name: The person's choice; None lets Moxie choose.
        """
        super().__init__()
        self._language = language
        self._view = ModelView(engine_name=engine_name)
        self._background = Background(engine_name=engine_name)
        self._untold: deque[ModelView] = deque()

    @property
    def view(self) -> ModelView:
        """The model as it is now."""
        return self._view

    def set_excluded_gpus(self, keys: tuple[str, ...]) -> None:
        """Keep engines from these cards, from the next load on."""
        if keys != self._background.excluded_gpus:
            self._background = replace(self._background, excluded_gpus=keys)
            self._show(self._view)

    def add_use_finding(self, finding: Finding) -> None:
        """Show something that was found while the loaded model answered, until it is let go."""
        if self._view.loaded is not None and finding not in self._background.in_use:
            self._background = replace(self._background, in_use=(*self._background.in_use, finding))
            self._show(self._view)

    def set_measuring(self, *, is_measuring: bool) -> None:
        """Say whether the engine is being calibrated."""
        self._change(is_measuring=is_measuring)

    def set_gains(self, plan: OffloadPlan, gains: tuple[SpeedGain, ...]) -> None:
        """Show what would make a plan faster, if it is still the one in force."""
        if plan is self._view.plan:
            self._change(gains=gains)

    def set_command(self, plan: OffloadPlan, lines: tuple[tuple[str, str], ...]) -> None:
        """Show what the engine would be told, if the plan is still the one in force."""
        if plan is self._view.plan:
            self._change(command=lines)

    def take_budget(self, path: Path, budget: MemoryBudget) -> None:
        """Plan again with what was learnt meanwhile, unless another file or a load came first."""
        if self._view.phase is ModelPhase.PLANNED and path == self._view.path:
            self._show(planned_again(replace(self._view, budget=budget), self._view.wishes))

    def take_speeds(self, path: Path, speeds: MachineSpeeds | None) -> None:
        """Say how fast the loaded plan is by what its answers taught; the plan itself stays as it is."""
        view = self._view
        if view.phase is not ModelPhase.READY or path != view.path or view.budget is None:
            return
        learnt = planned_again(replace(view, budget=replace(view.budget, speeds=speeds)), view.wishes)
        if learnt.plan is not None and view.plan is not None and learnt.plan.options == view.plan.options:
            self._show(learnt)

    def _change(self, **values: Any) -> None:
        self._show(replace(self._view, **values))

    def _show(self, view: ModelView) -> None:
        is_english = self._language().startswith("en")
        if view.plan is not self._view.plan:
            view = replace(view, gains=(), command=() if view.plan is None else view.command)
        view = judged(view, replace(self._background, is_english=is_english))
        if view == self._view:
            return
        self._view = view
        self._untold.append(view)
        if len(self._untold) > 1:
            return  # a listener did this: everyone hears of it after what is being told now
        while self._untold:
            try:
                self.view_changed.emit(self._untold[0])
            finally:
                self._untold.popleft()
