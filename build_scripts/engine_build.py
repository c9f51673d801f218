"""Builds the built-in worker's engine, llama-cpp-python with flags of ours, and installs it.

As a program it does so in the background, at low priority, once: `python build_scripts/engine_build.py`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build_scripts.environment import (  # the path must be set before
    ensure_environment,
    file_hash,
    is_stamped,
    pip,
    set_stamp,
    venv_python,
)
from build_scripts.steps import CACHE, LOG, Progress, SetupError, speak_utf8

VERSION: Final = "0.3.36"
SDIST_SHA256: Final = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
CMAKE_ARGS: Final = "-DGGML_NATIVE=OFF -DGGML_RPC=ON"
"""A native build crashes on machines whose processor claims more than it does, and runs on no other."""

WHEELS: Final = CACHE / "wheels" / f"llama-cpp-python-{VERSION}-native-off-rpc-on"
"""Named by version and flags; pip's own cache forgets the flags."""

BUILD_LOCK: Final = "requirements-worker.lock"
STAMP: Final = "worker engine"


def has_compiler() -> bool:
    """Return whether a C++ compiler is on the path."""
    names = ("cl",) if sys.platform == "win32" else ("c++", "g++", "clang++")
    return any(shutil.which(name) for name in names)


def built_wheel() -> Path | None:
    """Return the wheel built earlier, or None."""
    return next(iter(sorted(WHEELS.glob("llama_cpp_python-*.whl"))), None)


def is_installed() -> bool:
    """Return whether the environment holds the wheel that was built."""
    wheel = built_wheel()
    return wheel is not None and is_stamped(STAMP, file_hash(wheel))


def build(log: Path = LOG) -> Path:
    """Build the wheel into `WHEELS` and return it; the packages of `BUILD_LOCK` must be installed.

    Raises:
        SetupError: it does not build.
    """
    WHEELS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="engine-build-") as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"llama-cpp-python=={VERSION} --hash=sha256:{SDIST_SHA256}\n", encoding="utf-8")
        scripts = venv_python().parent
        env = {
            **os.environ,
            "CMAKE_ARGS": CMAKE_ARGS,
            "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        options = ["--no-deps", "--no-cache-dir", "--no-build-isolation", "--require-hashes"]
        options += ["--no-binary", "llama-cpp-python"]
        pip("wheel", *options, "-w", Path(folder) / "out", "-r", wanted, env=env, log=log)
        made = next((Path(folder) / "out").glob("llama_cpp_python-*.whl"))
        return made.replace(WHEELS / made.name)


def install(wheel: Path) -> None:
    """Install a built wheel into the environment.

    Raises:
        SetupError: pip failed.
    """
    pip("install", "--no-deps", "--no-index", "--force-reinstall", wheel)
    set_stamp(STAMP, file_hash(wheel))


def start_in_background(log: Path) -> None:
    """Start this file as a program that outlives the caller."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        if sys.platform == "win32":
            flags = subprocess.BELOW_NORMAL_PRIORITY_CLASS | subprocess.CREATE_NO_WINDOW
            flags |= subprocess.CREATE_NEW_PROCESS_GROUP
            subprocess.Popen(
                _command(log), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, creationflags=flags
            )
        else:
            subprocess.Popen(
                _command(log), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
            )


def main(log: Path) -> int:
    """Build and install unless another process is at it; return the exit status."""
    speak_utf8()
    if sys.platform != "win32":
        os.nice(19)
    with only_one() as is_first:
        if not is_first:
            return 0
        try:
            ensure_environment(Progress(), BUILD_LOCK)
            install(built_wheel() or build(log))
        except SetupError as reason:
            print(reason, flush=True)
            return reason.status
    return 0


def _command(log: Path) -> list[str]:
    return [str(venv_python()), str(Path(__file__)), str(log)]


@contextmanager
def only_one() -> Iterator[bool]:
    """Yield whether this process holds the build lock; the system frees it however the holder ends."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "engine-build.lock").open("a+b") as stream:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else LOG))
