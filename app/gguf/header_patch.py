"""A header and the changes to it -> the new header, byte by byte. Pure."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.gguf.raw_header import COUNT_OFFSET, RawHeader
from app.gguf.value_types import SCALARS, STRING
from app.options import KvOverrideValue

PADDING_KEY: Final = "moxie.padding"
"""Fills the header up, so that the weights behind it stay on the blocks of the file system."""

_COUNT = struct.Struct("<Q")
_TYPE_IDS: Final = {name: type_id for type_id, (name, _) in SCALARS.items()} | {"str": STRING}


class ByteChangeKind(StrEnum):
    """What a change of bytes does."""

    KEY_COUNT = "key-count"
    TYPE = "type"
    VALUE = "value"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ByteChange:
    """Bytes that differ between a file and its copy.

    Attributes:
        key: Whose bytes they are; empty for the number of keys.
        offset: In the original; for added bytes, where they come in between.
        before: Empty for added bytes; `after` is empty for removed ones.
    """

    kind: ByteChangeKind
    key: str
    offset: int
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class HeaderPatch:
    """What changes in one header.

    Attributes:
        stored: Entry index -> new type and value; None drops the entry.
        added: New keys with type and value, behind all others.
    """

    stored: Mapping[int, bytes | None]
    added: tuple[tuple[str, bytes], ...] = ()


def stored_value(type_name: str, value: KvOverrideValue) -> bytes:
    """Return type and value as they lie in a file.

    Raises:
        ValueError: the value does not fit the type.
    """
    type_id = _TYPE_IDS[type_name]
    head = struct.pack("<I", type_id)
    if type_id == STRING:
        return head + _string(str(value))
    layout = SCALARS[type_id][1]
    try:
        return head + layout.pack(_as_number(type_name, value))
    except (struct.error, OverflowError) as reason:
        raise ValueError(f"{value} is no {type_name}") from reason


def patched_header(raw: RawHeader, patch: HeaderPatch) -> bytes:
    """Return the new header up to the last row of the tensor table, without padding."""
    parts = [raw.content[:COUNT_OFFSET], _COUNT.pack(_key_count(raw, patch))]
    for index, entry in enumerate(raw.entries):
        stored = patch.stored.get(index, raw.stored(entry))
        if stored is not None:
            parts += [raw.content[entry.offset : entry.type_offset], stored]
    parts += [_string(key) + stored for key, stored in patch.added]
    parts.append(raw.content[raw.tensors_offset :])
    return b"".join(parts)


def padded(raw: RawHeader, patch: HeaderPatch, data_offset: int, alignment: int, block: int) -> HeaderPatch:
    """Return the patch with a key that fills up to where the weights may begin without being moved in blocks.

    Args:
        data_offset: Where they begin in the original.
        alignment: Of the weights in the model, a power of two.
        block: Of the file system, a power of two.
    """
    step = max(alignment, block)
    size = len(patched_header(raw, patch))
    if rounded_up(size, alignment) % step == data_offset % step:
        return patch
    least = size + len(_string(PADDING_KEY)) + len(stored_value("str", ""))
    goal = least + (data_offset - least) % step
    filler = stored_value("str", " " * (goal - least))
    return HeaderPatch(patch.stored, (*patch.added, (PADDING_KEY, filler)))


def byte_changes(raw: RawHeader, patch: HeaderPatch) -> tuple[ByteChange, ...]:
    """Return every change of the header, in the order of the file."""
    changes = []
    count = _COUNT.pack(_key_count(raw, patch))
    before = raw.content[COUNT_OFFSET : COUNT_OFFSET + _COUNT.size]
    if count != before:
        changes.append(ByteChange(ByteChangeKind.KEY_COUNT, "", COUNT_OFFSET, before, count))
    for index, after in sorted(patch.stored.items()):
        entry = raw.entries[index]
        if after is None:
            gone = raw.content[entry.offset : entry.end]
            changes.append(ByteChange(ByteChangeKind.REMOVED, entry.key, entry.offset, gone, b""))
        else:
            changes += _stored_changes(entry.key, entry.type_offset, raw.stored(entry), after)
    for key, stored in patch.added:
        new = _string(key) + stored
        changes.append(ByteChange(ByteChangeKind.ADDED, key, raw.tensors_offset, b"", new))
    return tuple(changes)


def rounded_up(size: int, step: int) -> int:
    """Return the next multiple of `step`, or `size` if it is one."""
    return -(-size // step) * step


def _stored_changes(key: str, offset: int, before: bytes, after: bytes) -> Iterable[ByteChange]:
    if before[:4] != after[:4]:
        yield ByteChange(ByteChangeKind.TYPE, key, offset, before[:4], after[:4])
    if before[4:] != after[4:]:
        yield ByteChange(ByteChangeKind.VALUE, key, offset + 4, before[4:], after[4:])


def _key_count(raw: RawHeader, patch: HeaderPatch) -> int:
    dropped = sum(1 for stored in patch.stored.values() if stored is None)
    return len(raw.entries) - dropped + len(patch.added)


def _as_number(type_name: str, value: KvOverrideValue) -> bool | int | float:
    if type_name == "bool":
        return bool(value)
    if type_name in ("f32", "f64"):
        return float(value)
    number = int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError(f"{value} is no {type_name}")
    return number


def _string(content: str) -> bytes:
    encoded = content.encode("utf-8")
    return _COUNT.pack(len(encoded)) + encoded
