"""Keeps what loads and answers teach, calibrates while nobody waits, and works out what would be faster."""

import threading
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

from app.engine.effective_command import command_lines, line_changes
from app.engine.protocol import Finished, Timings
from app.engine.spec import EngineSpec
from app.findings import FindingError
from app.gguf.facts import ModelFacts
from app.library.plan_memory import PlanMemory, RunningModel
from app.planner.facts import ExpertWishes, MemoryBudget, OffloadPlan
from app.planner.measured_speeds import MachineSpeeds
from app.planner.plan import plan_offload
from app.planner.speed_gains import speed_gains
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.model_jobs import ModelPorts, taught_budget
from app.ui.model_view import ModelPhase, ModelView
from app.ui.tasks import Tasks

IDLE_MS: Final = 1500
"""A plan that nobody touches so long is looked at more closely."""

COMMAND_MS: Final = 150
CLOSE_SECONDS: Final = 2.0
_MOST_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class _Question:
    """What to measure: a view, and the engine that would run it."""

    view: ModelView
    engine_name: str | None


@dataclass(frozen=True, slots=True)
class _Taught:
    """A plan with all that is known by now, and for what."""

    path: Path
    facts: ModelFacts
    spec: EngineSpec
    budget: MemoryBudget
    plan: OffloadPlan


