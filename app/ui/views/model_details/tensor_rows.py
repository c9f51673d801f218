"""The tensor table prepared for searching and sorting 50,000 rows without a stall. No Qt."""

import heapq
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.gguf.facts import ModelFacts, TensorClass, TensorInfo
from app.gguf.tensor_classes import split_block, tensor_class

_RUN: Final = 1024
"""Rows sorted in one go: one long sort would keep the interpreter from the GUI thread."""

_DIGITS: Final = re.compile(r"(\d{1,9})")
_LAYER: Final = re.compile(r"/(\d{1,6})(?:-(\d{1,6}))?")


class TensorColumn(StrEnum):
    """Columns, in the order shown."""

    NAME = "name"
    SHAPE = "shape"
    TYPE = "type"
    SIZE = "size"
    LAYER = "layer"
    CLASS = "class"
    PART = "part"


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One tensor.

    Attributes:
        layer: None outside the blocks.
        folded: The name as it is searched.
    """

    tensor: TensorInfo
    layer: int | None
    kind: TensorClass
    folded: str

    @property
    def shape_text(self) -> str:
        """Dimensions in ggml order."""
        return " × ".join(map(str, self.tensor.shape))


@dataclass(frozen=True, slots=True)
class TensorTable:
    """All tensors of a model.

    Attributes:
        rows: In file order, part by part.
        orders: By column, the indices of `rows` in rising order.
        part_count: Files.
    """

    rows: tuple[TensorRow, ...]
    orders: Mapping[TensorColumn, tuple[int, ...]]
    part_count: int = 1


NO_TENSORS: Final = TensorTable((), {})


@dataclass(frozen=True, slots=True)
class TensorQuery:
    """What is searched: all of `words` in the name, and a layer from `first` to `last`."""

    words: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None

    @property
    def is_empty(self) -> bool:
        """Everything matches."""
        return not self.words and self.first is None

    def matches(self, row: TensorRow) -> bool:
        """Say whether a row is one of those searched."""
        if self.first is None or self.last is None:
            is_in_layer = True
        else:
            is_in_layer = row.layer is not None and self.first <= row.layer <= self.last
        return is_in_layer and all(word in row.folded for word in self.words)


def tensor_query(text: str) -> TensorQuery:
    """Read what was typed: words of a name, `/12` for a layer, `/12-20` for several."""
    words, first, last = [], None, None
    for word in text.casefold().split():
        if found := _LAYER.fullmatch(word):
            first = int(found[1])
            last = int(found[2] or found[1])
        elif word != "/":
            words.append(word)
    return TensorQuery(tuple(words), first, last)


def tensor_table(facts: ModelFacts) -> TensorTable:
    """Prepare all tensors of a model. Takes some tenths of a second for 50,000: never on the GUI thread."""
    rows = tuple(_row(tensor) for tensor in facts.tensors)
    orders = {column: tuple(steady_sorted(range(len(rows)), _key(column, rows))) for column in TensorColumn}
    return TensorTable(rows, orders, max(1, len(facts.files)))


def steady_sorted(indices: Sequence[int], key: Callable[[int], Any]) -> Iterator[int]:
    """Yield `indices` in rising order of `key`, equal ones as they came, in small steps of work."""
    runs = [sorted(indices[start : start + _RUN], key=key) for start in range(0, len(indices), _RUN)]
    return heapq.merge(*runs, key=key)


def _row(tensor: TensorInfo) -> TensorRow:
    layer, _ = split_block(tensor.name)
    return TensorRow(tensor, layer, tensor_class(tensor.name), tensor.name.casefold())


def _key(column: TensorColumn, rows: Sequence[TensorRow]) -> Callable[[int], Any]:
    """Return what a column is sorted by; a dash sorts first."""
    match column:
        case TensorColumn.NAME:
            return lambda index: _natural(rows[index].folded)
        case TensorColumn.SHAPE:
            return lambda index: math.prod(rows[index].tensor.shape)
        case TensorColumn.TYPE:
            return lambda index: rows[index].tensor.type_name
        case TensorColumn.SIZE:
            return lambda index: rows[index].tensor.size_bytes or -1
        case TensorColumn.LAYER:
            return lambda index: -1 if rows[index].layer is None else rows[index].layer
        case TensorColumn.CLASS:
            return lambda index: rows[index].kind.value
        case TensorColumn.PART:
            return lambda index: rows[index].tensor.shard


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that puts `blk.2` before `blk.10`."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(name) if part)
