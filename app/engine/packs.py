"""Engines this machine has: the built-in worker and engine packs; which one a person gets."""

import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from app.engine.llama_server_capabilities import server_executable
from app.engine.spec import BackendKind, EngineSpec
from app.files import is_regular, read_regular, write_atomically
from app.findings import FindingCode, FindingError, error
from app.paths import engines_folder

WORKER: Final = EngineSpec("worker", BackendKind.LLAMA)
ECHO: Final = EngineSpec("echo", BackendKind.ECHO)
RECORD_NAME: Final = "pack.json"
PARTIAL_PREFIX: Final = ".adding-"
LARGEST_RECORD_BYTES: Final = 16 * 1024**2

_FORMAT: Final = 1
_WORKER_PACKAGE: Final = "llama_cpp"
_WORKER_DISTRIBUTION: Final = "llama-cpp-python"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = frozenset(
    {WORKER.name, ECHO.name, "con", "prn", "aux", "nul"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}
)


@dataclass(frozen=True, slots=True)
class SmokeResult:
    """How the last self-test of a pack ended.

    Attributes:
        at: UTC, ISO 8601.
        codes: Codes of its findings; empty when it passed.
    """

    passed: bool
    at: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackRecord:
    """What `pack.json` keeps of a pack.

    Attributes:
        source: Name of the file or folder it came from.
        added: UTC, ISO 8601.
        build: The executable's version text.
        devices: Device names it listed when it was added.
        files: SHA-256 by path within the pack, `/` between folders.
        smoke: None when it was never tested.
    """

    source: str
    added: str
    build: str
    devices: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    smoke: SmokeResult | None = None


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine of the list.

    Attributes:
        record: None for what is no pack, and for a pack put there by hand.
        is_selected: A chat without `--engine` gets this one.
    """

    spec: EngineSpec
    record: PackRecord | None = None
    is_selected: bool = False

    @property
    def name(self) -> str:
        """The name a person types."""
        return self.spec.name

    @property
    def build(self) -> str | None:
        """The engine's version; None when it would have to be started to tell."""
        if self.record is not None:
            return self.record.build
        return _worker_build() if self.spec == WORKER else None

    @property
    def has_passed(self) -> bool:
        """True when its last self-test passed; the worker needs none."""
        if self.spec.pack_folder is None:
            return True
        return self.record is not None and self.record.smoke is not None and self.record.smoke.passed

    def to_json(self) -> dict[str, Any]:
        """Return the entry as the command line prints it; hashes stay out."""
        record = self.record
        return {
            "name": self.name,
            "backend": self.spec.backend.value,
            "path": str(self.spec.pack_folder) if self.spec.pack_folder else None,
            "build": self.build,
            "devices": list(record.devices) if record else None,
            "source": record.source if record else None,
            "added": record.added if record else None,
            "smoke": asdict(record.smoke) if record and record.smoke else None,
            "is_selected": self.is_selected,
        }


def list_engines(settings_engine: str | None = None, *, with_echo: bool = False) -> tuple[EngineEntry, ...]:
    """Return the engines there are: the worker first, then packs by name.

    Args:
        settings_engine: The person's choice, which decides `is_selected`.
    """
    entries = [EngineEntry(WORKER)] if _worker_is_installed() else []
    entries += [
        EngineEntry(EngineSpec(folder.name, BackendKind.LLAMA_SERVER, folder), read_record(folder))
        for folder in _folders()
        if not folder.name.startswith(".") and is_regular(server_executable(folder))
    ]
    if with_echo:
        entries.append(EngineEntry(ECHO))
    chosen = settings_engine or _default_name(entries)
    return tuple(EngineEntry(entry.spec, entry.record, is_selected=entry.name == chosen) for entry in entries)


def choose_engine(name: str | None, settings_engine: str | None) -> EngineSpec:
    """Return the engine for one run: the named one, else the settings' choice, else the worker, else
    the newest pack that passed its self-test.

    Raises:
        FindingError: `ENGINE_NOT_FOUND` with the names there are; `ENGINE_MISSING` when nothing fits.
    """
    wanted = name or settings_engine
    entries = list_engines(wanted, with_echo=wanted == ECHO.name)
    for entry in entries:
        if entry.is_selected:
            return entry.spec
    if wanted is None:
        raise FindingError(error(FindingCode.ENGINE_MISSING, name=None))
    known = tuple(entry.name for entry in entries)
    raise FindingError(error(FindingCode.ENGINE_NOT_FOUND, name=wanted, known=known or None))


def find_engine(name: str) -> EngineEntry:
    """Return the entry called `name`.

    Raises:
        FindingError: `ENGINE_NOT_FOUND` with the names there are.
    """
    spec = choose_engine(name, None)
    return next(entry for entry in list_engines(name, with_echo=True) if entry.spec == spec)


def check_name(name: str) -> str:
    """Return a name a pack may have: letters, digits, `.`, `_`, `-`.

    Raises:
        FindingError: `PACK_NAME_INVALID`, `PACK_NAME_TAKEN`.
    """
    if not _NAME.fullmatch(name) or name.lower() in _RESERVED or name.endswith("."):
        raise FindingError(error(FindingCode.PACK_NAME_INVALID, name=name))
    if name.lower() in _taken_names():
        raise FindingError(error(FindingCode.PACK_NAME_TAKEN, name=name))
    return name


def free_name(source_name: str) -> str:
    """Return a free name made from a file's or folder's name."""
    stem = re.sub(r"(-py3-.*)?\.(zip|whl)$", "", source_name, flags=re.IGNORECASE)
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:48].rstrip("-._") or "engine"
    if base.lower() in _RESERVED:
        base = f"{base}-pack"
    taken = _taken_names()
    name, number = base, 2
    while name.lower() in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def read_record(folder: Path) -> PackRecord | None:
    """Return what `pack.json` says, or None if there is none that can be read."""
    try:
        data = json.loads(read_regular(folder / RECORD_NAME, LARGEST_RECORD_BYTES).decode("utf-8"))
        smoke = data.get("smoke")
        return PackRecord(
            source=str(data["source"]),
            added=str(data["added"]),
            build=str(data["build"]),
            devices=tuple(str(device) for device in data["devices"]),
            files={str(path): str(digest) for path, digest in data["files"].items()},
            smoke=SmokeResult(bool(smoke["passed"]), str(smoke["at"]), tuple(map(str, smoke["codes"])))
            if smoke
            else None,
        )
    except (FindingError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def write_record(folder: Path, record: PackRecord) -> None:
    """Write `pack.json`.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    text = json.dumps({"format": _FORMAT, **asdict(record)}, ensure_ascii=True, indent=1)
    write_atomically(folder / RECORD_NAME, text.encode())


def _worker_is_installed() -> bool:
    return importlib.util.find_spec(_WORKER_PACKAGE) is not None


def _worker_build() -> str | None:
    try:
        return f"{_WORKER_DISTRIBUTION} {importlib.metadata.version(_WORKER_DISTRIBUTION)}"
    except importlib.metadata.PackageNotFoundError:
        return None


def _default_name(entries: list[EngineEntry]) -> str | None:
    if any(entry.spec == WORKER for entry in entries):
        return WORKER.name
    passed = [(entry.record.added, entry.name) for entry in entries if entry.record and entry.has_passed]
    return max(passed)[1] if passed else None


def _taken_names() -> frozenset[str]:
    return frozenset(folder.name.lower() for folder in _folders())


def _folders() -> list[Path]:
    """Return what lies where packs lie; nothing where that folder cannot be made or read."""
    try:
        return sorted(engines_folder().iterdir())
    except OSError:
        return []
