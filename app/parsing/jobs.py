"""What a limited child may be asked: jobs by name, loaded by the child only."""

import importlib
from collections.abc import Callable
from typing import Any, Final

Job = Callable[[Any, bytes], Any]
"""From a JSON value and an attachment to a JSON value. Raises `JobRefusedError` for what it can name."""

TEMPLATE_RENDER: Final = "chat-template-render"
TEMPLATE_CHECK: Final = "chat-template-check"

_JOBS: Final = {
    TEMPLATE_RENDER: "app.parsing.template_jobs:render",
    TEMPLATE_CHECK: "app.parsing.template_jobs:check",
}


class JobRefusedError(Exception):
    """A job cannot do what it was asked; the text says why."""


def job_named(name: str) -> Job:
    """Return a registered job with everything it imports.

    Raises:
        KeyError: no such job.
    """
    module, _, function = _JOBS[name].partition(":")
    job: Job = getattr(importlib.import_module(module), function)
    return job
