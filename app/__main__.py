"""Picks the role of this process: the engine worker, or a subcommand."""

import sys

WORKER_FLAG = "--engine-worker"


def main() -> int:
    """Run the role the arguments ask for and return the exit status."""
    if WORKER_FLAG in sys.argv[1:2]:
        from app.engine.worker import worker_main

        return worker_main(sys.argv[2:])
    from app.cli.main import main as cli_main

    return cli_main()


if __name__ == "__main__":
    sys.exit(main())
