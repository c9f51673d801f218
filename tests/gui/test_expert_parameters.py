"""Every option of an engine in the expert's list, and what the engine is told with it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.engine.engine_on_machine import EngineOnMachine
from app.engine.packs import choose_engine
from app.engine.spec import BackendKind, EngineSpec
from app.hardware.facts import HardwareFacts
from app.hardware.gpu_choice import GpuChoice
from app.planner.facts import ExpertWishes, Wishes
from app.ui.bridge import Bridge
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.model_jobs import ModelPorts, make_session
from app.ui.controllers.plan_teacher import PlanTeacher
from app.ui.model_view import ModelPhase
from app.ui.tasks import Tasks
from app.ui.theme.look import LookSource
from app.ui.views.parameters_tab import EXPERT, ParametersTab
from tests.controller_setup import BUDGET, WAIT_MS
from tests.fakes import FAKE_HOST
from tests.plan_views import planned_view

Show = Callable[[QWidget], QWidget]


@pytest.fixture
def tab(looks: LookSource, show: Show) -> ParametersTab:
    """The expert's view of a planned model."""
    made = ParametersTab(looks)
    made.resize(328, 900)
    made.show_detail(EXPERT)
    show(made)
    made.show_view(planned_view())
    return made


def wishes_of(tab: ParametersTab, qtbot: QtBot, act: Callable[[], object]) -> Wishes:
    with qtbot.waitSignal(tab.wishes_changed, timeout=5000) as told:
        act()
    assert told.args is not None
    wishes = told.args[0]
    assert isinstance(wishes, Wishes)
    return wishes


def test_every_expert_wish_has_a_row(tab: ParametersTab) -> None:
    expert = tab.load.expert
    rows = {*expert.numbers, *expert.choices, "extra_flags"}
    assert rows == set(ExpertWishes.__dataclass_fields__)


def test_what_is_left_open_shows_what_the_plan_chose(tab: ParametersTab) -> None:
    view = planned_view()
    assert view.plan is not None
    shown = tab.load.expert.numbers["n_ubatch"].line_edit.placeholderText()
    assert f"{view.plan.options.n_ubatch}" in shown


def test_a_number_is_wished_and_taken_back(tab: ParametersTab, qtbot: QtBot) -> None:
    field = tab.load.expert.numbers["n_ubatch"].line_edit
    field.setFocus()
    qtbot.keyClicks(field, "256")
    wishes = wishes_of(tab, qtbot, field.editingFinished.emit)
    assert wishes.expert == ExpertWishes(n_ubatch=256)
    assert wishes_of(tab, qtbot, tab.load.reset).expert == ExpertWishes()


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [("flash_attn", 2, "off"), ("swa_full", 1, True), ("op_offload", 2, False), ("load_mode", 1, "none")],
)
def test_a_word_is_wished(tab: ParametersTab, qtbot: QtBot, name: str, index: int, value: object) -> None:
    row = tab.load.expert.choices[name]
    wishes = wishes_of(tab, qtbot, lambda: row.choice.activated.emit(index))
    assert getattr(wishes.expert, name) == value


def test_more_flags_are_split_as_a_command_line_is(tab: ParametersTab, qtbot: QtBot) -> None:
    flags = tab.load.expert.flags
    flags.editor.setPlainText("--top-nsigma 1 --alias 'my model'")
    wishes = wishes_of(tab, qtbot, flags.flush)
    assert wishes.expert.extra_flags == ("--top-nsigma", "1", "--alias", "my model")
    tab.show_view(planned_view(wishes))
    assert flags.editor.toPlainText() == "--top-nsigma 1 --alias 'my model'"


def test_the_command_is_shown_with_its_changes_and_copied_without_what_goes(tab: ParametersTab) -> None:
    lines = ((" ", "llama-server"), ("-", "--ubatch-size 512"), ("+", "--ubatch-size 256"))
    tab.show_view(replace(planned_view(), command=lines))
    command = tab.load.expert.command
    assert command.text.toPlainText().splitlines()[1:] == ["- --ubatch-size 512", "+ --ubatch-size 256"]
    command.copy.click()
    assert QGuiApplication.clipboard().text() == "llama-server\n--ubatch-size 256"


@pytest.fixture
def model(qtbot: QtBot, engine_pack: Path) -> Iterator[ModelController]:
    """A model that a real llama-server would run, with its teacher."""
    bridge = Bridge()
    tasks = Tasks(bridge)
    pack = EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack)
    seen = EngineOnMachine(HardwareFacts(FAKE_HOST), None, GpuChoice({}), BUDGET)
    ports = ModelPorts(
        lambda: BUDGET,
        choose=lambda name, settings: pack if name == "pack" else choose_engine(name, settings),
        make_session=make_session,
        weights=None,
        seen=lambda: seen,
    )
    made = ModelController(bridge, tasks, ports, "pack")
    teacher = PlanTeacher(made, tasks, ports, measures_unasked=False)
    yield made
    teacher.close()
    made.close()
    tasks.close()


@pytest.mark.engine
def test_a_real_packs_command_follows_the_wishes(
    model: ModelController, moe_model: Path, qtbot: QtBot
) -> None:
    model.pick(moe_model)
    qtbot.waitUntil(lambda: model.view.phase is ModelPhase.PLANNED, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: bool(model.view.command), timeout=WAIT_MS)
    assert {mark for mark, _ in model.view.command} == {" "}
    model.set_wishes(Wishes(expert=ExpertWishes(n_ubatch=256, extra_flags=("--top-nsigma", "1"))))
    changed = {("-", "--ubatch-size 512"), ("+", "--ubatch-size 256"), ("+", "--top-nsigma 1")}
    qtbot.waitUntil(lambda: changed <= set(model.view.command), timeout=WAIT_MS)
    model.load()
    qtbot.waitUntil(lambda: model.view.phase is ModelPhase.READY, timeout=WAIT_MS)
    assert model.view.asked is not None
    assert model.view.asked.extra_flags == ("--top-nsigma", "1")
