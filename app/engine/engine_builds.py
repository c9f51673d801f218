"""Which build an engine's files are: learnt when it runs, and known before it runs again."""

import hashlib
import json
import threading
from pathlib import Path
from typing import Final

from app.engine.build_facts import worker_folder
from app.engine.protocol import Hello
from app.engine.spec import BackendKind, EngineSpec
from app.files import read_regular, write_atomically
from app.findings import FindingError

MOST_BUILDS: Final = 64
LARGEST_FILE_BYTES: Final = 64 * 1024
LONGEST_NAME: Final = 200


class EngineBuilds:
    """What engines said of themselves, by their files. Any thread; blocks for the file."""

    def __init__(self, file: Path) -> None:
        """Read nothing yet."""
        self._file = file
        self._lock = threading.Lock()

    def known(self, spec: EngineSpec) -> Hello | None:
        """Return what the engine said the last time, without devices; None when its files are new."""
        key = _key(spec)
        with self._lock:
            found = self._read().get(key) if key is not None else None
        return None if found is None else Hello(*found)

    def keep(self, spec: EngineSpec, hello: Hello) -> None:
        """Remember what an engine says of itself.

        Raises:
            FindingError: the file cannot be written.
        """
        key = _key(spec)
        if key is None or max(len(hello.engine), len(hello.build)) > LONGEST_NAME:
            return
        with self._lock:
            known = self._read()
            if known.get(key) == (hello.engine, hello.build):
                return
            known.pop(key, None)
            known[key] = (hello.engine, hello.build)
            newest = dict(list(known.items())[-MOST_BUILDS:])
            write_atomically(self._file, json.dumps(newest).encode("ascii"))

    def _read(self) -> dict[str, tuple[str, str]]:
        try:
            return read_builds(read_regular(self._file, LARGEST_FILE_BYTES))
        except FindingError:
            return {}


def read_builds(content: bytes) -> dict[str, tuple[str, str]]:
    """Return engine and build by key; a file that is not ours, or damaged, holds none. Never raises."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    return {key: (value[0], value[1]) for key, value in data.items() if _is_build(value)}


def _is_build(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in value)
    )


def _key(spec: EngineSpec) -> str | None:
    """Return what tells an engine's files from those of another build; None for one without files."""
    folder = worker_folder() if spec.backend is BackendKind.LLAMA else spec.pack_folder
    if folder is None:
        return None
    told = repr((spec.backend.value, file_stamps(folder)))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def file_stamps(folder: Path) -> list[tuple[str, int, int]]:
    """Return path, size and time of each file of an engine."""
    stamps = []
    for place in (folder, folder / "bin"):
        try:
            for file in sorted(place.iterdir()):
                stat = file.stat()
                stamps.append((str(file), stat.st_size, stat.st_mtime_ns))
        except OSError:
            continue
    return stamps
