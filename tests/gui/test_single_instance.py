"""One window per person and data folder, over real sockets and real processes."""

import contextlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtNetwork import QLocalSocket
from pytestqt.qtbot import QtBot

from app.paths import source_root
from app.ui.single_instance import (
    LIMIT_BYTES,
    Handover,
    HandoverError,
    SingleInstance,
    decode_handover,
    encode_handover,
    instance_name,
)

SECOND_START = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.ui.single_instance import Handover, SingleInstance
application = QCoreApplication([])
print(SingleInstance(Path(sys.argv[1])).claim(Handover(sys.argv[2])))
"""
LOCK_AND_DIE = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.ui.single_instance import Handover, SingleInstance
application = QCoreApplication([])
instance = SingleInstance(Path(sys.argv[1]))
print(instance.claim(Handover()), flush=True)
os.kill(os.getpid(), 9)
"""


def start(code: str, *args: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=source_root())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "数据 folder"
    folder.mkdir()
    return folder


@pytest.fixture
def window(qtbot: QtBot, folder: Path) -> Iterator[SingleInstance]:
    instance = SingleInstance(folder)
    assert instance.claim(Handover())
    yield instance
    instance.release()


def test_a_second_start_hands_its_path_over_and_ends(
    qtbot: QtBot, window: SingleInstance, folder: Path
) -> None:
    path = str(folder / "模型 a.gguf")
    second = start(SECOND_START, folder, path)
    with qtbot.waitSignal(window.handed_over, timeout=10_000) as taken:
        pass
    assert taken.args == [Handover(path)]
    assert second.communicate(timeout=10)[0] == "False\n"


def test_another_data_folder_is_another_window(window: SingleInstance, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    instance = SingleInstance(other)
    assert instance.claim(Handover())
    instance.release()


def test_two_users_of_one_folder_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "li")
    first = instance_name(tmp_path)
    monkeypatch.setattr("getpass.getuser", lambda: "wang")
    assert instance_name(tmp_path) != first


def test_two_names_of_one_folder_are_one_window(tmp_path: Path) -> None:
    assert instance_name(tmp_path / "x" / "..") == instance_name(tmp_path)


def test_a_released_window_leaves_room_for_the_next(window: SingleInstance, folder: Path) -> None:
    window.release()
    instance = SingleInstance(folder)
    assert instance.claim(Handover())
    instance.release()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_what_a_killed_window_left_blocks_nobody(qtbot: QtBot, folder: Path) -> None:
    killed = start(LOCK_AND_DIE, folder)
    assert killed.communicate(timeout=10)[0] == "True\n"
    assert (folder / "window.lock").exists()
    instance = SingleInstance(folder)
    assert instance.claim(Handover())
    second = start(SECOND_START, folder, str(folder))
    with qtbot.waitSignal(instance.handed_over, timeout=10_000):
        pass
    assert second.communicate(timeout=10)[0] == "False\n"
    instance.release()


def test_a_lock_of_a_living_program_that_is_no_window_is_taken_over(qtbot: QtBot, folder: Path) -> None:
    # the process id was given to another program of the same interpreter
    real = Path(sys.executable).resolve().name
    host = platform.node()
    (folder / "window.lock").write_text(f"{os.getpid()}\n{real}\n{host}\n")
    instance = SingleInstance(folder)
    assert instance.claim(Handover())
    instance.release()


@pytest.mark.parametrize(
    "garbage",
    [b"\n", b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b"\xff\x00\n", b"x" * (LIMIT_BYTES + 10)],
)
def test_garbage_on_the_socket_is_hung_up_on_and_the_next_start_is_served(
    qtbot: QtBot, window: SingleInstance, folder: Path, garbage: bytes
) -> None:
    taken: list[Handover] = []
    window.handed_over.connect(taken.append)
    socket = QLocalSocket()
    socket.connectToServer(window._address)
    socket.write(garbage)
    qtbot.waitUntil(lambda: socket.state() is QLocalSocket.LocalSocketState.UnconnectedState)
    assert bytes(socket.readAll().data()) == b""
    assert taken == []
    second = start(SECOND_START, folder, str(folder))
    with qtbot.waitSignal(window.handed_over, timeout=10_000):
        pass
    assert second.communicate(timeout=10)[0] == "False\n"


@given(st.binary())
def test_bytes_are_a_request_or_the_one_named_error(line: bytes) -> None:
    with contextlib.suppress(HandoverError):
        decode_handover(line)


any_text = st.text(st.characters(exclude_categories=())) | st.text().map(
    lambda name: f"{Path.cwd().anchor}{name}\ud800"
)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | any_text, lambda inner: st.lists(inner), max_leaves=4
)


@given(st.dictionaries(st.sampled_from(["path", "activation_token", "x"]), json_values))
def test_any_json_is_a_request_or_the_one_named_error(data: dict[str, object]) -> None:
    try:
        handover = decode_handover(json.dumps(data).encode())
    except HandoverError:
        return
    assert handover.path is None or Path(handover.path).is_absolute()
    for text in (handover.path, handover.activation_token):
        assert text is None or os.fsencode(text) is not None


@pytest.mark.parametrize("name", ["path", "activation_token"])
def test_half_a_character_is_no_request(name: str) -> None:
    data = {"path": None, "activation_token": None, name: f"{Path.cwd().anchor}\ud800"}
    with pytest.raises(HandoverError):
        decode_handover(json.dumps(data).encode())


@given(st.text(st.characters(exclude_characters="\0", categories=("L", "N", "P", "Zs"))))
def test_a_handover_survives_the_line(name: str) -> None:
    handover = Handover(Path.cwd().anchor + name.replace("/", ""), "token")
    assert decode_handover(encode_handover(handover)) == handover


@pytest.mark.skipif(sys.platform == "win32", reason="Windows names are text")
def test_a_name_that_is_no_text_survives_too() -> None:
    handover = Handover(os.fsdecode(b"/models/\xb2\xe2.gguf"))
    assert decode_handover(encode_handover(handover)) == handover
