"""A conversation in a real terminal: Ctrl+C, wide characters, and nothing that steers the terminal."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.chat.conversation import MessageState
from app.chat.store import ConversationStore
from app.paths import resource_path, source_root

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

import pty

TINY = str(resource_path("selftest", "tiny-moe.gguf"))
DEADLINE_SECONDS = 60
RETYPE_SECONDS = 10
CTRL_C = "\x03"
CLEARED = "\x1b[K"
"""Ends the moving line that shows progress."""


class Terminal:
    """A person in front of `moxie chat`."""

    def __init__(self, *args: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "chat", TINY, "--engine", "echo", *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=source_root(),
            env={**os.environ, "TERM": "dumb"},
            preexec_fn=lambda: _own_terminal(slave),
        )
        os.close(slave)
        self._seen = b""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, seconds: float = DEADLINE_SECONDS) -> str:
        """Return what came up to and with `text`, and forget it."""
        wanted = text.encode()
        deadline = time.monotonic() + seconds
        while wanted not in self._seen:
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not come, only {self._seen!r}"
            self._seen += os.read(self._master, 65536)
        end = self._seen.index(wanted) + len(wanted)
        before, self._seen = self._seen[:end], self._seen[end:]
        return before.decode(errors="replace")

    def interrupt(self, answer: str | None) -> None:
        """Type Ctrl+C at the prompt until `answer` is seen, or the end.

        Python's readline overlooks a signal that comes just before it waits for a key, and then
        takes it with the next one.
        """
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            self.type(CTRL_C)
            try:
                if answer is None:
                    self.process.wait(RETYPE_SECONDS)
                else:
                    self.wait_for(answer, RETYPE_SECONDS)
            except (AssertionError, subprocess.TimeoutExpired):
                continue
            return

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


def _own_terminal(slave: int) -> None:
    """Make the pseudo-terminal the one whose Ctrl+C reaches the child."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_ctrl_c_stops_an_answer_but_not_the_program(terminal: Terminal, data_home: Path) -> None:
    terminal.wait_for("You> ")
    terminal.type(f"/slow {' '.join(f'w{number}' for number in range(700))}\n")
    terminal.wait_for(f"{CLEARED}w0 w1 w2")  # the answer, not the echo of what was typed
    terminal.type(CTRL_C)
    terminal.wait_for("You> ")
    terminal.type("你好 again\n")
    terminal.wait_for(f"{CLEARED}你好 again\r\n")
    terminal.wait_for("You> ")
    terminal.type("/quit\n")
    assert terminal.process.wait(DEADLINE_SECONDS) == 0
    store = ConversationStore(data_home / "chats.sqlite3")
    conversation = store.read(store.list()[0].id)
    store.close()
    assert conversation is not None
    answers = [message for message in conversation.messages if message.role == "assistant"]
    assert [answer.state for answer in answers] == [MessageState.CANCELLED, MessageState.COMPLETE]
    assert answers[0].content.startswith("w0 w1 w2")
    assert answers[1].content == "你好 again"


def test_a_second_ctrl_c_at_the_prompt_leaves(terminal: Terminal) -> None:
    terminal.wait_for("You> ")
    terminal.interrupt("Ctrl+C again")
    terminal.wait_for("You> ")
    terminal.interrupt(None)
    assert terminal.process.wait(DEADLINE_SECONDS) == 128 + signal.SIGINT


def test_what_a_model_says_cannot_steer_the_terminal() -> None:
    terminal = Terminal("--prompt", "red \x1b[31m bell \x07 end")
    shown = terminal.wait_for("end\r\n")
    assert terminal.process.wait(DEADLINE_SECONDS) == 0
    terminal.close()
    assert "red \ufffd[31m bell \ufffd end" in shown
