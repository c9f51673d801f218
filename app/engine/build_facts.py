"""One engine's files -> EngineBuildFacts: what it was built for, what is missing beside it. Runs nothing."""

import importlib.util
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.engine.binary_imports import Imports, ImportsError, imports_of
from app.engine.hip_targets import hip_targets
from app.engine.packs import WORKER, EngineEntry
from app.engine.spec import BackendKind
from app.files import read_regular
from app.findings import FindingError
from app.hardware.engine_facts import EngineBuildFacts

MOST_FILES: Final = 2000
LARGEST_RUNTIME_BYTES: Final = 16 * 1024**2
"""A CUDA runtime library has less than 1 MB."""

OUR_SYSTEM: Final = "Windows" if sys.platform == "win32" else "Linux"

_FLAVOURS: Final = (
    ("cuda", re.compile(r"(lib)?ggml-cuda|(lib)?(cudart|cublas)\d*", re.IGNORECASE)),
    ("hip", re.compile(r"(lib)?ggml-hip|(lib)?(amdhip64|hipblas|rocblas)", re.IGNORECASE)),
    ("sycl", re.compile(r"(lib)?ggml-sycl|(lib)?sycl\d", re.IGNORECASE)),
    ("vulkan", re.compile(r"(lib)?ggml-vulkan|vulkan-1\.dll|libvulkan\.so", re.IGNORECASE)),
)
"""Beginning of a file's or an import's name -> what the build computes with; the first that fits."""

_HIP_CODE: Final = re.compile(r"(lib)?ggml-hip", re.IGNORECASE)
_PROGRAM: Final = re.compile(r".*(\.dll|\.exe|\.so(\.\d+)*)|llama-server|rpc-server", re.IGNORECASE)
_CUDA_IN_NAME: Final = re.compile(r"(?<![a-z])cu(?:da)?[-_]?(\d{2})[._]?(\d)(?!\d)", re.IGNORECASE)
_RUNTIME: Final = re.compile(r"cudart64_(?:\d+)\.dll|libcudart\.so\.(\d+)\.(\d+)[.\d]*", re.IGNORECASE)
_FIXED_INFO: Final = b"\xbd\x04\xef\xfe"
"""Signature of VS_FIXEDFILEINFO; the last part of NVIDIA's file version is the CUDA version, e.g. 12040."""

_OF_WINDOWS: Final = re.compile(r"(api|ext)-ms-.*", re.IGNORECASE)
_SYSTEM_FOLDERS: Final = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_LOADER_CONFIGURATION: Final = Path("/etc/ld.so.conf.d")


@dataclass(frozen=True, slots=True)
class EngineFiles:
    """Where an engine lies, and what belongs to it.

    Attributes:
        expected: Paths of what was there when it was added.
        source: Name of what it came from.
    """

    name: str
    folder: Path
    expected: Sequence[str] = ()
    source: str = ""


def files_of(entry: EngineEntry) -> EngineFiles | None:
    """Return where an engine lies; None for one without files of its own."""
    folder, record = entry.spec.pack_folder, entry.record
    if folder is not None:
        expected, source = (tuple(record.files), record.source) if record else ((), "")
        return EngineFiles(entry.name, folder, expected, source)
    worker = worker_folder() if entry.spec.backend is BackendKind.LLAMA else None
    return None if worker is None else EngineFiles(WORKER.name, worker)


def worker_folder() -> Path | None:
    """Return where the libraries of the built-in worker lie; they are not loaded for it."""
    spec = importlib.util.find_spec("llama_cpp")
    places = spec.submodule_search_locations if spec is not None else None
    return next((Path(place) / "lib" for place in places or ()), None)


def build_facts(files: EngineFiles, find_in_system: Callable[[str], bool] | None = None) -> EngineBuildFacts:
    """Return what an engine's files say; its devices are asked of itself (`engine_devices.py`).

    Args:
        find_in_system: Says whether the system has a library; None looks.
    """
    programs = _programs(files.folder)
    found = [imports for program in programs if (imports := _imports(program)) is not None]
    beside = {program.name.lower() for program in programs}
    asked = tuple(dict.fromkeys(name for imports in found for name in imports.libraries))
    outside = tuple(name for name in asked if name.lower() not in beside)
    flavour = _flavour([*beside, *outside])
    return EngineBuildFacts(
        engine=files.name,
        flavour=flavour,
        cuda_version=_cuda_version(files, programs) if flavour == "cuda" else None,
        gfx_targets=_gfx_targets(programs) if flavour == "hip" else (),
        imports=outside,
        missing_libraries=_missing(found, outside, find_in_system),
        missing_files=tuple(path for path in files.expected if not (files.folder / path).is_file()),
    )


