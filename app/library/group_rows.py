"""The files of one group -> its rows, here or in a limited child."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from app.gguf.inspect_file import InspectedFile, inspect_path
from app.library.model_files import FileGroup, PartFile
from app.library.model_summary import ModelSummary

GREETING: Final = None
"""What a child is asked first, to see that it can answer at all."""


def inspected_in(group: FileGroup) -> Iterator[InspectedFile]:
    """Yield one model as a rule; a part by its name whose header knows nothing of the set is another."""
    left = {part.path for part in group.parts}
    for part in group.parts:
        if part.path in left:
            inspected = inspect_path(part.path)
            left.difference_update(inspected.facts.files, [part.path])
            yield inspected


def rows_of(group: FileGroup) -> tuple[ModelSummary, ...]:
    """Return the rows of a group. Never raises: what cannot be read is a row with the finding."""
    parts = {part.path: part for part in group.parts}
    return tuple(
        ModelSummary.from_inspected(inspected, _newest(parts, inspected.facts.files))
        for inspected in inspected_in(group)
    )


def question_of(group: FileGroup) -> list[list[Any]]:
    """Return what `rows_job` takes."""
    return [[str(part.path), part.size_bytes, part.modified_ns] for part in group.parts]


def rows_job(value: Any, _attachment: bytes) -> list[dict[str, Any]]:
    """Return the rows of a `question_of` as plain data; none for the greeting."""
    parts = tuple(PartFile(Path(path), size, modified) for path, size, modified in value or ())
    return [row.to_json() for row in rows_of(FileGroup(parts))]


def _newest(parts: dict[Path, PartFile], files: Iterable[Path]) -> int | None:
    times = (parts[file].modified_ns for file in files if file in parts)
    return max((time for time in times if time is not None), default=None)
