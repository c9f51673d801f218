"""The controllers over a pack whose llama-server dies while its worker lives on."""

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.chat.conversation import MessageState
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.ui.model_view import ModelPhase
from tests.controller_setup import ChatDesk, workers, write_model
from tests.fake_pack import ANSWER, FakePack, make_fake_pack

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake engine is a POSIX script")


@pytest.fixture
def pack(tmp_path: Path) -> FakePack:
    """A server that hangs in mid answer; the one started after it answers."""
    return make_fake_pack(tmp_path / "包 1", [{"answers": [{"chunks": [*ANSWER[:3], "hang"]}]}, {}])


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path, pack: FakePack) -> Iterator[ChatDesk]:
    spec = EngineSpec("包", BackendKind.LLAMA_SERVER, pack.folder)
    desk = ChatDesk(qtbot, tmp_path / "home", choose=lambda name, architecture: spec)
    desk.chat.start()
    desk.load(write_model(tmp_path))
    yield desk
    desk.close()
    assert workers() == []


def kill_server(pack: FakePack) -> None:
    psutil.Process(pack.starts()[-1]["pid"]).kill()


def assert_it_can_be_loaded_and_answers(desk: ChatDesk) -> None:
    assert desk.view.can_load
    assert not desk.view.can_send
    desk.model.load()
    desk.answered()
    desk.ask("And now?")
    assert desk.last.state is MessageState.COMPLETE
    assert desk.last.text == "魔匣"


def test_a_server_killed_in_mid_answer_leaves_the_text_and_can_be_loaded_again(
    desk: ChatDesk, pack: FakePack
) -> None:
    assert desk.chat.send("hi")
    desk.wait(lambda: "魔匣" in desk.streamed.get(desk.last.id, ""))
    kill_server(pack)
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.last.state is MessageState.FAILED
    assert desk.last.text == "魔匣"
    assert desk.last.failure is not None
    assert desk.last.failure.code is FindingCode.ENGINE_KILLED
    assert desk.view.failure == desk.last.failure
    assert_it_can_be_loaded_and_answers(desk)


def test_a_server_killed_while_idle_is_noticed_and_can_be_loaded_again(
    desk: ChatDesk, pack: FakePack
) -> None:
    kill_server(pack)
    desk.wait_for_phase(ModelPhase.FAILED)
    assert desk.view.failure is not None
    assert desk.view.failure.code is FindingCode.ENGINE_KILLED
    assert_it_can_be_loaded_and_answers(desk)
