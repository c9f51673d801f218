"""A limited child that reads rows, and does worse with files of certain names: run as a program."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from app.library.group_rows import rows_job
from app.parsing.child_main import parser_main


def run(value: Any, attachment: bytes) -> Any:
    """Do what the name of the first file says; read it when it says nothing."""
    match Path(value[0][0]).stem if value else "":
        case "crash":
            os._exit(9)
        case "spin":
            while True:
                pass
        case "lie":
            return [{"path": 1}]
        case "sleep":
            time.sleep(60.0)
    return rows_job(value, attachment)


if __name__ == "__main__":
    sys.exit(parser_main(sys.argv[2:], lambda _name: run))
