"""Any part of a split model -> all parts in order, or which are missing.

llama.cpp (`llama_split_path`, `llama_model_loader`) finds parts by name only: `STEM-00001-of-00003.gguf`,
counted from 1, while the key `split.no` counts from 0. Links are not followed, since download caches link
names to hashes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingCode, error
from app.gguf.reader import GgufHeader

_PART_NAME: Final = re.compile(
    r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<suffix>\.gguf)", re.I | re.S
)
MAX_PARTS: Final = 4096


@dataclass(frozen=True, slots=True)
class ShardSet:
    """The parts of a model.

    Attributes:
        files: Existing parts in order; a file that is not split is its own only part.
        missing: File names of parts that are not there.
        is_misnamed: The header says it is a part, its name does not; engines cannot find the others.
    """

    files: tuple[Path, ...]
    missing: tuple[str, ...] = ()
    is_misnamed: bool = False


@dataclass(frozen=True, slots=True)
class PartName:
    """A file name of the form `STEM-00002-of-00003.gguf`."""

    stem: str
    number: int
    count: int
    suffix: str

    def name_of(self, number: int) -> str:
        """Return the file name of part `number`, from 1."""
        return f"{self.stem}-{number:05d}-of-{self.count:05d}{self.suffix}"


def part_name(name: str) -> PartName | None:
    """Return what a file name says about its part; None for any other name."""
    found = _PART_NAME.fullmatch(name)
    if not found:
        return None
    number, count = int(found["number"]), int(found["count"])
    if not 1 <= number <= count <= MAX_PARTS:
        return None
    return PartName(found["stem"], number, count, found["suffix"])


def find_shards(header: GgufHeader) -> ShardSet:
    """Return the set that a part belongs to."""
    if split_count(header) < 2:
        return ShardSet((header.path,))
    name = part_name(header.path.name)
    if name is None:
        return ShardSet((header.path,), is_misnamed=True)
    paths = [header.path.with_name(name.name_of(number)) for number in range(1, name.count + 1)]
    existing = tuple(path for path in paths if path.is_file())
    return ShardSet(existing, tuple(path.name for path in paths if path not in existing))


def split_count(header: GgufHeader) -> int:
    """Return `split.count`; 1 for a whole file."""
    count = header.keys.get("split.count")
    return count if isinstance(count, int) else 1


def shard_findings(shards: ShardSet, headers: Sequence[GgufHeader]) -> list[Finding]:
    """Return what is wrong with the set; engines refuse every such set.

    Args:
        headers: Of the readable ones of `shards.files`.
    """
    first = headers[0].path.name
    if shards.is_misnamed:
        return [error(FindingCode.SHARD_NAME_INVALID, file=first, parts=split_count(headers[0]))]
    findings = []
    if shards.missing:
        total = len(shards.files) + len(shards.missing)
        findings.append(
            error(FindingCode.SHARD_MISSING, missing=shards.missing, found=len(shards.files), parts=total)
        )
    if len(shards.files) + len(shards.missing) > 1:
        findings += [finding for header in headers for finding in _part_findings(header)]
    if not findings and len(headers) == len(shards.files) > 1:
        findings += _count_findings(headers)
    return findings


def _part_findings(header: GgufHeader) -> Iterable[Finding]:
    name = part_name(header.path.name)
    if name is None:
        return
    number = header.keys.get("split.no")
    says = number + 1 if isinstance(number, int) else None
    if says != name.number or split_count(header) != name.count:
        yield error(
            FindingCode.SHARD_MISMATCH,
            file=header.path.name,
            expected=f"{name.number}/{name.count}",
            found=f"{says}/{split_count(header)}",
        )


def _count_findings(headers: Sequence[GgufHeader]) -> Iterable[Finding]:
    expected = headers[0].keys.get("split.tensors.count")
    found = sum(len(header.tensors) for header in headers)
    if isinstance(expected, int) and expected != found:
        yield error(
            FindingCode.SHARD_MISMATCH, file=headers[0].path.name, expected=str(expected), found=str(found)
        )
