"""Picks the role of this process: the engine worker, a parser child, a subcommand, or the window."""

import os
import sys
from collections.abc import Sequence

WORKER_FLAG = "--engine-worker"
PARSER_FLAG = "--parser-child"


def main() -> int:
    """Run the role the arguments ask for and return the exit status."""
    arguments = sys.argv[1:]
    if WORKER_FLAG in arguments[:1]:
        from app.engine.worker import worker_main

        return worker_main(arguments[1:])
    if PARSER_FLAG in arguments[:1]:
        from app.library.child_jobs import job_named
        from app.parsing.child_main import parser_main

        return parser_main(arguments[1:], job_named)
    if names_no_subcommand(arguments):
        if _can_show_window():
            from app.ui.application import main as window_main

            return window_main(arguments)
        arguments = ["chat", *arguments]
    from app.cli.main import main as cli_main

    return cli_main(arguments)


def names_no_subcommand(arguments: Sequence[str]) -> bool:
    """Return whether there is nothing for the command line: no argument, or one file and nothing else.

    A path that is not there is the command line's: it says so, and exits with 2.
    """
    from app.cli.main import SUBCOMMANDS

    if not arguments:
        return True
    return len(arguments) == 1 and arguments[0] not in SUBCOMMANDS and os.path.lexists(arguments[0])


def _can_show_window() -> bool:
    from app.display import has_display, missing_library

    if not has_display():
        return False
    missing = missing_library()
    if missing is not None:
        from app.cli.main import tell

        tell("cli.no_window", detail=missing)
    return missing is None


if __name__ == "__main__":
    sys.exit(main())
