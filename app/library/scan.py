"""Folders -> one row per model, as they are found."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingCode
from app.gguf.inspect_file import InspectedFile
from app.library.group_rows import inspected_in, rows_of
from app.library.model_files import FileGroup, ModelFiles
from app.library.model_origins import OLLAMA_BLOB, ModelOrigin, ollama_names
from app.library.model_summary import ModelSummary
from app.library.row_readers import ReadGroup, RowReaders, readers_here
from app.library.summary_cache import SummaryCache

__all__ = ["ModelSummary", "ScanReport", "inspect_folders", "scan_folders"]

ALONE: Final = 48
"""New models read without other processes: those take as long to start."""

_MAY_PASS: Final = frozenset({FindingCode.ACCESS_DENIED, FindingCode.PATH_MISSING})
"""What the same file may no longer show a moment later: never kept."""


@dataclass(frozen=True, slots=True)
class ScanReport:
    """How a scan went.

    Attributes:
        found: Rows given out; from_cache: of them without opening the file.
        unreadable: A finding for each folder that could not be listed.
        is_complete: False when it was cancelled.
    """

    found: int
    from_cache: int
    unreadable: tuple[Finding, ...]
    is_complete: bool


def scan_folders(
    folders: Iterable[Path],
    cache: SummaryCache,
    on_summary: Callable[[ModelSummary], None],
    is_cancelled: Callable[[], bool],
) -> ScanReport:
    """Call `on_summary` for each model below `folders` as it is found; reads headers, never weights.

    A model is one row, however many parts, names or links it has. Takes as long as the disk does: not on
    the GUI thread. The first new ones in the order of the folders, within one by name, a folder's own files
    first; those after them in several processes, and in the order in which these come to an end.
    """
    files = ModelFiles(is_cancelled)
    with contextlib.ExitStack() as stack:
        scan = _Scan(cache, on_summary, is_cancelled, stack)
        for group in _groups(files, folders):
            if is_cancelled():
                break
            scan.take(group)
        scan.finish()
    return ScanReport(scan.found, scan.from_cache, tuple(files.unreadable), not is_cancelled())


def inspect_folders(files: ModelFiles, folders: Iterable[Path]) -> Iterator[InspectedFile]:
    """Yield each model below `folders` with all that its header says, as `inspect_path` gives it."""
    for group in _groups(files, folders):
        yield from inspected_in(group)


def _groups(files: ModelFiles, folders: Iterable[Path]) -> Iterator[FileGroup]:
    for folder in folders:
        yield from files.below(folder.absolute())


class _Scan:
    """Gives out rows: known ones from the cache, the first new ones read here, the rest by readers."""

    def __init__(
        self,
        cache: SummaryCache,
        on_summary: Callable[[ModelSummary], None],
        is_cancelled: Callable[[], bool],
        stack: contextlib.ExitStack,
    ) -> None:
        self.found = 0
        self.from_cache = 0
        self._cache = cache
        self._on_summary = on_summary
        self._is_cancelled = is_cancelled
        self._stack = stack
        self._names = _OllamaNames()
        self._new = 0
        self._readers: RowReaders | None = None

    def take(self, group: FileGroup) -> None:
        """Give out the rows of a group now, or when they are read."""
        rows = self._cache.find(group)
        if rows is not None:
            self.from_cache += len(rows)
            self._give(rows)
            return
        self._new += 1
        if self._new == ALONE + 1 and (count := readers_here()):
            self._readers = self._stack.enter_context(RowReaders(count, self._is_cancelled))
        if self._readers is None:
            self._keep(ReadGroup(group, rows_of(group)))
        else:
            for read in self._readers.read(group):
                self._keep(read)

    def finish(self) -> None:
        """Give out what is still being read, unless it is cancelled."""
        for read in self._readers.rest() if self._readers else ():
            self._keep(read)

    def _keep(self, read: ReadGroup) -> None:
        if read.is_lasting and not any(_MAY_PASS.intersection(row.codes) for row in read.rows):
            self._cache.keep(read.group, read.rows)
        self._give(read.rows)

    def _give(self, rows: Iterable[ModelSummary]) -> None:
        for row in rows:
            self.found += 1
            self._on_summary(self._names.named(row))


class _OllamaNames:
    """What Ollama calls its blobs, read once for each of its folders. Not cached: a name can change."""

    def __init__(self) -> None:
        self._by_folder: dict[Path, dict[str, str]] = {}

    def named(self, row: ModelSummary) -> ModelSummary:
        """Return the row under the name Ollama gives it, where it has one."""
        blob = OLLAMA_BLOB.fullmatch(row.path.name) if row.origin is ModelOrigin.OLLAMA else None
        if blob is None:
            return row
        folder = row.path.parent.parent
        if folder not in self._by_folder:
            self._by_folder[folder] = ollama_names(folder)
        name = self._by_folder[folder].get(blob[1]) or row.name
        return row.renamed(name) if name else row
