"""What a step of the MoE slider costs the GUI thread: planning again, showing it everywhere, painting.

`python -m tests.bench.bench_replan`: a model of 94 layers on a GPU of 12 GB, dragged through its steps in the
real window, once per tab of the dock and once without it. In processor time of the GUI thread. A step takes
some turns of the event loop, between which keys and mouse are heard; its longest turn may take 5 ms, planning
alone too. Exits 1 when the median of the longest turns is longer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Final

from PySide6.QtWidgets import QApplication

from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.ui.controllers.model_changes import planned_again
from app.ui.model_view import ModelPhase
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
QUIET_MS: Final = 0.1
QUIET_TURNS: Final = 5
"""So many in which nothing happens, and a step is over."""


@dataclass
class Costs:
    """Milliseconds of the GUI thread, one per step.

    Attributes:
        planning: Making the new plan.
        turns: The longest turn.
        steps: All turns together.
    """

    planning: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)


def main() -> None:
    """Print the costs per tab; exit 1 when a step takes too long."""
    print(load_average(), flush=True)
    is_slow = False
    with window_program("echo") as program:
        _pretend_big_model(program)
        for tab in (CLOSED, *TABS):
            costs = _drag(program, tab)
            turns = sorted(costs.turns)
            is_slow |= max(median(turns), median(costs.planning)) > JOB_MS_MAX
            print(
                f"{tab:10} longest turn {median(turns):4.1f} ms (p95 {turns[int(0.95 * len(turns))]:.1f},"
                f" max {turns[-1]:.1f}), whole step {median(costs.steps):4.1f}: planning"
                f" {median(costs.planning):.1f}"
            )
    print(f"limit {JOB_MS_MAX} ms a turn; {load_average()}")
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
    for step in (*range(LAYERS), *reversed(range(LAYERS))):
        if step == slider.value():
            continue  # it stands there already
        wishes = Wishes(moe=step)
        costs.planning.append(_milliseconds(partial(planned_again, program.model.view, wishes)))
        before = program.model.view.wishes
        slider.setValue(step)
        turns = _turns(program, before)
        costs.turns.append(max(turns))
        costs.steps.append(sum(turns))
    slider.setSliderDown(False)
    _settle()
    return costs


def _turns(program: Program, before: Wishes) -> list[float]:
    """Let all happen that follows from a step, paint included; return what each turn of the loop took."""
    turns, quiet = [], 0
    while quiet < QUIET_TURNS:
        turns.append(_milliseconds(QApplication.processEvents))
        is_over = program.model.view.wishes != before and program.window.is_settled
        quiet = quiet + 1 if is_over and turns[-1] < QUIET_MS else 0
    return turns


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
