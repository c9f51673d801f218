"""What a step of the MoE slider costs the GUI thread: planning again, showing it everywhere, painting.

`python -m tests.bench.bench_replan`: a model of 94 layers on a GPU of 12 GB, dragged through its steps in the
real window, once per tab of the dock and once without it. In processor time of the GUI thread. A step is two
jobs, planning and showing, then layout and paint. Each may take 5 ms, planning alone too; exits 1 when the
median of a job takes longer.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Final

from PySide6.QtWidgets import QApplication, QSlider

from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.ui.controllers.model_changes import planned_again
from app.ui.model_view import ModelPhase, ModelView
from app.ui.program import Program
from app.ui.views.dock import TABS
from tests.bench.bench_stalls import MODEL
from tests.bench.window_bench import GIB, wait_for_phase, window_program
from tests.bench.window_start import load_average
from tests.planner_models import moe_facts

LAYERS: Final = 94
JOB_MS_MAX: Final = 5.0
RAM_BYTES: Final = 96 * GIB
CLOSED: Final = "closed"
SETTLE_SECONDS: Final = 0.01


@dataclass
class Costs:
    """Milliseconds of the GUI thread, one per step.

    Attributes:
        planning: Making the new plan.
        showing: Giving it to the views, without planning.
        painting: Layout and paint that come of it.
    """

    planning: list[float] = field(default_factory=list)
    showing: list[float] = field(default_factory=list)
    painting: list[float] = field(default_factory=list)

    @property
    def first_jobs(self) -> list[float]:
        return [sum(both) for both in zip(self.planning, self.showing, strict=True)]

    @property
    def steps(self) -> list[float]:
        parts = zip(self.planning, self.showing, self.painting, strict=True)
        return sorted(sum(step) for step in parts)


def main() -> None:
    """Print the costs per tab; exit 1 when a step takes too long."""
    print(load_average(), flush=True)
    is_slow = False
    with window_program("echo") as program:
        _pretend_big_model(program)
        for tab in (CLOSED, *TABS):
            costs = _drag(program, tab)
            is_slow |= max(median(costs.first_jobs), median(costs.painting)) > JOB_MS_MAX
            steps = costs.steps
            print(
                f"{tab:10} step {median(steps):4.1f} ms (p95 {steps[int(0.95 * len(steps))]:.1f},"
                f" max {steps[-1]:.1f}): planning {median(costs.planning):.1f},"
                f" showing {median(costs.showing):.1f}, layout and paint {median(costs.painting):.1f}"
            )
    print(f"limit {JOB_MS_MAX} ms a job; {load_average()}")
    if is_slow:
        raise SystemExit(1)


def _pretend_big_model(program: Program) -> None:
    """Have the window show a model that is bigger than the disk of this machine may be."""
    program.model.pick(MODEL)
    wait_for_phase(program, ModelPhase.PLANNED)
    facts, view = replace(moe_facts(blocks=LAYERS), path=MODEL), program.model.view
    assert view.budget is not None
    budget = replace(view.budget, ram_free_bytes=RAM_BYTES)
    plan = plan_offload(facts, budget, Wishes())
    program.model._show(replace(view, facts=facts, budget=budget, plan=plan, findings=plan.findings))


def _drag(program: Program, tab: str) -> Costs:
    window = program.window
    window.set_dock_open(tab != CLOSED)
    if tab != CLOSED:
        window.dock.show_tab(tab)
    slider = window.model_bar.moe.slider
    costs = Costs()
    _settle()
    slider.setSliderDown(True)
    with _timed_show_view(program, costs):
        for step in (*range(LAYERS), *reversed(range(LAYERS))):
            view, wishes = program.model.view, Wishes(moe=step)
            planning = _milliseconds(partial(planned_again, view, wishes))
            shown = len(costs.showing)
            whole = _milliseconds(partial(_move, slider, step))
            if len(costs.showing) == shown:
                continue  # the slider stood there already
            costs.planning.append(planning)
            costs.painting.append(max(0.0, whole - planning - costs.showing[-1]))
            _settle()
    slider.setSliderDown(False)
    _settle()
    return costs


@contextmanager
def _timed_show_view(program: Program, costs: Costs) -> Iterator[None]:
    """Write down what the window takes to show a view."""
    show_view = program.window.show_view

    def timed(view: ModelView) -> None:
        costs.showing.append(_milliseconds(partial(show_view, view)))

    program.window.show_view = timed  # type: ignore[method-assign]  # for as long as it is measured
    yield
    program.window.show_view = show_view  # type: ignore[method-assign]


def _move(slider: QSlider, step: int) -> None:
    """Move the slider and let all that follows happen, paint included."""
    slider.setValue(step)
    QApplication.processEvents()
    QApplication.processEvents()


def _settle() -> None:
    until = time.perf_counter() + SETTLE_SECONDS
    while time.perf_counter() < until:
        QApplication.processEvents()


def _milliseconds(job: Callable[[], object]) -> float:
    began = time.thread_time()
    job()
    return (time.thread_time() - began) * 1000.0


if __name__ == "__main__":
    main()
