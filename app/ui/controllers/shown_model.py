"""The model the Models page shows: looked at, planned, and put before the engine, but never loaded."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.dry_run import engine_accepts
from app.findings import Finding, Severity
from app.gguf.anatomy import Anatomy, anatomy_of
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import InspectedFile
from app.hardware.verdicts_memory import judge_needs
from app.library.weights_memory import WEIGHTS, WeightsCheck
from app.planner.facts import OffloadPlan, Wishes
from app.planner.plan import plan_of_step
from app.planner.report import memory_needs
from app.ui.controllers.model_details_job import details_unless
from app.ui.controllers.model_jobs import CheckedModel, ModelPorts, check_model
from app.ui.controllers.shown_weights import ShownWeights
from app.ui.model_page_view import ModelPageView, Verdict, WeightsView
from app.ui.model_view import ModelView
from app.ui.tasks import Tasks
from app.ui.views.model_details.facts import ModelDetailsFacts

CHECK_AFTER_MS: Final = 90
"""Somebody who goes through the list with the arrow keys stays longer on what they want to see."""

ASK_AFTER_MS: Final = 350
"""Likewise, before a process is started."""

Accepts = Callable[
    [Path, tuple[tuple[str, Any], ...], Callable[[], bool]], tuple[bool | None, tuple[Finding, ...]]
]


@dataclass(frozen=True, slots=True)
class _LookedAt:
    """What a look at a file gave."""

    checked: CheckedModel
    anatomy: Anatomy
    plans: tuple[OffloadPlan, ...]
    inspected: InspectedFile
    weights: WeightsCheck | None


class ShownModel(QObject):
    """Owns what the page shows of one file. Methods return at once.

    Signals:
        view_changed: a `ModelPageView`.
        details_changed: `ModelDetailsFacts` of the same file, or None while they are not known.
    """

    view_changed = Signal(object)
    details_changed = Signal(object)

    def __init__(self, tasks: Tasks, ports: ModelPorts, accepts: Accepts = engine_accepts) -> None:
        """Show nothing yet."""
        super().__init__()
        self._tasks = tasks
        self._ports = ports
        self._accepts = accepts
        self._view = ModelPageView()
        self._details: ModelDetailsFacts | None = None
        self._given_up = threading.Event()  # of the jobs under way: their results are not wanted
        self._is_asking = False
        self.weights = ShownWeights(tasks, ports.weights or WEIGHTS)
        self.weights.view_changed.connect(self._on_weights)
        self._may_ask = True
        self._check_timer = QTimer(self, singleShot=True, interval=CHECK_AFTER_MS)
        self._check_timer.timeout.connect(self._check)
        self._ask_timer = QTimer(self, singleShot=True, interval=ASK_AFTER_MS)
        self._ask_timer.timeout.connect(self._ask_if_free)

    @property
    def view(self) -> ModelPageView:
        """What is shown now."""
        return self._view

    @property
    def details(self) -> ModelDetailsFacts | None:
        """The depth of the file shown; None while it is not known."""
        return self._details

    def show(self, path: Path | None) -> None:
        """Look at another file; what is under way for the one before is given up, its processes are ended."""
        if path == self._view.path:
            return
        self._stop()
        self.weights.show(None)
        self._set_details(None)
        elsewhere = self._view.loads_elsewhere
        self._set(ModelPageView(path=path, is_checking=path is not None, loads_elsewhere=elsewhere))
        if path is not None:
            self._check_timer.start()

    @Slot()
    def look_again(self) -> None:
        """Look at the same file once more: it, or the machine, has changed."""
        if self._view.path is not None:
            self._stop()
            self._set(replace(self._view, is_checking=True, verdict=Verdict.NOT_ASKED, verdict_findings=()))
            self._check_timer.start()

    def set_wishes(self, wishes: Wishes) -> None:
        """Plan again with other wishes."""
        if wishes != self._view.wishes:
            self._set(replace(self._view, wishes=wishes))
            self.look_again()

    def choose_step(self, index: int) -> None:
        """Choose the step that would be loaded."""
        if index < len(self._view.plans):
            self._set(replace(self._view, chosen=index))

    def set_load(self, view: ModelView | None, loaded_at: str) -> None:
        """Say what became of the last load of the file shown."""
        self._set(replace(self._view, last_load=view, loaded_at=loaded_at))

    def set_may_ask(self, *, may_ask: bool) -> None:
        """Say whether the engine may be asked unbidden: not while another file is being loaded or answers."""
        self._may_ask = may_ask

    def set_loads_elsewhere(self, *, loads_elsewhere: bool) -> None:
        """Say whether another engine would load the file than the one that is asked about it."""
        self._set(replace(self._view, loads_elsewhere=loads_elsewhere))

    @Slot()
    def ask_engine(self) -> None:
        """Ask the engine what it thinks of the file, in a process of its own."""
        facts = self._view.facts
        if facts is None or self._view.verdict is Verdict.ASKING:
            return
        self._set(replace(self._view, verdict=Verdict.ASKING, verdict_findings=()))
        self._ask_if_free()

    @Slot()
    def close(self) -> None:
        """Give up what is under way."""
        self._stop()
        self.weights.show(None)

    def _stop(self) -> None:
        self._given_up.set()
        self._given_up = threading.Event()
        self._check_timer.stop()
        self._ask_timer.stop()

    def _check(self) -> None:
        path = self._view.path
        assert path is not None  # the timer is stopped without one
        given_up = self._given_up
        self._tasks.run_in_background(
            partial(_look_at, self._ports, path, self._view.wishes, given_up.is_set),
            partial(self._on_looked_at, given_up),
            partial(self._on_failed, given_up),
        )

    def _on_looked_at(self, given_up: threading.Event, seen: _LookedAt | None) -> None:
        if seen is None or given_up.is_set():
            return
        checked = seen.checked
        steps = checked.plan.ladder if checked.plan is not None else ()
        view = replace(
            self._view,
            is_checking=False,
            facts=checked.facts,
            anatomy=seen.anatomy,
            findings=_all_findings(checked),
            failure=checked.failure,
            budget=checked.budget,
            steps=steps,
            plans=seen.plans,
            chosen=min(self._view.chosen, max(0, len(seen.plans) - 1)),
        )
        asks = self._may_ask and view.can_ask_engine
        self._set(replace(view, verdict=Verdict.ASKING) if asks else view)
        if checked.facts.tensor_count:
            self._tasks.run_in_background(
                partial(details_unless, given_up.is_set, seen.inspected),
                partial(self._on_details, given_up),
            )
        self.weights.show(None if checked.failure else checked.facts, seen.weights)
        if asks:
            self._ask_timer.start()

    def _on_details(self, given_up: threading.Event, details: ModelDetailsFacts | None) -> None:
        if details is not None and not given_up.is_set():
            self._set_details(details)

    @Slot(object)
    def _on_weights(self, weights: WeightsView) -> None:
        view = replace(self._view, weights=weights)
        failed = next((f for f in view.all_findings if f.severity is Severity.ERROR), None)
        if failed is not None and view.failure is None:
            view = replace(view, failure=failed, steps=(), plans=(), chosen=0)
        self._set(view)

    def _on_failed(self, given_up: threading.Event, reason: Exception) -> None:
        if not given_up.is_set():
            self._set(replace(self._view, is_checking=False))
        raise reason

    def _ask_if_free(self) -> None:
        """Start a process, one at a time; that of another file is ending."""
        if not self._is_asking and self._view.facts is not None:
            self._ask(self._view.facts)

    def _ask(self, facts: ModelFacts) -> None:
        self._is_asking = True
        self._tasks.run_in_background(
            partial(self._accepts, facts.path, facts.kv_overrides, self._given_up.is_set),
            partial(self._on_answer, self._given_up),
            partial(self._on_no_answer, self._given_up),
        )

    def _on_answer(self, given_up: threading.Event, answer: tuple[bool | None, tuple[Finding, ...]]) -> None:
        self._is_asking = False
        is_accepted, findings = answer
        if not given_up.is_set():
            verdict = {True: Verdict.ACCEPTED, False: Verdict.REFUSED, None: Verdict.UNKNOWN}[is_accepted]
            self._set(replace(self._view, verdict=verdict, verdict_findings=findings))
        elif self._view.verdict is Verdict.ASKING and not self._ask_timer.isActive():
            self._ask_if_free()

    def _on_no_answer(self, given_up: threading.Event, reason: Exception) -> None:
        self._on_answer(given_up, (None, ()))
        raise reason

    def _set_details(self, details: ModelDetailsFacts | None) -> None:
        if details is not self._details:
            self._details = details
            self.details_changed.emit(details)

    def _set(self, view: ModelPageView) -> None:
        if view != self._view:
            self._view = view
            self.view_changed.emit(view)


def _all_findings(checked: CheckedModel) -> tuple[Finding, ...]:
    plan, host = checked.plan, checked.host
    if plan is None:
        return checked.findings + checked.of_machine
    of_memory = judge_needs(host, memory_needs(plan)) if host is not None else ()
    return checked.findings + plan.findings + checked.of_machine + of_memory


def _look_at(
    ports: ModelPorts, path: Path, wishes: Wishes, is_cancelled: Callable[[], bool]
) -> _LookedAt | None:
    inspected = ports.inspect(path)
    if is_cancelled():
        return None
    checked = check_model(replace(ports, inspect=lambda _path: inspected, weights=None), path, wishes)
    if is_cancelled():
        return None
    plan, facts = checked.plan, checked.facts
    plans = () if plan is None else tuple(plan_of_step(facts, checked.budget, plan, s) for s in plan.ladder)
    known = ports.weights.known(facts) if ports.weights is not None else None
    return _LookedAt(checked, anatomy_of(facts), plans, inspected, known)
