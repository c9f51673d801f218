"""A copy of a model with mended metadata, planned byte by byte before anything is written.

The weights are neither read nor changed: the copy shares them with the original where the file system can,
else they are copied. Of a split model only the first part has metadata to mend; its parts lie in a new
folder. The original stays as it is.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingError
from app.gguf.block_clone import BlockCloner, block_for_cloning, system_cloner
from app.gguf.describe import describe
from app.gguf.header_patch import ByteChange, byte_changes, padded, patched_header, rounded_up
from app.gguf.inspect_file import InspectedFile
from app.gguf.mended_header import MendedHeader, impossible, mended_header
from app.gguf.part_names import gathered_parts, hard_links_work, right_names
from app.gguf.reader import GgufHeader
from app.gguf.repair import MetadataChange
from app.gguf.repair_facts import RightValue
from app.gguf.right_values import right_values
from app.gguf.shards import part_name, split_count

MARK: Final = ".repaired"
"""In the name of every copy."""

LONGEST_NAME: Final = 255
"""Bytes of a file name that every file system takes."""


class PartWay(StrEnum):
    """How the weights of one file come into the copy."""

    CLONE = "shared-blocks"
    LINK = "hard-link"
    COPY = "copied"


@dataclass(frozen=True, slots=True)
class PartPlan:
    """One file to make.

    Attributes:
        head: All bytes before the weights of the copy; None leaves the file as it is.
        data_offset_before: Where the weights begin in the source.
        block: Of the file system, where blocks are shared.
    """

    source: Path
    name: str
    head: bytes | None
    data_offset_before: int
    size_bytes: int
    way: PartWay
    block: int | None = None

    @property
    def shared_range(self) -> tuple[int, int]:
        """Bytes of the source from .. to that are shared, not copied; empty when none are."""
        if self.way is PartWay.LINK:
            return 0, self.size_bytes
        if self.block is None:
            return 0, 0
        size = self.size_bytes - len(self.head or b"") + self.data_offset_before
        start = rounded_up(self.data_offset_before, self.block)
        end = size - size % self.block
        return (start, end) if start < end else (0, 0)

    @property
    def new_bytes(self) -> int:
        """What the file takes on the disk beside the original."""
        start, end = self.shared_range
        return self.size_bytes - (end - start)


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """Everything about a copy before it is made.

    Attributes:
        source: The model, its first part.
        target: The new file; of a split model the new folder.
        model: What an engine will be given.
        size_bytes: Of all files of the copy; `new_bytes` is what they take beside the original.
        free_bytes: On the disk of the target.
        undecided: Values that a person must give first.
        left: Errors that the copy would have all the same.
        source_state: Size and time of the source's files, to notice a change before it is copied.
    """

    source: Path
    target: Path
    model: Path
    parts: tuple[PartPlan, ...]
    changes: tuple[MetadataChange, ...]
    byte_changes: tuple[ByteChange, ...]
    free_bytes: int
    undecided: tuple[RightValue, ...]
    left: tuple[Finding, ...]
    source_state: tuple[tuple[int, int], ...]

    @property
    def size_bytes(self) -> int:
        """Of all files of the copy."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def new_bytes(self) -> int:
        """What the copy takes on the disk."""
        return sum(part.new_bytes for part in self.parts)

    @property
    def is_split(self) -> bool:
        """The copy is a folder."""
        return self.target != self.model

    @property
    def is_ready(self) -> bool:
        """It can be written, and will have no error."""
        return not self.undecided and not self.left


def plan_copy(
    inspected: InspectedFile, target: Path | None = None, cloner: BlockCloner | None = None
) -> CopyPlan:
    """Plan a copy of a file that was looked at: read its header, try what its disk can, change nothing.

    Args:
        target: The new file, or the new folder of a split model; None takes a free name beside the original.

    Raises:
        FindingError: `REPAIR_IMPOSSIBLE`.
        OSError: the folder of the target cannot be looked at.
        ValueError: a chosen value does not fit the type of its key.
    """
    headers = inspected.headers
    if headers and split_count(headers[0]) > 1:
        return _split_plan(inspected, target, cloner or system_cloner())
    mended = mended_header(inspected)
    source = inspected.facts.path
    target = target or _free_copy_name(source, source.suffix)
    part = _first_part(mended, target.name, target.parent, cloner or system_cloner())
    return _plan(mended, target, target, (part,))


