"""A limited child with jobs of the tests: run as a program, it takes what `app --parser-child` takes."""

import os
import sys
import time
from typing import Any

from app.parsing import child_main
from app.parsing.jobs import JobRefusedError


def run(value: Any, attachment: bytes) -> Any:
    """Do what `value` says: `[verb, argument]`."""
    verb, argument = value
    match verb:
        case "echo":
            return [argument, attachment.decode("latin-1")]
        case "exit":
            os._exit(argument)
        case "signal":
            os.kill(os.getpid(), argument)
        case "sleep":
            time.sleep(argument)
        case "spin":
            while True:
                pass
        case "take":
            return len(bytearray(argument))
        case "say":
            return "x" * argument
        case "print":
            sys.stdout.write(argument)
            sys.stdout.flush()
            os.write(1, b"junk")
            return os.getpid()
        case "write":
            with open(argument, "wb") as file:  # noqa: PTH123  # shortest way to a file
                file.write(b"x")
        case "refuse":
            raise JobRefusedError(argument)
        case "environment":
            return dict(os.environ)
    raise RuntimeError(verb)


if __name__ == "__main__":
    sys.exit(child_main.parser_main(sys.argv[2:], lambda _name: run))
