"""Parts of a split model by what their headers say where their names are wrong, and their right names."""

import contextlib
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.gguf.reader import GgufError, GgufHeader, read_header
from app.gguf.shards import MAX_PARTS, PartName, part_name, split_count

_SEPARATORS: Final = " -_."
LONGEST_STEM: Final = 120


def gathered_parts(header: GgufHeader) -> tuple[GgufHeader, ...] | None:
    """Return all parts of the model that `header` belongs to, in order, from its folder.

    None when one is missing, or when two files claim to be the same part of such a model.
    """
    count, tensors = split_count(header), header.keys.get("split.tensors.count")
    found: dict[int, GgufHeader] = {}
    for file in sorted(header.path.parent.glob("*.gguf"))[:MAX_PARTS]:
        with contextlib.suppress(GgufError):
            part = read_header(file)
            number = part.keys.get("split.no")
            if split_count(part) != count or part.keys.get("split.tensors.count") != tensors:
                continue
            if not isinstance(number, int) or number in found:
                return None
            found[number] = part
    if sorted(found) != list(range(count)):
        return None
    parts = tuple(found[number] for number in range(count))
    names = [tensor.name for part in parts for tensor in part.tensors]
    return parts if len(names) == len(set(names)) == tensors else None


def right_names(parts: Sequence[GgufHeader]) -> tuple[str, ...]:
    """Return the names by which engines find the parts; a good stem is kept."""
    known = part_name(parts[0].path.name)
    stem = known.stem if known else _common_stem([part.path.stem for part in parts])
    name = PartName(stem or parts[0].path.parent.name or "model", 1, len(parts), ".gguf")
    return tuple(name.name_of(number) for number in range(1, len(parts) + 1))


def hard_links_work(source: Path, folder: Path) -> bool:
    """Return whether a file in `folder` can be a second name of `source`; tried, and undone."""
    trial = folder / f".{uuid.uuid4().hex}.part"
    try:
        os.link(os.path.realpath(source), trial)
    except OSError:
        return False
    trial.unlink()
    return True


def _common_stem(stems: Sequence[str]) -> str:
    shared = os.path.commonprefix(list(stems))  # noqa: RUF071  # of letters, not of folders
    shared = shared.rstrip("0123456789").rstrip(_SEPARATORS)
    return shared.removesuffix("part").rstrip(_SEPARATORS)[:LONGEST_STEM]
