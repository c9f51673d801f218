"""A long text in pieces that can be read one by one, each in a few milliseconds. No Qt."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SEGMENT: Final = 8_000
"""Characters after which a text is cut where nothing changes by it."""
SEGMENT_MAX: Final = 2 * SEGMENT
"""Characters after which it is cut at the next line that starts at the margin, even inside a paragraph."""

TABLE_CELLS_MAX: Final = 1_000
TABLE_COLUMNS_MAX: Final = 40
"""A larger table is shown as it was written: laying it out would hold the window up."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_DELIMITERS: Final = re.compile(r"[ \t>|:-]*")
_ITEM: Final = re.compile(r"(?:(\d{1,9})[.)]|([-*+]))[ \t]+\S")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the text.

    Attributes:
        is_grid: It is one table, too large to be drawn as one.
    """

    text: str
    is_grid: bool = False


def segments(text: str) -> Iterator[Segment]:
    """Cut `text` at blank lines, list items and large tables outside fences.

    Joined by line ends the pieces are the whole text again.
    """
    lines = text.split("\n")
    cutter = _Cutter()
    start = table_end = 0
    while start < len(lines):
        is_row = start < table_end
        if not is_row and not cutter.fence:
            table_end, is_large = _table(lines, start)
            if is_large:
                yield from cutter.rest()
                yield Segment("\n".join(lines[start:table_end]), is_grid=True)
                start = table_end
                continue
        if cutter.is_cut_before(lines[start], is_row=is_row):
            yield from cutter.rest()
        cutter.take(lines[start])
        start += 1
    yield from cutter.rest()


class _Cutter:
    """Collects lines until they are enough."""

    def __init__(self) -> None:
        self.fence = ""
        self._lines: list[str] = []
        self._size = 0
        self._number: int | None = None  # of the last list item at the margin

    def take(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        self.fence = _fence_after(line, self.fence)
        found = None if self.fence else _ITEM.match(line)
        if found and found[1]:
            self._number = int(found[1])

    def rest(self) -> Iterator[Segment]:
        if self._lines:
            yield Segment("\n".join(self._lines))
        self._lines, self._size = [], 0

    def is_cut_before(self, line: str, *, is_row: bool) -> bool:
        if is_row or self._size <= SEGMENT or self.fence or not line or line[0].isspace() or not self._lines:
            return False
        return self._size > SEGMENT_MAX or not self._lines[-1].strip() or self._is_next_item(line)

    def _is_next_item(self, line: str) -> bool:
        found = _ITEM.match(line)
        if found is None:
            return False
        return found[1] is None or self._number is None or int(found[1]) == self._number + 1


def _table(lines: list[str], start: int) -> tuple[int, bool]:
    """Return the line after the table at `start` and whether it is large; where none is, `start` itself."""
    if start + 1 >= len(lines) or "|" not in lines[start] or not _is_delimiters(lines[start + 1]):
        return start, False
    columns = lines[start + 1].strip(" \t>|").count("|") + 1
    end = start + 2
    while end < len(lines) and not _is_end_of_table(lines[end]):
        end += 1
    return end, columns > TABLE_COLUMNS_MAX or columns * (end - start - 1) > TABLE_CELLS_MAX


def _is_end_of_table(line: str) -> bool:
    is_other = line.startswith("#") or _FENCE.match(line) or _ITEM.match(line)
    return not line.strip(" \t>") or bool(is_other)


def _is_delimiters(line: str) -> bool:
    return "-" in line and "|" in line and _DELIMITERS.fullmatch(line) is not None


def _fence_after(line: str, fence: str) -> str:
    found = _FENCE.match(line)
    if not found:
        return fence
    marks = found.group(1)
    if not fence:
        return marks
    is_closer = marks[0] == fence[0] and len(marks) >= len(fence) and not line[found.end() :].strip()
    return "" if is_closer else fence
