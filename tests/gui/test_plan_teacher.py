"""What loads and answers teach reaches the next plan, and a calibration holds nobody up."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.engine.engine_on_machine import EngineOnMachine
from app.engine.packs import choose_engine
from app.engine.protocol import ChatMessage
from app.findings import FindingCode, error
from app.hardware.facts import HardwareFacts
from app.hardware.gpu_choice import GpuChoice
from app.library.plan_memory import PlanMemory
from app.options import SamplingOptions
from app.paths import plan_accuracy_file, speed_history_file
from app.planner.facts import Wishes
from app.planner.measured_speeds import SpeedBasis
from app.ui.bridge import Bridge
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.model_jobs import ModelPorts, make_session, next_step
from app.ui.controllers.plan_teacher import PlanTeacher
from app.ui.model_view import ModelPhase
from app.ui.tasks import Tasks
from tests.controller_setup import BUDGET, WAIT_MS
from tests.fakes import FAKE_HOST
from tests.plan_views import planned_view

pytestmark = pytest.mark.engine

ONE_CORE = replace(BUDGET, performance_cores=1)


@dataclass
class Desk:
    """A model with its teacher."""

    qtbot: QtBot
    model: ModelController
    teacher: PlanTeacher

    def wait_for(self, phase: ModelPhase) -> None:
        self.qtbot.waitUntil(lambda: self.model.view.phase is phase, timeout=WAIT_MS)

    def plan(self, path: Path) -> None:
        self.model.pick(path)
        self.wait_for(ModelPhase.PLANNED)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    """The built-in engine on this machine's processor."""
    bridge = Bridge()
    tasks = Tasks(bridge)
    seen = EngineOnMachine(HardwareFacts(FAKE_HOST), None, GpuChoice({}), ONE_CORE)
    ports = ModelPorts(
        lambda: ONE_CORE,
        choose=choose_engine,
        make_session=make_session,
        weights=None,
        seen=lambda: seen,
        memory=PlanMemory(),
    )
    model = ModelController(bridge, tasks, ports, "worker")
    model.set_wishes(Wishes(n_ctx=2048))
    made = Desk(qtbot, model, PlanTeacher(model, tasks, ports, measures_unasked=False))
    yield made
    made.teacher.close()
    model.close()
    tasks.close()


def engine_processes() -> list[psutil.Process]:
    """Return the workers this process started."""
    children = psutil.Process().children(recursive=True)
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if "--engine-worker" in child.cmdline()]


def basis(desk: Desk) -> SpeedBasis | None:
    plan = desk.model.view.plan
    return plan.forecast.basis if plan is not None and plan.forecast is not None else None


def test_loads_and_answers_teach_the_next_plan(desk: Desk, moe_model: Path) -> None:
    desk.plan(moe_model)
    assert desk.model.view.plan is not None and desk.model.view.plan.forecast is None
    desk.model.load()
    desk.wait_for(ModelPhase.READY)
    sampling = SamplingOptions(temperature=0.0, max_tokens=16)
    assert desk.model.generate([ChatMessage("user", "Count to twenty in words.")], sampling)
    desk.wait_for(ModelPhase.READY)
    kept = (plan_accuracy_file(), speed_history_file())
    desk.qtbot.waitUntil(lambda: all(file.exists() for file in kept), timeout=WAIT_MS)
    measured = desk.model.view.tokens_per_second
    loaded = desk.model.view.plan
    desk.qtbot.waitUntil(lambda: basis(desk) is SpeedBasis.MEASURED_HERE, timeout=WAIT_MS)
    assert loaded is not None and desk.model.view.plan is not None
    assert desk.model.view.phase is ModelPhase.READY
    assert desk.model.view.plan.devices == loaded.devices  # what was planned stays what was planned
    assert not desk.model.view.needs_reload
    desk.model.unload()
    desk.wait_for(ModelPhase.PLANNED)
    desk.model.look_again()
    desk.wait_for(ModelPhase.PLANNED)
    plan = desk.model.view.plan
    assert plan is not None and plan.forecast is not None and measured is not None
    assert plan.forecast.basis is SpeedBasis.MEASURED_HERE
    assert plan.forecast.decode.low < measured < plan.forecast.decode.high
    assert desk.model.view.budget is not None and desk.model.view.budget.corrections is not None


def test_a_plan_is_told_its_speed_once_the_engine_was_measured(desk: Desk, moe_model: Path) -> None:
    desk.plan(moe_model)
    assert desk.model.view.can_measure
    desk.teacher.measure()
    desk.qtbot.waitUntil(lambda: desk.model.view.is_measuring, timeout=WAIT_MS)
    assert not desk.model.view.can_measure
    desk.qtbot.waitUntil(lambda: not desk.model.view.is_measuring, timeout=3 * WAIT_MS)
    plan = desk.model.view.plan
    assert plan is not None and plan.forecast is not None
    assert plan.forecast.basis is SpeedBasis.CALIBRATED
    assert not desk.model.view.can_measure


def test_a_load_ends_a_calibration_and_its_processes(desk: Desk, moe_model: Path) -> None:
    desk.plan(moe_model)
    desk.teacher.measure()
    desk.qtbot.waitUntil(lambda: desk.model.view.is_measuring, timeout=WAIT_MS)
    desk.model.load()
    desk.wait_for(ModelPhase.READY)
    desk.qtbot.waitUntil(lambda: not desk.model.view.is_measuring, timeout=WAIT_MS)
    assert len(engine_processes()) == 1  # the model's
    assert desk.model.view.plan is not None and desk.model.view.plan.forecast is None


def test_closing_ends_a_calibration(desk: Desk, moe_model: Path) -> None:
    desk.plan(moe_model)
    desk.teacher.measure()
    desk.qtbot.waitUntil(lambda: desk.model.view.is_measuring, timeout=WAIT_MS)
    desk.teacher.close()
    desk.qtbot.waitUntil(lambda: not engine_processes(), timeout=WAIT_MS)


def test_after_the_bigger_context_failed_the_plan_itself_is_offered() -> None:
    plan = planned_view().plan
    assert plan is not None and plan.bigger_context is not None
    failure = error(FindingCode.ENGINE_OUT_OF_VRAM)
    assert next_step(plan, plan.bigger_context.options, failure) == plan.ladder[0]
    assert next_step(plan, plan.options, failure) == plan.ladder[1]
