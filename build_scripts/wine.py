"""Sets up Wine and a Windows Python, both below `.cache/wine`, and runs that Python.

Wine 10 behaves like the Windows that programs of today expect. Where the system's own is older, one is
installed into a Debian 13 of its own, which is entered through namespaces of mounts and processes: when the
command ends, nothing of it stays mounted or running. `python3 build_scripts/wine.py ARGUMENT ...` runs the
Windows Python with those arguments.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build_scripts import debian, windows_python
from build_scripts.environment import ensure_environment
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

FOLDER: Final = CACHE / "wine"
WANTED_VERSION: Final = (10, 0)
SUITE: Final = "trixie"
USUAL_MIRROR: Final = "http://deb.debian.org/debian"
TOOLS: Final = ("gcc-mingw-w64-x86-64-win32", "osslsigncode")
WINE_PACKAGES: Final = ("wine", "wine64")
NEEDED_MB: Final = 3000

UNSHARE: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")

ENTER: Final = """
set -e
root=$1 work=$2
shift 2
mkdir -p "$root$work"
mount --bind "$work" "$root$work"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
chroot "$root" /bin/sh -c 'cd "$1" && shift && exec "$@"' sh "$work" "$@"
"""
"""Shell: mount what programs need into a system of its own and run one there, in the same folder."""

RUN: Final = """
wine "$@"
status=$?
wineserver -k
exit $status
"""


@dataclass(frozen=True, slots=True)
class WindowsPython:
    """A Windows Python under a Wine.

    Attributes:
        program: The `python.exe`.
        wine_version: e.g. `10.0`.
        root: The system of its own that Wine lies in; None for the machine's.
    """

    program: Path
    wine_version: str
    root: Path | None

    def run(self, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Run it in the checkout; its output goes to ours. Return its exit status."""
        variables = {**self._variables(), **(environment or {})}
        assigned = [f"{name}={value}" for name, value in variables.items()]
        shell = ["env", "-i", *assigned, "/bin/sh", "-c", RUN, "sh", windows_path(self.program), *arguments]
        command = shell if self.root is None else entering(self.root, shell)
        # Wine gives Windows programs no streams but pipes
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            for line in process.stdout:
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
        return process.returncode

    def _variables(self) -> dict[str, str]:
        home = FOLDER / f"home-{self.wine_version}"
        home.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": "/tmp",
            "LANG": "C.UTF-8",  # without it, names that are not English do not reach the program
            "WINEPREFIX": str(FOLDER / f"prefix-{self.wine_version}"),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",  # no offers to download more
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }


def provide(progress: Progress) -> WindowsPython:
    """Return a Windows Python under the best Wine that this machine can have.

    Raises:
        SetupError: it can have none, or a part cannot be downloaded.
    """
    if not (FOLDER / "ready.txt").is_file():
        require_space(ROOT, NEEDED_MB)
    _provide_tools(progress)
    program = windows_python.prepare(progress, FOLDER / f"python-{windows_python.VERSION}")
    version, root = _provide_wine(progress)
    (FOLDER / "ready.txt").write_text(version, encoding="ascii")
    progress.tell("wine_ready", version=version, python=windows_python.VERSION)
    return WindowsPython(program, version, root)


def windows_path(path: Path) -> str:
    """Return a path of this system as Windows programs under Wine see it."""
    return "Z:" + str(path).replace("/", "\\")


def parse_version(output: str) -> str | None:
    """Return the version in what `wine --version` prints, e.g. `10.0`."""
    match = re.search(r"^wine-(\d+\.\d+)", output, re.MULTILINE)
    return match[1] if match else None


def is_wanted(version: str | None) -> bool:
    """Return whether a Wine is new enough to stand for Windows."""
    return version is not None and tuple(map(int, version.split("."))) >= WANTED_VERSION


def mirror_of(targets: str) -> str:
    """Return the mirror this system takes Debian from, out of `apt-get indextargets` lines."""
    for line in targets.splitlines():
        address, _, component = line.partition(" ")
        if component == "main" and address.rstrip("/").endswith("/debian"):
            return address.rstrip("/")
    return USUAL_MIRROR


def entering(root: Path, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` inside a system of its own."""
    return [*UNSHARE, "/bin/sh", "-c", ENTER, "sh", str(root), str(ROOT), *command]


def _provide_tools(progress: Progress) -> None:
    if all(shutil.which(name) for name in (windows_python.COMPILER, "osslsigncode")):
        return
    _install(progress, TOOLS)


def _provide_wine(progress: Progress) -> tuple[str, Path | None]:
    own = _version(["wine", "--version"])
    if own is not None and is_wanted(own):
        return own, None
    if _can_enter():
        root = _provide_root(progress)
        version = _version(entering(root, ["wine", "--version"]))
        if version is not None:
            return version, root
    if own is None:
        _install(progress, WINE_PACKAGES)
        own = _version(["wine", "--version"])
    if own is None:
        raise SetupError(say("no_wine"))
    progress.tell("old_wine", version=own)
    return own, None


def _version(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return None
    return parse_version(done.stdout.decode("utf-8", "replace"))


def _can_enter() -> bool:
    if not debian.is_debian_root():
        return False
    try:
        return subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def _provide_root(progress: Progress) -> Path:
    root = FOLDER / f"debian-{SUITE}"
    if root.is_dir():
        return root
    if shutil.which("debootstrap") is None:
        _install(progress, ("debootstrap",))
    progress.tell("wine_system", suite=SUITE)
    # below no made-up name: what an interrupted run left is removed first
    work = FOLDER / f"debian-{SUITE}.part"
    shutil.rmtree(work, ignore_errors=True)
    work.parent.mkdir(parents=True, exist_ok=True)
    run_logged(["debootstrap", "--variant=minbase", SUITE, work, _mirror()])
    for name in ("resolv.conf", "apt/apt.conf.d"):
        _copy_setting(Path("/etc") / name, work / "etc" / name)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *WINE_PACKAGES]):
        run_logged(entering(work, ["apt-get", *arguments]), env=env)
    shutil.rmtree(work / "var" / "cache" / "apt", ignore_errors=True)
    work.replace(root)
    return root


def _mirror() -> str:
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return mirror_of(done.stdout.decode("utf-8", "replace"))


def _copy_setting(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.is_file():
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)


def _install(progress: Progress, names: Sequence[str]) -> None:
    if not debian.is_debian_root():
        raise SetupError(
            say("need_windows_tools", command=f"sudo apt-get install -y {' '.join(names)}"), EXIT_USAGE
        )
    progress.tell("system_packages", names=" ".join(names))
    debian.install_system_packages(names)


def main(arguments: Sequence[str]) -> int:
    """Set up what is missing and run the Windows Python."""

    def job(progress: Progress) -> int:
        ensure_environment(progress, windows_python.LOCK.name)
        return provide(progress).run(arguments)

    return guarded(job)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
