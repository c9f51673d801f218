"""The model controller over the echo engine, in real worker processes."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine.protocol import ChatMessage, Failed, Finished, Token
from app.engine.spec import EngineSpec
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.library.default_model import FILE_NAME
from app.options import SamplingOptions
from app.paths import models_folder
from app.planner.facts import Wishes
from app.ui.model_view import ModelPhase, ModelView
from tests.builders import moe_model, text, write_gguf
from tests.controller_setup import BUDGET, Desk, kill_worker, workers, write_model
from tests.session_recorder import gone_within

LOADED = [ModelPhase.CHECKING, ModelPhase.PLANNED, ModelPhase.LOADING, ModelPhase.READY]


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    desk = Desk(qtbot)
    yield desk
    desk.close()
    assert gone_within(workers(), 5.0)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    return write_model(tmp_path)


def ask(desk: Desk, text: str) -> bool:
    return desk.model.generate([ChatMessage("user", text)], SamplingOptions())


def said(desk: Desk) -> str:
    return "".join(event.text for event in desk.answer_events if isinstance(event, Token))


def wait_for_text(desk: Desk) -> None:
    desk.wait(lambda: len(said(desk)) > 5)


def test_a_broken_template_is_told_before_loading_and_chatml_is_planned(desk: Desk, tmp_path: Path) -> None:
    keys, tensors = moe_model("qwen3moe", layers=4, experts=16, used=4)
    keys["tokenizer.chat_template"] = text("{% for m in messages %}")
    desk.model.pick(write_gguf(tmp_path / "broken.gguf", keys, tensors))
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.view.plan is not None
    assert desk.view.plan.options.chat_template == "chatml"
    severities = {finding.code: finding.severity for finding in desk.view.findings}
    assert severities[FindingCode.CHAT_TEMPLATE_BROKEN] is Severity.WARNING
    desk.model.load()
    desk.wait_for_phase(ModelPhase.READY)
    assert desk.engine.loads[0].chat_template == "chatml"


def test_a_model_goes_from_picked_to_an_answer_and_away(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    assert desk.phases == LOADED
    assert desk.view.asked == desk.engine.loads[0]
    assert desk.view.loaded is not None
    assert desk.view.hello is not None
    assert desk.view.engine_name == "echo"
    assert ask(desk, "Hello 世界 again")
    assert not ask(desk, "at the same time")
    desk.wait_for_phase(ModelPhase.READY)
    assert said(desk) == "Hello 世界 again"
    assert isinstance(desk.answer_events[-1], Finished)
    desk.model.unload()
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.phases[4:] == [
        ModelPhase.GENERATING,
        ModelPhase.READY,
        ModelPhase.UNLOADING,
        ModelPhase.PLANNED,
    ]
    assert workers() == []
    assert desk.view.loaded is None
    assert desk.view.can_load


def test_the_plan_is_there_before_anything_is_loaded(desk: Desk, model_file: Path) -> None:
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    view = desk.view
    assert view.facts is not None
    assert view.facts.is_moe
    assert view.plan is not None
    assert view.budget == BUDGET
    assert (view.asked, view.loaded, workers()) == (None, None, [])


@pytest.mark.parametrize(
    ("content", "code"), [(b"<html>", FindingCode.NOT_GGUF), (b"", FindingCode.FILE_EMPTY)]
)
def test_a_file_that_is_no_model_fails_with_its_reason(
    desk: Desk, tmp_path: Path, content: bytes, code: FindingCode
) -> None:
    file = tmp_path / "page.gguf"
    file.write_bytes(content)
    desk.model.pick(file)
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.view.failure is not None
    assert desk.view.failure.code is code
    assert not desk.view.can_load
    desk.model.load()
    assert desk.view.phase is ModelPhase.FAILED


def test_the_last_of_several_picks_counts(desk: Desk, tmp_path: Path) -> None:
    files = [write_model(tmp_path, f"{number}.gguf") for number in range(5)]
    for file in files:
        desk.model.pick(file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.view.path == files[-1]
    assert desk.view.facts is not None
    assert desk.view.facts.path == files[-1]


def test_wishes_while_a_file_is_read_are_in_its_plan(desk: Desk, model_file: Path) -> None:
    desk.model.pick(model_file)
    desk.model.set_wishes(Wishes(n_ctx=1024))
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert desk.view.plan is not None
    assert desk.view.plan.options.n_ctx == 1024


def test_wishes_plan_again_and_ask_for_a_reload_only_where_it_changes_something(
    desk: Desk, model_file: Path
) -> None:
    desk.load(model_file)
    before = desk.view.wishes
    assert not desk.view.needs_reload
    desk.model.set_wishes(replace(before, n_ctx=2048))
    assert desk.view.needs_reload
    assert desk.view.plan is not None
    assert desk.view.plan.options.n_ctx == 2048
    assert desk.view.asked is not None
    assert desk.view.asked.n_ctx != 2048
    desk.model.set_wishes(before)
    assert not desk.view.needs_reload
    desk.model.set_wishes(replace(before, n_ctx=desk.view.plan.options.n_ctx))
    assert not desk.view.needs_reload


def test_a_reload_lets_the_old_engine_go_first_and_applies_the_wishes(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    (old,) = workers()
    desk.model.set_wishes(Wishes(n_ctx=2048))
    desk.model.reload()
    assert desk.view.phase is ModelPhase.UNLOADING
    desk.wait_for_phase(ModelPhase.READY)
    assert desk.engine.loads[-1].n_ctx == 2048
    assert not desk.view.needs_reload
    assert old not in workers()
    assert len(workers()) == 1


def test_every_load_plans_with_the_memory_there_is_then(desk: Desk, model_file: Path) -> None:
    desk.budgets = [BUDGET, replace(BUDGET, performance_cores=1)]
    desk.load(model_file)
    assert desk.view.budget == desk.budgets[-1]
    assert desk.engine.loads[0].n_threads == 1


def test_a_load_can_be_cancelled_and_begun_again(desk: Desk, model_file: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 60.0), ("echo.ignore_cancel", True))
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.wait(lambda: desk.view.progress is not None and bool(desk.view.progress.fraction))
    assert desk.view.can_cancel_load
    desk.model.cancel_load()
    desk.qtbot.waitUntil(lambda: desk.view.phase is ModelPhase.PLANNED, timeout=2000)
    assert workers() == []
    assert desk.view.failure is None
    desk.engine.overrides = ()
    desk.model.load()
    desk.wait_for_phase(ModelPhase.READY)


def test_a_load_can_be_cancelled_before_its_engine_was_started(desk: Desk, model_file: Path) -> None:
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.model.cancel_load()
    assert desk.phases[-3:] == [ModelPhase.LOADING, ModelPhase.UNLOADING, ModelPhase.PLANNED]
    desk.load(model_file)
    assert len(desk.engine.loads) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_load_that_dies_offers_the_next_safer_plan(desk: Desk, model_file: Path) -> None:
    desk.engine.overrides = (("echo.load_signal", "SIGKILL"),)
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.view.failure is not None
    assert desk.view.failure.code is FindingCode.ENGINE_KILLED
    step = desk.view.next_step
    assert step is not None
    assert desk.view.plan is not None
    assert step == desk.view.plan.ladder[1]
    desk.engine.overrides = ()
    desk.model.load_step(step)
    desk.wait_for_phase(ModelPhase.READY)
    assert desk.view.asked == step.options
    assert desk.phases[-1] is ModelPhase.READY
    assert not desk.view.needs_reload


def test_an_engine_that_is_not_there_is_a_failure_with_its_name(desk: Desk, model_file: Path) -> None:
    desk.model.set_engine("none-such")
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.view.failure is not None
    assert desk.view.failure.code is FindingCode.ENGINE_NOT_FOUND
    assert desk.view.next_step is None
    desk.model.set_engine("echo")
    desk.model.load()
    desk.wait_for_phase(ModelPhase.READY)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_engine_killed_in_mid_answer_ends_it_and_the_next_load_works(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    ask(desk, "/slow " + "word " * 500)
    wait_for_text(desk)
    kill_worker()
    desk.wait_for_phase(ModelPhase.FAILED)
    last = desk.answer_events[-1]
    assert isinstance(last, Failed)
    assert last.finding.code is FindingCode.ENGINE_KILLED
    assert desk.view.failure == last.finding
    assert desk.view.can_load
    desk.model.load()
    desk.wait_for_phase(ModelPhase.READY)
    assert ask(desk, "and on")
    desk.wait_for_phase(ModelPhase.READY)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_engine_that_dies_unasked_is_told(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    kill_worker()
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.view.failure is not None
    assert desk.answer_events == []


def test_a_stopped_answer_leaves_the_model_ready(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    ask(desk, "/slow " + "word " * 500)
    wait_for_text(desk)
    desk.model.stop()
    assert desk.view.phase is ModelPhase.STOPPING
    desk.qtbot.waitUntil(lambda: desk.view.phase is ModelPhase.READY, timeout=2000)
    last = desk.answer_events[-1]
    assert isinstance(last, Finished)
    assert last.finish_reason == "cancelled"


def test_an_engine_that_does_not_stop_can_be_unloaded(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    ask(desk, "/busy 60 never")
    desk.model.stop()
    assert desk.view.phase is ModelPhase.STOPPING
    assert desk.view.can_unload
    desk.model.unload()
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert workers() == []


def test_a_stop_right_after_the_question_is_not_lost(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    ask(desk, "/slow " + "word " * 500)
    desk.model.stop()
    desk.qtbot.waitUntil(lambda: desk.view.phase is ModelPhase.READY, timeout=2000)


def test_picking_another_model_ends_the_answer_and_unloads_first(
    desk: Desk, model_file: Path, tmp_path: Path
) -> None:
    desk.load(model_file)
    desk.model.set_wishes(Wishes(moe=2, n_ctx=2048))
    other = write_model(tmp_path, "other.gguf")
    ask(desk, "/slow " + "word " * 500)
    wait_for_text(desk)
    desk.model.pick(other)
    desk.wait_for_phase(ModelPhase.PLANNED)
    assert ModelPhase.UNLOADING in desk.phases
    assert workers() == []
    assert desk.view.path == other
    assert desk.view.wishes == Wishes(moe="auto", n_ctx=2048)
    last = desk.answer_events[-1]
    assert isinstance(last, Finished)
    assert last.finish_reason == "cancelled"


@pytest.mark.parametrize("name", ["notes.gguf", "missing.gguf"])
def test_a_file_that_is_no_model_leaves_the_loaded_one_alone(
    desk: Desk, model_file: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "notes.gguf").write_text("these are notes, and no model")
    refusals: list[Finding] = []
    desk.model.pick_refused.connect(refusals.append)
    desk.load(model_file)
    desk.model.pick(tmp_path / name)
    desk.wait(lambda: bool(refusals))
    assert refusals[0].code in (FindingCode.NOT_GGUF, FindingCode.PATH_MISSING)
    assert (desk.view.phase, desk.view.path) == (ModelPhase.READY, model_file)
    assert ask(desk, "still there")


def test_a_speed_is_told_while_an_answer_comes(desk: Desk, model_file: Path) -> None:
    told: list[tuple[float | None, bool]] = []
    desk.model.speed_changed.connect(lambda speed, is_prefill: told.append((speed, is_prefill)))
    desk.load(model_file)
    ask(desk, "/slow " + "word " * 60)
    desk.wait_for_phase(ModelPhase.READY)
    assert told[0] == (None, True)
    assert told[-1] == (None, False)
    rates = [speed for speed, is_prefill in told if speed is not None and not is_prefill]
    assert rates
    assert all(10 < rate < 60 for rate in rates)
    assert desk.view.tokens_per_second is not None


@pytest.mark.parametrize("moment", ["checking", "preparing", "loading", "ready", "generating", "unloading"])
def test_closing_leaves_no_engine(desk: Desk, model_file: Path, moment: str) -> None:
    desk.model.pick(model_file)
    if moment != "checking":
        desk.wait_for_phase(ModelPhase.PLANNED)
    if moment == "loading":
        desk.engine.overrides = (("echo.load_seconds", 60.0),)
    if moment in ("preparing", "loading", "ready", "generating", "unloading"):
        desk.model.load()
    if moment == "loading":
        desk.wait(lambda: desk.view.progress is not None and bool(desk.view.progress.fraction))
    if moment in ("ready", "generating", "unloading"):
        desk.wait_for_phase(ModelPhase.READY)
    if moment == "generating":
        ask(desk, "/slow " + "word " * 500)
    if moment == "unloading":
        desk.model.unload()
    desk.model.close()
    assert workers() == []
    told = len(desk.answer_events), len(desk.phases)
    desk.qtbot.wait(50)  # what is still on its way must start nothing
    assert workers() == []
    if moment != "checking":
        assert told == (len(desk.answer_events), len(desk.phases))


def test_an_unexpected_error_of_a_job_is_heard_and_the_model_is_not_stuck(
    desk: Desk, model_file: Path
) -> None:
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.budgets = []
    with desk.qtbot.captureExceptions() as heard:
        desk.model.load()
        desk.wait(lambda: bool(heard))
    assert heard[0][0] is IndexError
    assert desk.view.phase is ModelPhase.PLANNED


def test_no_engine_at_all_is_said(qtbot: QtBot, model_file: Path) -> None:
    missing = error(FindingCode.ENGINE_MISSING, name=None)

    def none_at_all(name: str | None, settings: str | None) -> EngineSpec:
        raise FindingError(missing)

    desk = Desk(qtbot, choose=none_at_all)
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.view.failure == missing
    desk.close()


def test_picking_what_is_loaded_changes_nothing(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    desk.model.pick(model_file)
    assert desk.view.phase is ModelPhase.READY
    assert len(desk.engine.loads) == 1


def test_wishes_changed_while_loading_ask_for_a_reload_when_ready(desk: Desk, model_file: Path) -> None:
    desk.engine.overrides = (("echo.load_seconds", 0.2),)
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.wait(lambda: desk.view.asked is not None)
    desk.model.set_wishes(Wishes(n_ctx=1024))
    assert not desk.view.needs_reload
    desk.wait_for_phase(ModelPhase.READY)
    assert desk.view.needs_reload
    assert desk.view.plan is not None
    assert desk.view.plan.options.n_ctx == 1024


def test_another_engine_while_loaded_asks_for_a_reload(desk: Desk, model_file: Path) -> None:
    desk.load(model_file)
    desk.model.set_engine("worker")
    assert desk.view.needs_reload
    assert desk.view.engine_name == "echo"
    desk.model.set_engine("echo")
    assert not desk.view.needs_reload


def test_every_listener_hears_in_order_also_of_what_another_one_did(desk: Desk, model_file: Path) -> None:
    told: list[ModelPhase] = []

    def load_at_once(view: ModelView) -> None:
        if view.phase is ModelPhase.PLANNED:
            desk.model.load()

    desk.model.view_changed.connect(load_at_once)
    desk.model.view_changed.connect(lambda view: told.append(view.phase))
    desk.model.pick(model_file)
    desk.wait_for_phase(ModelPhase.READY)
    assert list(dict.fromkeys(told)) == LOADED
    assert told[-1] is ModelPhase.READY


def test_that_the_default_model_speaks_english_only_is_for_everybody_else(qtbot: QtBot) -> None:
    language = ["zh_CN"]
    desk = Desk(qtbot, language=lambda: language[0])
    desk.model.pick(write_model(models_folder(), FILE_NAME))
    desk.wait_for_phase(ModelPhase.PLANNED)
    codes = [finding.code for finding in desk.view.findings]
    assert FindingCode.DEFAULT_MODEL_ENGLISH_ONLY in codes
    language[0] = "en"
    desk.model.update_findings()
    assert FindingCode.DEFAULT_MODEL_ENGLISH_ONLY not in [finding.code for finding in desk.view.findings]
    desk.close()


def test_findings_are_shown_the_gravest_first_and_each_once(desk: Desk, model_file: Path) -> None:
    desk.budgets = [replace(BUDGET, ram_free_bytes=2 * 1024**2)]
    desk.model.set_wishes(Wishes(n_ctx=100_000))
    desk.load(model_file)
    severities = [finding.severity for finding in desk.view.findings]
    assert len(severities) >= 2
    assert severities == sorted(severities, key=list(Severity).index)
    assert len(set(map(repr, desk.view.findings))) == len(desk.view.findings)
