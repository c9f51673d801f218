"""The window as the system sees it: real processes, the echo engine."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.chat.conversation import Message, MessageState
from app.chat.store import ConversationStore
from app.paths import HOME_VARIABLE, source_root
from app.settings import load_settings
from tests.session_recorder import gone_within, is_running
from tests.window_process import TINY_MODEL, WindowProcess

ENDING_SIGNALS = [signal.SIGTERM, signal.SIGINT]
if sys.platform != "win32":
    ENDING_SIGNALS.append(signal.SIGHUP)

GONE_SECONDS = 5.0
TOASTS = """
import sys
from PySide6.QtCore import QTimer
from app.ui import application
from app.ui.main_window import MainWindow

def tell(window, message, *_):
    print(message, flush=True)
    if "could not be saved" in message:
        QTimer.singleShot(0, window.close)

MainWindow.show_toast = tell
sys.exit(application.main(sys.argv[1:]))
"""
LONG_QUESTION = "/slow " + " ".join(f"word{number}" for number in range(5000))


def last_message(home: Path) -> Message:
    store = ConversationStore(home / "chats.sqlite3")
    conversation = store.read(store.list()[0].id)
    store.close()
    assert conversation is not None
    return conversation.messages[-1]


def start_again(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Start the program as the desktop does."""
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        env={**os.environ, HOME_VARIABLE: str(home), "QT_QPA_PLATFORM": "offscreen", "LC_ALL": "C.UTF-8"},
        timeout=20,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_killed_window_leaves_no_engine_and_keeps_what_was_saved(data_home: Path) -> None:
    with WindowProcess(data_home, [str(TINY_MODEL)], question=LONG_QUESTION) as window:
        window.wait_for("text word150")  # three seconds: saved once on the way
        engines = window.children()
        assert engines
        assert all(is_running(pid) for pid in engines)
        window.process.kill()
        assert gone_within(engines, GONE_SECONDS)
    answer = last_message(data_home)
    assert answer.state is MessageState.PARTIAL
    assert answer.content.startswith("word0 word1 word2")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_window_asked_to_end_in_mid_answer_saves_and_leaves_no_engine(
    data_home: Path, number: signal.Signals
) -> None:
    with WindowProcess(data_home, [str(TINY_MODEL)], question=LONG_QUESTION) as window:
        last = window.wait_for("text word20")
        engines = window.children()
        window.process.send_signal(number)
        status, complaints = window.end()
        assert gone_within(engines, GONE_SECONDS)
        assert status == 0
        assert "Traceback" not in complaints
    answer = last_message(data_home)
    assert answer.state is MessageState.CANCELLED
    assert last.removeprefix("text ") in answer.content
    settings, findings = load_settings(data_home / "settings.json")
    assert findings == ()
    assert settings.window_geometry is not None
    assert settings.last_model == str(TINY_MODEL)


def test_a_second_start_hands_over_its_path(data_home: Path, tmp_path: Path) -> None:
    model = tmp_path / "模型 two.gguf"
    model.write_bytes(TINY_MODEL.read_bytes())
    with WindowProcess(data_home) as window:
        window.wait_for("shown")
        again = start_again(data_home, str(model))
        assert (again.returncode, again.stdout) == (0, "")
        assert window.wait_for("planned") == f"planned {model}"
        assert start_again(data_home).returncode == 0
        assert window.process.poll() is None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_the_next_start_after_a_kill_has_its_window(data_home: Path) -> None:
    with WindowProcess(data_home) as killed:
        killed.wait_for("shown")
        killed.process.kill()
        killed.process.wait()
    with WindowProcess(data_home) as window:
        window.wait_for("shown")


def test_two_data_folders_have_two_windows(tmp_path: Path) -> None:
    with WindowProcess(tmp_path / "one") as first, WindowProcess(tmp_path / "two") as second:
        first.wait_for("shown")
        second.wait_for("shown")
        assert first.process.poll() is None


def _file_as_home(folder: Path) -> Path:
    home = folder / "home"
    home.write_text("")
    return home


def _file_as(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text("")
        return folder

    return make


@pytest.mark.parametrize(
    "make_home",
    [
        _file_as_home,
        *(_file_as(name) for name in ("logs", "models", "engines")),
        pytest.param(
            lambda _: Path("/sys"), marks=pytest.mark.skipif(sys.platform != "linux", reason="/sys")
        ),
    ],
    ids=["home", "logs", "models", "engines", "read-only"],
)
def test_a_data_folder_of_no_use_is_said_in_the_window(
    tmp_path: Path, make_home: Callable[[Path], Path]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOASTS, str(TINY_MODEL)],
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        env={
            **os.environ,
            HOME_VARIABLE: str(make_home(tmp_path)),
            "QT_QPA_PLATFORM": "offscreen",
            "LC_ALL": "C.UTF-8",
        },
        timeout=60,
        check=False,
    )
    assert (done.returncode, "could not be saved" in done.stdout) == (0, True), done
    assert "Traceback" not in done.stderr
    assert "Logging error" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows always has a display")
def test_without_a_display_the_chat_is_in_the_terminal(data_home: Path) -> None:
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-m", "app", str(TINY_MODEL)],
        input="",
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        env=environment,
        timeout=60,
        check=False,
    )
    assert "Plan:" in done.stderr
    assert not (data_home / "window.lock").exists()


def test_a_missing_path_is_told_on_the_command_line(data_home: Path, tmp_path: Path) -> None:
    done = start_again(data_home, str(tmp_path / "missing.gguf"))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


CLOSE_AT_ONCE = """
import sys
from PySide6.QtCore import QTimer
from app.ui import application
from app.ui.program import Program

show = Program.show

def show_and_close(program, path=None):
    show(program, path)
    QTimer.singleShot(0, program.window.close)

Program.show = show_and_close
sys.exit(application.main([]))
"""


def test_closing_the_window_ends_the_program(data_home: Path) -> None:
    environment = {**os.environ, "MOXIE_HOME": str(data_home), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", CLOSE_AT_ONCE],
        cwd=source_root(),
        env=environment,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