class PlanTeacher(QObject):
    """Watches the model of the window. GUI thread; the work is done in the background.

    A calibration ends as soon as a model is loaded or another one is picked.
    """

    def __init__(
        self, model: ModelController, tasks: Tasks, ports: ModelPorts, *, measures_unasked: bool
    ) -> None:
        """Begin.

        Args:
            measures_unasked: Calibrate the engine when a plan stands and nobody does anything.
        """
        super().__init__()
        self._model = model
        self._tasks = tasks
        self._ports = ports
        self._measures_unasked = measures_unasked
        self._view = ModelView()
        self._running: RunningModel | None = None
        self._given_up = threading.Event()
        self._is_free = threading.Event()
        self._is_free.set()
        self._timer = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._timer.timeout.connect(self._on_idle)
        self._command_timer = QTimer(self, singleShot=True, interval=COMMAND_MS)
        self._command_timer.timeout.connect(self._on_command_due)
        model.view_changed.connect(self._on_view_changed)
        model.answer_event.connect(self._on_answer_event)

    @Slot()
    def measure(self) -> None:
        """Calibrate now what is missing for the plan in force."""
        view, memory = self._view, self._ports.memory
        if memory is None or view.plan is None or view.facts is None or not self._is_free.is_set():
            return
        self._given_up = threading.Event()
        self._is_free.clear()
        question = _Question(view, view.engine_name)
        job = partial(self._measure, memory, question, self._given_up)
        self._tasks.run_in_background(job, self._on_measured, self._on_not_measured)

    def close(self) -> None:
        """Give up what is under way, and wait until its files are gone."""
        self._timer.stop()
        self._command_timer.stop()
        self._given_up.set()
        self._is_free.wait(CLOSE_SECONDS)

    @Slot(object)
    def _on_view_changed(self, view: ModelView) -> None:
        before, self._view = self._view, view
        if view.path != before.path or view.phase not in (ModelPhase.PLANNED, before.phase):
            self._given_up.set()
        if view.loaded is None:
            self._running = None
        elif before.loaded is None:
            self._on_loaded(view)
        if view.plan is not before.plan or view.phase is not before.phase:
            if view.plan is not None and view.phase in (ModelPhase.PLANNED, ModelPhase.READY):
                self._timer.start()
                self._command_timer.start()
            else:
                self._timer.stop()
                self._command_timer.stop()

    def _on_loaded(self, view: ModelView) -> None:
        memory, spec = self._ports.memory, self._model.spec
        parts = (view.facts, view.asked, view.hello)
        if memory is None or spec is None or view.loaded is None or None in parts:
            return
        assert view.facts is not None and view.asked is not None and view.hello is not None
        told = view.plan.forecast if view.plan and view.plan.options == view.asked else None
        self._running = RunningModel(spec, view.facts, view.asked, view.hello, told)
        self._tasks.run_in_background(partial(memory.keep_load, self._running, view.loaded))

    @Slot(object)
    def _on_answer_event(self, event: object) -> None:
        memory, running = self._ports.memory, self._running
        if isinstance(event, Finished) and memory is not None and running is not None:
            job = partial(self._learn_answer, memory, running, event.timings, self._view)
            self._tasks.run_in_background(job, partial(self._model.take_speeds, running.model.path))

    def _learn_answer(
        self, memory: PlanMemory, running: RunningModel, timings: Timings, view: ModelView
    ) -> MachineSpeeds | None:
        memory.keep_answer(running, timings)
        if view.budget is None:
            return None
        return taught_budget(self._ports, view.budget, running.model, running.spec.name).speeds

    @Slot()
    def _on_idle(self) -> None:
        view = self._view
        if view.plan is None or view.facts is None or view.budget is None:
            return
        if view.plan.forecast is not None:
            job = partial(speed_gains, view.facts, view.budget, view.wishes, view.plan)
            self._tasks.run_in_background(job, partial(self._model.set_gains, view.plan))
        if self._measures_unasked and view.phase is ModelPhase.PLANNED:
            self.measure()

    @Slot()
    def _on_command_due(self) -> None:
        view = self._view
        if view.plan is not None and view.facts is not None and view.budget is not None:
            job = partial(self._command, _Question(view, view.engine_name))
            self._tasks.run_in_background(job, partial(self._model.set_command, view.plan))

    def _command(self, question: _Question) -> tuple[tuple[str, str], ...]:
        """Return what the engine would be told, against the plan without anything fixed by an expert."""
        view = question.view
        if view.plan is None or view.facts is None or view.budget is None or view.path is None:
            return ()
        usual = plan_offload(view.facts, view.budget, replace(view.wishes, expert=ExpertWishes()))
        try:
            spec = self._ports.choose(question.engine_name, None)
            before = command_lines(spec, view.path, usual.options)
            return line_changes(before, command_lines(spec, view.path, view.plan.options))
        except FindingError:  # a load says why
            return ()

    def _measure(self, memory: PlanMemory, question: _Question, given_up: threading.Event) -> _Taught | None:
        """Calibrate for a view's plan; None when that was given up. In the background."""
        try:
            for _ in range(_MOST_ROUNDS):
                taught = self._taught(question)
                seen = self._ports.seen()
                if taught is None or seen is None:
                    return None
                request = memory.to_measure(taught.spec, seen.hardware, taught.facts, taught.plan)
                if request is None:
                    return taught
                self._tasks.post(partial(self._model.set_measuring, is_measuring=True))
                if not memory.measure(seen.hardware, request, given_up.is_set):
                    return None
            return self._taught(question)
        finally:
            self._is_free.set()

    def _taught(self, question: _Question) -> _Taught | None:
        seen, view = self._ports.seen(), question.view
        if seen is None or view.facts is None or view.budget is None or view.path is None:
            return None
        spec = seen.spec(self._ports.choose(question.engine_name, None))
        budget = taught_budget(self._ports, view.budget, view.facts, question.engine_name)
        return _Taught(view.path, view.facts, spec, budget, plan_offload(view.facts, budget, view.wishes))

    def _on_measured(self, taught: _Taught | None) -> None:
        if self._model.view.is_measuring:
            self._model.set_measuring(is_measuring=False)
        if taught is not None and taught.budget != self._model.view.budget:
            self._model.take_budget(taught.path, taught.budget)

    def _on_not_measured(self, reason: Exception) -> None:
        self._model.set_measuring(is_measuring=False)
        if not isinstance(reason, FindingError):  # a load says why the engine does not start
            raise reason