def system_has(name: str, folders: Iterable[Path]) -> bool:
    """Return whether the system's loader finds a library in its own folders or in `folders`."""
    if _OF_WINDOWS.fullmatch(name):  # names without files: parts of Windows
        return True
    return any((folder / name).is_file() for folder in folders)


def search_folders(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the folders where this system looks for libraries."""
    if sys.platform == "win32":
        root = environment.get("SystemRoot", r"C:\Windows")
        listed = [part.strip('"') for part in environment.get("PATH", "").split(os.pathsep)]
        return tuple(Path(folder) for folder in (rf"{root}\System32", root, *listed) if folder)
    listed = environment.get("LD_LIBRARY_PATH", "").split(":")
    fixed = [Path(folder) for folder in (*listed, *_configured(), *_SYSTEM_FOLDERS) if folder]
    # Debian and Ubuntu keep one folder per processor below these
    return (*fixed, *(below for folder in fixed for below in _per_processor(folder)))


def _per_processor(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*-linux-gnu*"))
    except OSError:
        return []


def _configured() -> list[str]:
    lines: list[str] = []
    try:
        for file in sorted(_LOADER_CONFIGURATION.glob("*.conf")):
            lines += read_regular(file, 65536).decode("utf-8", "replace").splitlines()
    except (OSError, FindingError):
        return []
    return [line.strip() for line in lines if line.strip().startswith("/")]


def _programs(folder: Path) -> list[Path]:
    """Return the program files of an engine, its folder's `bin` included."""
    found: list[Path] = []
    for place in (folder, folder / "bin", folder / "lib"):
        try:
            found += sorted(file for file in place.iterdir() if _PROGRAM.fullmatch(file.name))
        except OSError:
            continue
    return found[:MOST_FILES]


def _imports(program: Path) -> Imports | None:
    try:
        return imports_of(program)
    except ImportsError:  # a script of that name, or damage: a changed file is another finding
        return None


def _flavour(names: Iterable[str]) -> str:
    names = tuple(names)
    fitting = (flavour for flavour, begins in _FLAVOURS if any(begins.match(name) for name in names))
    return next(fitting, "cpu")


def _gfx_targets(programs: Iterable[Path]) -> tuple[str, ...]:
    named = (program for program in programs if _HIP_CODE.match(program.name))
    found = (hip_targets(program) for program in named)
    return next((targets for targets in found if targets), ())


def _cuda_version(files: EngineFiles, programs: Iterable[Path]) -> tuple[int, int] | None:
    """Return the toolkit of a build: as the archive's name says, else of the runtime it brings along."""
    for text in (files.source, files.name):
        if match := _CUDA_IN_NAME.search(text):
            return int(match[1]), int(match[2])
    versions = (_runtime_version(program) for program in programs)
    return next((version for version in versions if version is not None), None)


def _runtime_version(program: Path) -> tuple[int, int] | None:
    match = _RUNTIME.fullmatch(program.name)
    if match is None:
        return None
    if match[1] is not None:
        return int(match[1]), int(match[2])
    try:
        return file_version(read_regular(program, LARGEST_RUNTIME_BYTES))
    except FindingError:
        return None


def file_version(content: bytes) -> tuple[int, int] | None:
    """Return the CUDA version in a Windows library's version record; None when it has none."""
    at = content.find(_FIXED_INFO)
    if at < 0 or at + 16 > len(content):
        return None
    (number,) = struct.unpack_from("<H", content, at + 12)
    return (number // 1000, number % 1000 // 10) if number >= 1000 else None


def _missing(
    found: Sequence[Imports], outside: Sequence[str], find: Callable[[str], bool] | None
) -> tuple[str, ...] | None:
    """Return what neither lies beside the engine nor in the system; None for another system's engine."""
    if not found or any(imports.system != OUR_SYSTEM for imports in found):
        return None
    if find is None:
        own = [Path(f) for imports in found for f in imports.folders if f.startswith("/")]
        folders = (*own, *search_folders())
        return tuple(name for name in outside if not system_has(name, folders))
    return tuple(name for name in outside if not find(name))
