"""What a limited child may be asked: jobs by name, loaded by the child only."""

from collections.abc import Callable
from typing import Any, Final

Job = Callable[[Any, bytes], Any]
"""From a JSON value and an attachment to a JSON value. Raises `JobRefusedError` for what it can name."""

TEMPLATE_RENDER: Final = "chat-template-render"
TEMPLATE_CHECK: Final = "chat-template-check"
CPU_PROGRAM: Final = "cpu-program"


class JobRefusedError(Exception):
    """A job cannot do what it was asked; the text says why."""


def job_named(name: str) -> Job:
    """Return a registered job with everything it imports.

    Raises:
        KeyError: no such job.
    """
    # imports in the open, so that a frozen program holds what they name
    if name in (TEMPLATE_RENDER, TEMPLATE_CHECK):
        from app.parsing import template_jobs

        return template_jobs.render if name == TEMPLATE_RENDER else template_jobs.check
    if name == CPU_PROGRAM:
        from app.parsing import cpu_jobs

        return cpu_jobs.run
    raise KeyError(name)
