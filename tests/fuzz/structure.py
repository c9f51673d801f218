"""Cuts a header into its entries and puts changed ones together: a changed byte alone rarely gets far."""

import itertools
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

_WIDTHS: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING: Final = 8
_ARRAY: Final = 9
_NUMBERS: Final = (0, 1, 2, 7, 31, 255, 512, 1024, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
_ENTRIES_MAX: Final = 2000


@dataclass(frozen=True, slots=True)
class Pieces:
    """A header in pieces; each key and each tensor as it lies in the file, lengths included.

    Attributes:
        tail: Padding and what follows.
    """

    version: int
    keys: tuple[bytes, ...]
    tensors: tuple[bytes, ...]
    tail: bytes = b""

    def joined(self) -> bytes:
        """Return the header; its counts are right."""
        head = struct.pack("<4sIQQ", b"GGUF", self.version, len(self.tensors), len(self.keys))
        return b"".join((head, *self.keys, *self.tensors, self.tail))


def cut(content: bytes) -> Pieces | None:
    """Return the pieces of a header; None for what cannot be followed to its end."""
    try:
        magic, version, tensors, keys = struct.unpack_from("<4sIQQ", content)
        if magic != b"GGUF" or tensors + keys > _ENTRIES_MAX:
            return None
        at, ends = 24, [24]
        for number in range(keys + tensors):
            at = _end_of_key(content, at) if number < keys else _end_of_tensor(content, at)
            ends.append(at)
    except (struct.error, KeyError, OverflowError):
        return None
    if at > len(content):
        return None
    pieces = [content[start:end] for start, end in itertools.pairwise(ends)]
    return Pieces(version, tuple(pieces[:keys]), tuple(pieces[keys:]), content[at:])


def changed(content: bytes, choose: random.Random, stock: Sequence[Pieces]) -> bytes:
    """Return the header with one to three entries changed, or itself when it cannot be cut.

    Args:
        stock: Other headers, whose entries may come in.
    """
    pieces = cut(content)
    if pieces is None:
        return content
    for _ in range(choose.randint(1, 3)):
        pieces = choose.choice(_CHANGES)(pieces, choose, stock)
    return pieces.joined()


def _with_foreign_key(pieces: Pieces, choose: random.Random, stock: Sequence[Pieces]) -> Pieces:
    other = choose.choice(stock) if stock else pieces
    return replace(pieces, keys=_inserted(pieces.keys, choose, other.keys))


def _with_foreign_tensor(pieces: Pieces, choose: random.Random, stock: Sequence[Pieces]) -> Pieces:
    other = choose.choice(stock) if stock else pieces
    return replace(pieces, tensors=_inserted(pieces.tensors, choose, other.tensors))


def _without_one(pieces: Pieces, choose: random.Random, _stock: Sequence[Pieces]) -> Pieces:
    if choose.random() < 0.5:
        return replace(pieces, keys=_dropped(pieces.keys, choose))
    return replace(pieces, tensors=_dropped(pieces.tensors, choose))


def _with_number(pieces: Pieces, choose: random.Random, _stock: Sequence[Pieces]) -> Pieces:
    """Put a telling number at the end of a key, where its value is."""
    if not pieces.keys:
        return pieces
    at = choose.randrange(len(pieces.keys))
    width = choose.choice((1, 4, 8))
    number = choose.choice(_NUMBERS).to_bytes(8, "little")[:width]
    key = pieces.keys[at]
    return replace(pieces, keys=(*pieces.keys[:at], key[: -len(number)] + number, *pieces.keys[at + 1 :]))


def _with_other_type(pieces: Pieces, choose: random.Random, _stock: Sequence[Pieces]) -> Pieces:
    """Give a key another type and a value of it."""
    if not pieces.keys:
        return pieces
    at = choose.randrange(len(pieces.keys))
    name = pieces.keys[at][: 8 + struct.unpack_from("<Q", pieces.keys[at])[0]]
    type_id = choose.randint(0, 13)
    value = choose.choice(_NUMBERS).to_bytes(8, "little")[: _WIDTHS.get(type_id, 8)]
    if type_id == _STRING:
        value = struct.pack("<Q", 5) + b"m\xff\0\xe2\x98"
    if type_id == _ARRAY:
        element, count = choose.choice(tuple(_WIDTHS)), choose.randint(0, 70)
        value = struct.pack("<IQ", element, count) + choose.randbytes(_WIDTHS[element] * count)
    key = name + struct.pack("<I", type_id) + value
    return replace(pieces, keys=(*pieces.keys[:at], key, *pieces.keys[at + 1 :]))


def _with_other_tensor(pieces: Pieces, choose: random.Random, _stock: Sequence[Pieces]) -> Pieces:
    """Change dimensions, type or offset of a tensor."""
    if not pieces.tensors:
        return pieces
    at = choose.randrange(len(pieces.tensors))
    tensor = bytearray(pieces.tensors[at])
    start = 8 + struct.unpack_from("<Q", tensor)[0]
    where = choose.randrange(start, len(tensor))
    number = choose.choice(_NUMBERS).to_bytes(8, "little")[: choose.choice((1, 4, 8))]
    tensor[where : where + len(number)] = number[: len(tensor) - where]
    return replace(pieces, tensors=(*pieces.tensors[:at], bytes(tensor), *pieces.tensors[at + 1 :]))


_Change = Callable[[Pieces, random.Random, Sequence[Pieces]], Pieces]
_CHANGES: Final[tuple[_Change, ...]] = (
    _with_foreign_key,
    _with_foreign_tensor,
    _without_one,
    _with_number,
    _with_other_type,
    _with_other_tensor,
)


def _inserted(into: tuple[bytes, ...], choose: random.Random, stock: tuple[bytes, ...]) -> tuple[bytes, ...]:
    if not stock:
        return into
    at = choose.randint(0, len(into))
    return (*into[:at], choose.choice(stock), *into[at:])


def _dropped(entries: tuple[bytes, ...], choose: random.Random) -> tuple[bytes, ...]:
    if not entries:
        return entries
    at = choose.randrange(len(entries))
    return entries[:at] + entries[at + 1 :]


def _end_of_key(content: bytes, at: int) -> int:
    at = _end_of_text(content, at)
    (type_id,) = struct.unpack_from("<I", content, at)
    at += 4
    if type_id == _STRING:
        return _end_of_text(content, at)
    if type_id != _ARRAY:
        return at + _WIDTHS[type_id]
    element, count = struct.unpack_from("<IQ", content, at)
    at += 12
    if element != _STRING:
        return int(at + _WIDTHS[element] * count)
    for _ in range(count):
        at = _end_of_text(content, at)
    return at


def _end_of_tensor(content: bytes, at: int) -> int:
    at = _end_of_text(content, at)
    (dimensions,) = struct.unpack_from("<I", content, at)
    return int(at + 4 + 8 * dimensions + 12)


def _end_of_text(content: bytes, at: int) -> int:
    (length,) = struct.unpack_from("<Q", content, at)
    return int(at + 8 + length)
