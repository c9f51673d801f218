"""The inside of a limited child: takes its limits, then questions, one by one, until its parent goes."""

import os
import sys
import time
from collections.abc import Callable
from typing import IO, Any, Final

from app.parsing.frames import answer_frame, read_question
from app.parsing.jobs import Job, JobRefusedError, job_named

EXIT_NO_MEMORY: Final = 3
"""Exit code of a child that had no memory left to say so."""

_PR_SET_PDEATHSIG: Final = 1
_SIGKILL: Final = 9


def parser_main(argv: list[str], job_of: Callable[[str], Job] = job_named) -> int:
    """Run the child.

    Args:
        argv: What follows `--parser-child`: job, memory bytes, CPU seconds, answer bytes, parent's number.
        job_of: Finds the job by its name.
    """
    name, memory_bytes, cpu_seconds, answer_bytes, parent = argv[0], *(int(word) for word in argv[1:])
    _die_with(parent)
    answers = _private_stdout()
    questions = open(0, "rb", closefd=False)  # noqa: SIM115  # stdin, for good
    job = job_of(name)
    _limit_memory(memory_bytes)
    try:
        while True:
            _limit_cpu(cpu_seconds)
            question = read_question(questions)
            if question is None:
                return 0
            answer = answer_frame(_answer_to(job, *question))
            if len(answer) > answer_bytes:
                answer = answer_frame({"long": len(answer)})
            answers.write(answer)
            answers.flush()
            del question, answer
    except MemoryError:
        os._exit(EXIT_NO_MEMORY)


def _answer_to(job: Job, value: Any, attachment: bytes) -> dict[str, Any]:
    try:
        return {"value": job(value, attachment)}
    except JobRefusedError as reason:
        return {"refused": str(reason)}
    except MemoryError:
        return {"memory": True}
    except Exception as reason:  # noqa: BLE001  # the child's entry: reported to its parent
        return {"failed": f"{type(reason).__name__}: {reason}"}


def _private_stdout() -> IO[bytes]:
    """Return a stream to the pipe behind fd 1, and let fd 1 lead nowhere: libraries print there."""
    private = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return open(private, "wb")  # noqa: PTH123  # open as long as the process


def _die_with(parent: int) -> None:
    """Ask Linux to end this process with the thread that started it; elsewhere a job object does that."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above took effect
        os._exit(1)


def _limit_memory(memory_bytes: int) -> None:
    """Take the limits that hold for good. Windows: the parent's job object has set them."""
    if sys.platform == "win32":
        return
    import resource

    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _limit_cpu(seconds: int) -> None:
    """Allow that much more CPU time; the system ends the process at the limit."""
    if sys.platform == "win32":
        return
    import resource

    most = int(time.process_time()) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
