"""A sound model's file taken apart, to be changed in one place and put together again, right or wrong."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.gguf.writer import ALIGNMENT, KeyValue, ValueType, scalar
from tests.models.tiny import TinyModel


@dataclass
class DraftRow:
    """One row of the tensor table as it will lie in the file."""

    name: bytes
    shape: tuple[int, ...]
    type_id: int
    offset: int
    size: int


@dataclass
class Draft:
    """A file to be.

    Attributes:
        entries: Key and encoded value; a key may be any bytes.
        raw_entries: Entries before all others, byte for byte.
        tensor_count: Written in place of the true number, if given; key_count likewise.
    """

    entries: list[tuple[bytes, bytes]]
    rows: list[DraftRow]
    data: bytearray
    raw_entries: list[bytes] = field(default_factory=list)
    magic: bytes = b"GGUF"
    version: int = 3
    tensor_count: int | None = None
    key_count: int | None = None

    @classmethod
    def of(cls, model: TinyModel) -> "Draft":
        """Return the draft of a sound file."""
        rows, data = [], bytearray()
        for tensor in model.tensors:
            size = len(tensor.content)
            rows.append(DraftRow(tensor.name.encode(), tensor.shape, tensor.type_id, len(data), size))
            data += tensor.content + bytes(-size % ALIGNMENT)
        return cls([(e.key.encode(), e.encoded) for e in model.entries], rows, data)

    def put(self, entry: KeyValue) -> None:
        """Set a key where it is, or at the end."""
        keys = [key for key, _ in self.entries]
        key = entry.key.encode()
        if key in keys:
            self.entries[keys.index(key)] = (key, entry.encoded)
        else:
            self.entries.append((key, entry.encoded))

    def put_number(self, key: str, number: int) -> None:
        """Set a key to an unsigned 32-bit number."""
        self.put(scalar(key, ValueType.UINT32, number))

    def drop(self, *keys: str) -> None:
        """Take keys away."""
        gone = {key.encode() for key in keys}
        assert gone <= {key for key, _ in self.entries}
        self.entries = [entry for entry in self.entries if entry[0] not in gone]

    def row(self, name: str) -> DraftRow:
        """Return the first row of that name."""
        return next(row for row in self.rows if row.name == name.encode())

    def fill(self, row: DraftRow, pattern: bytes) -> None:
        """Overwrite a tensor with a pattern that fits into it a whole number of times."""
        assert row.size % len(pattern) == 0
        self.data[row.offset : row.offset + row.size] = pattern * (row.size // len(pattern))

    def encode(self) -> bytes:
        """Return the file."""
        head = self.head()
        return head + bytes(-len(head) % ALIGNMENT) + bytes(self.data)

    def head(self) -> bytes:
        """Return the file up to the end of its tensor table."""
        count = len(self.rows) if self.tensor_count is None else self.tensor_count
        keys = len(self.raw_entries) + len(self.entries) if self.key_count is None else self.key_count
        parts = [self.magic, struct.pack("<IQQ", self.version, count, keys), *self.raw_entries]
        parts += [string(key) + encoded for key, encoded in self.entries]
        parts += [encoded_row(row) for row in self.rows]
        return b"".join(parts)


def split(draft: Draft, per_part: int) -> list[bytes]:
    """Return a model in parts as llama-gguf-split makes them: all metadata in the first."""
    groups = [draft.rows[start : start + per_part] for start in range(0, len(draft.rows), per_part)]
    return [_part(draft, groups, number) for number in range(len(groups))]


def _part(draft: Draft, groups: Sequence[Sequence[DraftRow]], number: int) -> bytes:
    part = Draft(list(draft.entries) if number == 0 else [], [], bytearray())
    part.put(scalar("split.no", ValueType.UINT16, number))
    part.put(scalar("split.count", ValueType.UINT16, len(groups)))
    part.put(scalar("split.tensors.count", ValueType.INT32, len(draft.rows)))
    for row in groups[number]:
        part.rows.append(DraftRow(row.name, row.shape, row.type_id, len(part.data), row.size))
        part.data += draft.data[row.offset : row.offset + row.size] + bytes(-row.size % ALIGNMENT)
    return part.encode()


def string(content: bytes) -> bytes:
    """Return a text as it lies in a file."""
    return struct.pack("<Q", len(content)) + content


def encoded_row(row: DraftRow) -> bytes:
    """Return one row of the tensor table."""
    dimensions = len(row.shape)
    shape = struct.pack(f"<I{dimensions}Q", dimensions, *row.shape)
    return string(row.name) + shape + struct.pack("<IQ", row.type_id, row.offset)
