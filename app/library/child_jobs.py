"""All jobs of a limited child: those of parsing, and what the library reads in one."""

from typing import Final

from app.parsing import jobs

MODEL_ROWS: Final = "model-rows"


def job_named(name: str) -> jobs.Job:
    """Return a registered job with everything it imports.

    Raises:
        KeyError: no such job.
    """
    if name == MODEL_ROWS:
        from app.library.group_rows import rows_job

        return rows_job
    return jobs.job_named(name)
