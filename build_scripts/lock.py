"""Makes the lock files again: every package the project installs, with version and hashes, for all systems.

Needs `uv` on the path (`python -m pip install uv`). Run from the checkout after a change of the
dependencies in `pyproject.toml`, or to take newer versions: `python build_scripts/lock.py`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

LOCKS: Final[Mapping[str, Sequence[str]]] = {
    "requirements.lock": (),
    "requirements-worker.lock": ("worker", "build"),
    "requirements-test.lock": ("worker", "build", "test"),
}
"""Lock file -> extras of `pyproject.toml` it covers beside the program's own dependencies."""

ENGINE: Final = "llama-cpp-python"
"""Built by `engine_build.py` with flags of ours, so no lock may install it."""

PINS: Final = (
    'PySide6-Essentials==6.8.3 ; python_version < "3.14"',
    'PySide6-Essentials>=6.11.2 ; python_version >= "3.14"',
)
"""6.8.3 is the last long-term release that is tested widely; it has no build for Python 3.14."""


def main() -> int:
    """Write all lock files; the later ones take the versions of the first."""
    uv = shutil.which("uv")
    if uv is None:
        print("uv is missing. Install it with: python -m pip install uv", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text("\n".join(PINS) + "\n", encoding="utf-8")
        constraints = [pins]
        for name, extras in LOCKS.items():
            status = subprocess.run(
                _command(uv, name, extras, constraints), cwd=ROOT, check=False, env=_environment()
            )
            if status.returncode:
                return status.returncode
            constraints.append(ROOT / name)
    return 0


def _command(uv: str, name: str, extras: Sequence[str], constraints: Sequence[Path]) -> list[str]:
    command = [uv, "pip", "compile", "pyproject.toml", "--universal", "--generate-hashes", "--upgrade"]
    command += ["--python-version", "3.11", "--no-annotate", "--no-emit-package", ENGINE, "--quiet"]
    command += ["--custom-compile-command", "python build_scripts/lock.py", "--output-file", name]
    for extra in extras:
        command += ["--extra", extra]
    for constraint in constraints:
        command += ["--constraint", str(constraint)]
    return command


def _environment() -> dict[str, str]:
    """Return the environment without registries of this machine: locks hold for everyone."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}


if __name__ == "__main__":
    sys.exit(main())
