"""The controllers over the built-in engine and the default model."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.conversation import MessageState
from app.findings import FindingCode
from app.ui.model_view import ModelPhase
from tests.controller_setup import ChatDesk, kill_worker, workers

pytestmark = pytest.mark.engine


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path) -> Iterator[ChatDesk]:
    desk = ChatDesk(qtbot, tmp_path / "home", engine_name=None)
    desk.preferences.set_sampling(replace(desk.preferences.sampling, temperature=0.0, max_tokens=12))
    desk.chat.start()
    yield desk
    desk.close()
    assert workers() == []


def ask_for_a_story(desk: ChatDesk) -> None:
    """Ask for a long answer and wait until some of it is there."""
    desk.preferences.set_sampling(replace(desk.preferences.sampling, max_tokens=600))
    desk.chat.send("Tell a long story about a lighthouse.")
    desk.wait(lambda: len(desk.streamed.get(desk.last.id, "")) > 20)


def test_the_default_model_answers_and_is_loaded_anew_with_other_wishes(
    desk: ChatDesk, moe_model: Path
) -> None:
    desk.load(moe_model)
    view = desk.view
    assert view.engine_name == "worker"
    assert view.loaded is not None
    assert view.asked is not None
    assert view.loaded.context_length == view.asked.n_ctx
    assert view.loaded.buffers
    desk.ask("Say hello.")
    assert desk.last.text.strip()
    assert desk.last.figures is not None
    assert desk.last.figures.timings.predicted_tokens == 12
    assert desk.last.finish_reason == "length"
    desk.model.set_wishes(replace(view.wishes, n_ctx=1024))
    assert desk.view.needs_reload
    desk.model.reload()
    desk.answered()
    assert desk.view.loaded is not None
    assert desk.view.loaded.context_length == 1024
    assert not desk.view.needs_reload


def test_an_answer_of_the_default_model_is_stopped(desk: ChatDesk, moe_model: Path) -> None:
    desk.load(moe_model)
    ask_for_a_story(desk)
    desk.chat.stop()
    desk.qtbot.waitUntil(lambda: desk.view.phase is ModelPhase.READY, timeout=2000)
    assert desk.last.state is MessageState.CANCELLED
    assert desk.last.text == desk.streamed[desk.last.id]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_default_model_killed_in_mid_answer_costs_nothing_and_loads_again(
    desk: ChatDesk, moe_model: Path
) -> None:
    desk.load(moe_model)
    ask_for_a_story(desk)
    kill_worker()
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.last.state is MessageState.FAILED
    assert len(desk.last.text) > 20
    assert desk.last.failure is not None
    assert desk.last.failure.code is FindingCode.ENGINE_KILLED
    desk.model.load()
    desk.answered()
    desk.preferences.set_sampling(replace(desk.preferences.sampling, max_tokens=8))
    desk.ask("And now?")
    assert desk.last.text.strip()


def test_a_load_of_the_default_model_is_cancelled(desk: ChatDesk, moe_model: Path) -> None:
    desk.model.pick(moe_model)
    desk.wait_for_phase(ModelPhase.PLANNED)
    desk.model.load()
    desk.wait(lambda: desk.view.hello is not None)
    desk.model.cancel_load()
    desk.qtbot.waitUntil(lambda: desk.view.phase is ModelPhase.PLANNED, timeout=2000)
    assert workers() == []
