"""Folders -> one row per model, as they are found."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingCode
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.library.model_files import FileGroup, ModelFiles, PartFile
from app.library.model_origins import OLLAMA_BLOB, ModelOrigin, ollama_names
from app.library.model_summary import ModelSummary
from app.library.summary_cache import SummaryCache

__all__ = ["ModelSummary", "ScanReport", "inspect_folders", "scan_folders"]

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
    the GUI thread. In the order of the folders; within one by name, a folder's own files first.
    """
    found = from_cache = 0
    files = ModelFiles(is_cancelled)
    names = _OllamaNames()
    for group in _groups(files, folders):
        if is_cancelled():
            break
        rows = cache.find(group)
        if rows is not None:
            from_cache += len(rows)
        else:
            rows = tuple(_summaries(group))
            if not any(_MAY_PASS.intersection(row.codes) for row in rows):
                cache.keep(group, rows)
        for row in rows:
            found += 1
            on_summary(names.named(row))
    return ScanReport(found, from_cache, tuple(files.unreadable), not is_cancelled())


def inspect_folders(files: ModelFiles, folders: Iterable[Path]) -> Iterator[InspectedFile]:
    """Yield each model below `folders` with all that its header says, as `inspect_path` gives it."""
    for group in _groups(files, folders):
        yield from _inspected(group)


def _groups(files: ModelFiles, folders: Iterable[Path]) -> Iterator[FileGroup]:
    for folder in folders:
        yield from files.below(folder.absolute())


def _inspected(group: FileGroup) -> Iterator[InspectedFile]:
    """Yield one model as a rule; a part by its name whose header knows nothing of the set is another."""
    left = {part.path for part in group.parts}
    for part in group.parts:
        if part.path in left:
            inspected = inspect_path(part.path)
            left.difference_update(inspected.facts.files, [part.path])
            yield inspected


def _summaries(group: FileGroup) -> Iterator[ModelSummary]:
    parts = {part.path: part for part in group.parts}
    for inspected in _inspected(group):
        yield ModelSummary.from_inspected(inspected, _newest(parts, inspected.facts.files))


def _newest(parts: dict[Path, PartFile], files: Iterable[Path]) -> int | None:
    times = (parts[file].modified_ns for file in files if file in parts)
    return max((time for time in times if time is not None), default=None)


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
