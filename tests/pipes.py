"""Named pipes, which a reader must never wait for."""

import os
import sys
from pathlib import Path

import pytest


def make_pipe(path: Path) -> Path:
    """Make a named pipe, or skip the test where there are none in folders."""
    if sys.platform == "win32":
        pytest.skip("POSIX only")
    os.mkfifo(path)
    return path
