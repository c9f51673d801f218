"""A process with limits that runs one registered job on foreign bytes: its end is an answer, never a hang."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Any, Final

from app import paths
from app.parsing.child_main import EXIT_NO_MEMORY
from app.parsing.frames import ANSWER, PARSER_FLAG, question_frame
from app.processes.children import ChildProcess, ChildStreams, start_child
from app.processes.environment import engine_environment

_SIGXCPU: Final = 24
_WINDOWS_QUOTA: Final = 1816
"""`ERROR_NOT_ENOUGH_QUOTA`: how Windows ends a process at its job's time limit."""

_LOOK_SECONDS: Final = 0.05
"""Between two looks whether the answer is still wanted."""

_KILL_SECONDS: Final = 5.0


class ChildReason(StrEnum):
    """Why there is no answer."""

    CPU = "cpu"
    TIME = "time"
    MEMORY = "memory"
    TOO_LONG = "too-long"
    DIED = "died"
    REFUSED = "refused"
    CANCELLED = "cancelled"


class ChildError(Exception):
    """A job in a limited child gave no value.

    Attributes:
        reason: `CPU` and `MEMORY` are the job's own doing; `TIME`, on a busy machine, need not be.
        detail: For `REFUSED` what the job said, for `DIED` the exit code or the system's words.
    """

    def __init__(self, reason: ChildReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What one question may take.

    Attributes:
        cpu_seconds: Whole seconds of CPU time; one more may pass before the system notices.
        wall_seconds: From the question to the answer, the start of the process included.
        memory_bytes: Address space (Linux) or committed memory (Windows) of the whole process.
        answer_bytes: Longest answer.
    """

    cpu_seconds: int = 2
    wall_seconds: float = 30.0
    memory_bytes: int = 512 * 1024**2
    answer_bytes: int = 64 * 1024**2


class LimitedChild:
    """One process for any number of questions to one job; started by the first, and again after a failure.

    Not for two threads at a time. On Linux it ends with the thread that started it.
    """

    def __init__(
        self, job: str, limits: ChildLimits | None = None, command: Sequence[str] | None = None
    ) -> None:
        """Start nothing yet.

        Args:
            job: A name of `app/parsing/jobs.py`.
            command: What runs instead of this program; for tests.
        """
        self._job = job
        self._limits = limits or ChildLimits()
        self._command = list(command or paths.worker_command())
        self._process: ChildProcess | None = None
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def start(self) -> None:
        """Start the process now, so that the first answer need not wait for it.

        Raises:
            ChildError: `DIED`, the system cannot start it.
        """
        if self._process is not None:
            return
        limits = self._limits
        numbers = (limits.memory_bytes, limits.cpu_seconds, limits.answer_bytes, os.getpid())
        argv = [*self._command, PARSER_FLAG, self._job, *(str(number) for number in numbers)]
        streams = ChildStreams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        cwd = None if getattr(sys, "frozen", False) else paths.source_root()
        environment = engine_environment(os.environ)
        try:
            # it ties itself to us: a tie between fork and exec would copy this process's page tables
            self._process = start_child(
                argv, env=environment, streams=streams, die_with_parent=False, cwd=cwd
            )
        except OSError as reason:
            raise ChildError(ChildReason.DIED, str(reason.strerror or reason)) from reason
        assert self._process.stdout is not None
        self._answers = queue.SimpleQueue()
        reader = threading.Thread(
            target=_read,
            args=(self._process.stdout, self._answers, limits.answer_bytes),
            name="parser-answers",
            daemon=True,
        )
        reader.start()

    def ask(self, value: Any, attachment: bytes = b"", is_cancelled: Callable[[], bool] | None = None) -> Any:
        """Return what the job makes of a JSON value and bytes. Blocks, within the limits.

        Raises:
            ChildError: there is no answer. The process is gone then, except after `REFUSED`.
        """
        deadline = time.monotonic() + self._limits.wall_seconds
        self.start()
        process = self._process
        assert process is not None
        process.limit(self._limits.memory_bytes, self._limits.cpu_seconds)
        frame = question_frame(value, attachment)
        # a child that hangs does not read: whoever writes to it must not be the one who waits
        threading.Thread(
            target=_write, args=(process.stdin, frame), name="parser-question", daemon=True
        ).start()
        try:
            answer = self._wait(deadline, is_cancelled)
        except BaseException:
            self.close()
            raise
        if answer is None:
            raise self._death(process)
        return self._value_of(answer)

    def close(self) -> None:
        """End the process at once; the next question starts another one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill_all()
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that hangs in the system is left to it
            process.wait(_KILL_SECONDS)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()

    def _wait(self, deadline: float, is_cancelled: Callable[[], bool] | None) -> bytes | None:
        while True:
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise ChildError(ChildReason.TIME)
            try:
                return self._answers.get(timeout=min(left, _LOOK_SECONDS if is_cancelled else left))
            except queue.Empty:
                if is_cancelled is not None and is_cancelled():
                    raise ChildError(ChildReason.CANCELLED) from None

    def _value_of(self, answer: bytes) -> Any:
        try:
            match json.loads(answer):
                case {"value": value}:
                    return value
                case {"refused": str(detail)}:
                    raise ChildError(ChildReason.REFUSED, detail)
                case {"memory": _}:
                    error = ChildError(ChildReason.MEMORY)
                case {"long": _}:
                    error = ChildError(ChildReason.TOO_LONG)
                case {"failed": detail}:
                    error = ChildError(ChildReason.DIED, str(detail))
                case _:
                    error = ChildError(ChildReason.DIED, "no answer of ours")
        except (ValueError, RecursionError) as reason:
            error = ChildError(ChildReason.DIED, str(reason))
        self.close()
        raise error

    def _death(self, process: ChildProcess) -> ChildError:
        try:
            code = process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:  # it closed its end, or said too much, and runs on
            self.close()
            return ChildError(ChildReason.TOO_LONG)
        self.close()
        if code in (-_SIGXCPU, _WINDOWS_QUOTA):
            return ChildError(ChildReason.CPU)
        return ChildError(ChildReason.MEMORY if code == EXIT_NO_MEMORY else ChildReason.DIED, str(code))


def run_limited(job: str, value: Any, attachment: bytes = b"", limits: ChildLimits | None = None) -> Any:
    """Return what one job makes of a JSON value and bytes, in a process of its own. Blocks.

    Raises:
        ChildError: there is no answer.
    """
    child = LimitedChild(job, limits)
    try:
        return child.ask(value, attachment)
    finally:
        child.close()


def _write(stream: IO[bytes], frame: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # it died: the reader learns of it
        stream.write(frame)
        stream.flush()


def _read(stream: IO[bytes], answers: "queue.SimpleQueue[bytes | None]", most: int) -> None:
    """Hand on each answer whole; None at the end, and for an answer that is too long."""
    with contextlib.suppress(OSError, ValueError):
        while len(head := stream.read(ANSWER.size)) == ANSWER.size:
            (length,) = ANSWER.unpack(head)
            if length > most or len(body := stream.read(length)) < length:
                break
            answers.put(body)
    answers.put(None)
