"""What a person decided about files with wrong metadata, remembered for the next load, in one JSON file."""

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from app.files import PathKind, free_name, path_kind, read_regular, write_atomically
from app.findings import Finding, FindingCode, FindingError, warning
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.repair_facts import NO_CHOICE, RepairChoice
from app.paths import repairs_file

FORMAT: Final = 1
FILES_KEPT: Final = 200
"""The ones decided on last."""

KEYS_KEPT: Final = 64
LONGEST_TEXT: Final = 4096
LARGEST_FILE_BYTES: Final = 4 * 1024**2


class RepairMemory:
    """Remembers by path, size and time: a file that was replaced is another one.

    Every call reads the file, so that the command line and a window see each other's decisions.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read nothing yet; None takes the person's own file."""
        self._file = file or repairs_file()

    def choice_for(self, path: Path) -> RepairChoice:
        """Return what was decided for a model, by its first part."""
        identity = _identity(path)
        for stored in _stored(self._file) or ():
            if identity is not None and _is(stored, identity):
                return _choice(stored)
        return NO_CHOICE

    def remember(self, path: Path, choice: RepairChoice) -> tuple[Finding, ...]:
        """Keep a decision in place of an older one. A file that cannot be used is kept under another name.

        Raises:
            FindingError: `DISK_FULL`, `STORE_READ_ONLY`, `NOT_A_FILE`, or `PATH_MISSING` for the model.
        """
        identity = _identity(path)
        if identity is None:
            raise FindingError(warning(FindingCode.PATH_MISSING, path=str(path)))
        known = _stored(self._file)
        findings = () if known is not None else _set_aside(self._file)
        kept = [stored for stored in known or () if stored.get("path") != identity["path"]]
        if choice != NO_CHOICE:
            kept.insert(0, {**identity, "off": sorted(choice.off), "chosen": dict(choice.chosen)})
        data = {"format": FORMAT, "files": kept[:FILES_KEPT]}
        write_atomically(self._file, json.dumps(data, ensure_ascii=True, indent=1).encode("ascii"))
        return findings


def inspect_remembered(path: Path, memory: RepairMemory | None = None) -> InspectedFile:
    """Return what is at `path`, as `inspect_path` does, with what the person decided about it."""
    inspected = inspect_path(path)
    if not inspected.headers:
        return inspected
    choice = (memory or RepairMemory()).choice_for(inspected.facts.path)
    return inspected if choice == NO_CHOICE else inspect_path(inspected.facts.path, choice)


def _identity(path: Path) -> dict[str, Any] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    name = os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")
    return {"path": name, "size_bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def _is(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    return all(stored.get(name) == value for name, value in identity.items())


def _stored(file: Path) -> list[Mapping[str, Any]] | None:
    """Return the entries of the file; None for one that cannot be used, an empty list for none."""
    try:
        if path_kind(file) is None:
            return []
        data = json.loads(read_regular(file, LARGEST_FILE_BYTES).decode("utf-8"))
    except (FindingError, ValueError, RecursionError):
        return None
    files = data.get("files") if isinstance(data, Mapping) else None
    if not isinstance(files, list):
        return None
    return [entry for entry in files[:FILES_KEPT] if isinstance(entry, Mapping)]


def _choice(stored: Mapping[str, Any]) -> RepairChoice:
    """Return what of an entry can be used."""
    off, chosen = stored.get("off"), stored.get("chosen")
    keys = off[:KEYS_KEPT] if isinstance(off, list) else []
    pairs = list(chosen.items())[:KEYS_KEPT] if isinstance(chosen, Mapping) else []
    return RepairChoice(
        frozenset(key for key in keys if isinstance(key, str) and len(key) <= LONGEST_TEXT),
        tuple((key, value) for key, value in pairs if _is_value(value) and len(key) <= LONGEST_TEXT),
    )


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    return isinstance(value, bool | float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _set_aside(file: Path) -> tuple[Finding, ...]:
    if path_kind(file) is not PathKind.FILE:
        return ()
    content = read_regular(file, LARGEST_FILE_BYTES)
    kept_as = free_name(file, datetime.now())
    write_atomically(kept_as, content)
    return (warning(FindingCode.SETTINGS_SET_ASIDE, path=str(file), kept_as=str(kept_as)),)