def source_state(sources: Sequence[Path]) -> tuple[tuple[int, int], ...]:
    """Return size and time of files."""
    return tuple((status.st_size, status.st_mtime_ns) for status in (source.stat() for source in sources))


def _split_plan(inspected: InspectedFile, target: Path | None, cloner: BlockCloner) -> CopyPlan:
    parts = gathered_parts(inspected.headers[0])
    if parts is None:
        raise FindingError(impossible(inspected))
    mended = mended_header(_of_parts(inspected, parts))
    names = right_names(parts)
    source = parts[0].path
    target = target or _free_copy_name(source.with_name(_stem(names[0])), "")
    plans = [_first_part(mended, names[0], target.parent, cloner)] if mended.changes else []
    for header, name in list(zip(parts, names, strict=True))[len(plans) :]:
        plans.append(_other_part(header, name, target.parent, cloner))
    return _plan(mended, target, target / names[0], tuple(plans))


def _of_parts(inspected: InspectedFile, parts: tuple[GgufHeader, ...]) -> InspectedFile:
    """Return what was inspected, with the parts in the order that their headers tell."""
    if parts == inspected.headers:
        return inspected
    files = tuple(part.path for part in parts)
    facts = describe(parts, files)
    rights = right_values(parts, facts, inspected.choice)
    return replace(inspected, facts=facts, headers=parts, right_values=rights)


def _plan(mended: MendedHeader, target: Path, model: Path, parts: tuple[PartPlan, ...]) -> CopyPlan:
    return CopyPlan(
        source=mended.raw.path,
        target=target,
        model=model,
        parts=parts,
        changes=mended.changes,
        byte_changes=byte_changes(mended.raw, mended.patch),
        free_bytes=shutil.disk_usage(target.parent).free,
        undecided=mended.undecided,
        left=mended.left,
        source_state=source_state([part.source for part in parts]),
    )


def _first_part(mended: MendedHeader, name: str, folder: Path, cloner: BlockCloner) -> PartPlan:
    original, patch = mended.original, mended.patch
    block = block_for_cloning(original.path, folder, cloner)
    if block is not None:
        patch = padded(mended.raw, patch, original.data_offset, original.alignment, block)
    content = patched_header(mended.raw, patch)
    head = content.ljust(rounded_up(len(content), original.alignment), b"\0")
    size = len(head) + max(0, original.file_size - original.data_offset)
    way = PartWay.COPY if block is None else PartWay.CLONE
    return PartPlan(original.path, name, head, original.data_offset, size, way, block)


def _other_part(header: GgufHeader, name: str, folder: Path, cloner: BlockCloner) -> PartPlan:
    block = block_for_cloning(header.path, folder, cloner)
    way = PartWay.CLONE
    if block is None:
        way = PartWay.LINK if hard_links_work(header.path, folder) else PartWay.COPY
    return PartPlan(header.path, name, None, 0, header.file_size, way, block)


def _stem(name: str) -> str:
    known = part_name(name)
    return known.stem if known else name


def _free_copy_name(source: Path, suffix: str) -> Path:
    stem = source.name.removesuffix(suffix) if suffix else source.name
    room = LONGEST_NAME - len(os.fsencode(f"{MARK}-99{suffix}"))
    while len(os.fsencode(stem)) > room:
        stem = stem[:-1]
    name, number = f"{stem}{MARK}{suffix}", 1
    while source.with_name(name).exists():
        number += 1
        name = f"{stem}{MARK}-{number}{suffix}"
    return source.with_name(name)
