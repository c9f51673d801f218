"""Folders -> the files that are models by their names, the parts of a split one together."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.files import reading_finding
from app.findings import Finding
from app.gguf.shards import part_name
from app.library.model_origins import OLLAMA_BLOB

DEPTH_MAX: Final = 24
_GGUF_MAGIC: Final = b"GGUF"

_HIDDEN_HOMES: Final = (
    ".lmstudio",
    ".ollama",
    ".cache/lm-studio",
    ".cache/huggingface",
    ".cache/llama.cpp",
    ".local/share/Jan",
    ".local/share/nomic.ai",
)
"""Hidden folders that hold models; any other one is somebody's cache, bin or repository."""

_NEVER: Final = frozenset(
    {"$recycle.bin", "system volume information", "lost+found", "node_modules", "__pycache__"}
)
_NOT_ON_DISK: Final = frozenset({"/proc", "/sys", "/dev", "/run"})


@dataclass(frozen=True, slots=True)
class PartFile:
    """One file. Size and time are None when it cannot be looked at, as with a link to nothing."""

    path: Path
    size_bytes: int | None
    modified_ns: int | None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are one model by their names: one whole file, or the parts of a split one in order."""

    parts: tuple[PartFile, ...]

    @property
    def first(self) -> Path:
        """The lowest part that is there."""
        return self.parts[0].path


class ModelFiles:
    """Finds models below folders, each folder and each file once however many names it has.

    Attributes:
        unreadable: A finding for each folder that could not be listed.
    """

    def __init__(self, is_cancelled: Callable[[], bool]) -> None:
        self._is_cancelled = is_cancelled
        self._seen_folders: set[tuple[int, int] | str] = set()
        self._seen_files: set[tuple[int, int]] = set()
        self.unreadable: list[Finding] = []

    def below(self, folder: Path) -> Iterator[FileGroup]:
        """Yield the models below `folder`, those of a folder before those of its subfolders."""
        waiting = [(folder, 0)]
        while waiting and not self._is_cancelled():
            current, depth = waiting.pop()
            if not self._is_new(current):
                continue
            try:
                with os.scandir(current) as entries:
                    folders, files = _sort_out(entries)
            except OSError as reason:
                self.unreadable.append(reading_finding(reason, current))
                continue
            yield from self._groups(files)
            if depth < DEPTH_MAX:
                homes = [current / home for home in _HIDDEN_HOMES]
                folders += [home for home in homes if home.is_dir()]
                waiting += [(path, depth + 1) for path in reversed(folders)]

    def _is_new(self, folder: Path) -> bool:
        """Links may lead back up: what counts is which folder it is, not how it is called."""
        try:
            status = folder.stat()
        except OSError:
            return True  # listing it will say why
        identity = (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(folder)
        if identity in self._seen_folders:
            return False
        self._seen_folders.add(identity)
        return True

    def _groups(self, files: Iterable[Path]) -> Iterator[FileGroup]:
        groups: dict[str, list[Path]] = {}
        for file in sorted(files, key=lambda file: file.name):
            part = part_name(file.name)
            groups.setdefault(part.name_of(1) if part else file.name, []).append(file)
        for paths in groups.values():
            parts = tuple(part for part in map(self._look_at, paths) if part is not None)
            if parts:
                yield FileGroup(parts)

    def _look_at(self, file: Path) -> PartFile | None:
        try:
            status = file.stat()
        except OSError:
            return PartFile(file, None, None)
        if status.st_ino:
            identity = (status.st_dev, status.st_ino)
            if identity in self._seen_files:
                return None
            self._seen_files.add(identity)
        if not file.suffix and not _is_gguf(file):
            return None
        return PartFile(file, status.st_size, status.st_mtime_ns)


def _sort_out(entries: Iterable[os.DirEntry[str]]) -> tuple[list[Path], list[Path]]:
    folders, files = [], []
    for entry in entries:
        if _is_folder(entry):
            if not entry.name.startswith(".") and entry.name.lower() not in _NEVER:
                folders.append(Path(entry.path))
        elif entry.name.lower().endswith(".gguf") or OLLAMA_BLOB.fullmatch(entry.name):
            files.append(Path(entry.path))
    folders.sort(key=lambda path: path.name)
    return [folder for folder in folders if folder.as_posix() not in _NOT_ON_DISK], files


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_gguf(file: Path) -> bool:
    """Say whether a blob without an ending is one: templates and licences lie among them."""
    try:
        with file.open("rb", buffering=0) as stream:
            return stream.read(len(_GGUF_MAGIC)) == _GGUF_MAGIC
    except OSError:
        return False
