"""Checks the Windows side of Moxie with a Windows Python: `python3 build_scripts/verify_windows.py`.

On Linux that Python runs under Wine, and everything it takes is set up first. What no Wine can show (real
GPUs, their drivers and counters, antivirus) stays with tests that give recorded answers.

Arguments go to pytest.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build_scripts import windows_python, wine
from build_scripts.environment import ensure_environment, venv_python
from build_scripts.steps import ROOT, Progress, guarded

TESTS: Final = (
    "tests/unit/hardware",
    "tests/unit/processes",
    "tests/unit/test_files.py",
    "tests/unit/test_options.py",
    "tests/unit/test_settings.py",
    "tests/contract/test_host_source.py",
    "tests/unit/cli/test_cli_doctor.py",
    "tests/unit/cli/test_doctor_on_windows.py",
)
"""What asks the system something that Windows answers in its own way.

Not `tests/unit/parsing`: Wine 10 takes a job's limits of memory and time and does not hold to them.
"""

OPTIONS: Final = ("-q", "-p", "no:cacheprovider", "--hypothesis-profile=ci")
"""The profile has no time limit per example: files under Wine take their time on a busy machine."""


def main(pytest_arguments: Sequence[str]) -> int:
    """Set up, run the tests, and say how long each took; return pytest's exit status."""
    return guarded(lambda progress: _verify(progress, pytest_arguments))


def _verify(progress: Progress, pytest_arguments: Sequence[str]) -> int:
    ensure_environment(progress, windows_python.LOCK.name)
    arguments = ["-m", "pytest", *OPTIONS, *(pytest_arguments or TESTS)]
    if sys.platform == "win32":
        return subprocess.run([venv_python(), *arguments], cwd=ROOT, check=False).returncode
    python = wine.provide(progress)
    progress.tell("windows_tests", version=python.wine_version)
    started = time.monotonic()
    status = python.run(arguments)
    progress.tell("windows_tests_done", seconds=round(time.monotonic() - started))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
