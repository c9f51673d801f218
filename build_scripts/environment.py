"""The Python environment in the checkout: made once, brought up to a lock file when that changes."""

import hashlib
import importlib.util
import json
import locale
import sys
from pathlib import Path
from typing import Final

from build_scripts.debian import install_system_packages, is_debian_root
from build_scripts.steps import CACHE, EXIT_USAGE, ROOT, Progress, SetupError, require_space, run_logged
from build_scripts.words import say

VENV: Final = ROOT / ".venv"
STAMPS: Final = VENV / "moxie-stamps.json"
PIP_CACHE: Final = CACHE / "pip"
NEEDED_MB: Final = 900
"""Packages and downloads of a first start, with room to unpack."""


def venv_python() -> Path:
    """Return the environment's interpreter."""
    return VENV / "Scripts" / "python.exe" if sys.platform == "win32" else VENV / "bin" / "python"


def moxie_command() -> Path:
    """Return the `moxie` command of the environment."""
    return VENV / "Scripts" / "moxie.cmd" if sys.platform == "win32" else VENV / "bin" / "moxie"


def ensure_environment(progress: Progress, lock_name: str) -> None:
    """Make the environment hold what `lock_name` lists; without a change this starts no process.

    Raises:
        SetupError: it cannot be made.
    """
    stamp = file_hash(ROOT / lock_name)
    if is_stamped(lock_name, stamp):
        return
    if not (venv_python().exists() and STAMPS.exists()):
        require_space(ROOT, NEEDED_MB)
        _create(progress)
    progress.tell("packages", lock=lock_name)
    pip("install", "--require-hashes", "-r", ROOT / lock_name)
    set_stamp(lock_name, stamp)


def pip(*arguments: str | Path, env: dict[str, str] | None = None, log: Path | None = None) -> None:
    """Run the environment's pip.

    Raises:
        SetupError: pip failed.
    """
    options: list[str | Path] = ["--disable-pip-version-check", "--no-input", "--cache-dir", PIP_CACHE]
    command = [venv_python(), "-m", "pip", *options, *arguments]
    if log is None:
        run_logged(command, env=env)
    else:
        run_logged(command, env=env, log=log)


def is_stamped(name: str, value: str) -> bool:
    """Return whether the environment was brought to `value` of `name` before."""
    return venv_python().exists() and read_stamps().get(name) == value


def set_stamp(name: str, value: str) -> None:
    """Note that the environment is at `value` of `name`."""
    stamps = {**read_stamps(), name: value}
    STAMPS.write_text(json.dumps(stamps, indent=2), encoding="utf-8")


def read_stamps() -> dict[str, str]:
    """Return all notes; empty when there are none or they cannot be read."""
    try:
        stamps = json.loads(STAMPS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def file_hash(file: Path) -> str:
    """Return a file's SHA-256 in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _create(progress: Progress) -> None:
    spec = importlib.util.find_spec("ensurepip")
    if spec is None or spec.origin is None:  # without an origin it is a folder left over
        _provide_venv(progress)
    progress.tell("environment", folder=VENV)
    run_logged([sys.executable, "-m", "venv", "--clear", VENV])
    _add_moxie()
    set_stamp("made by", sys.version)


def _provide_venv(progress: Progress) -> None:
    if not is_debian_root():
        raise SetupError(say("need_venv"), EXIT_USAGE)
    progress.tell("venv_package")
    install_system_packages(["python3-venv"])


def _add_moxie() -> None:
    """Make `app` importable from anywhere and `moxie` a command, without copying the checkout."""
    site = run_logged([venv_python(), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    (Path(site.strip()) / "moxie.pth").write_text(f"{ROOT}\n", encoding=locale.getencoding())
    command = moxie_command()
    if sys.platform == "win32":
        command.write_text('@"%~dp0python.exe" -m app %*\r\n', encoding="ascii")
    else:
        command.write_text(f'#!/bin/sh\nexec "{venv_python()}" -m app "$@"\n', encoding="utf-8")
        command.chmod(0o755)
