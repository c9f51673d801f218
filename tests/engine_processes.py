"""The processes below one, told apart by what they are for."""

import psutil

from app.parsing.frames import PARSER_FLAG


def engine_processes(pid: int | None = None, *, with_parsers: bool = False) -> list[psutil.Process]:
    """Return workers and the servers under them, the outermost first.

    Args:
        pid: Of the process whose children are asked for; None for this one.
        with_parsers: Also the limited children that write prompts for workers.
    """
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if with_parsers or PARSER_FLAG not in child.cmdline()]
