"""markdown-it's flat list of block tokens -> blocks."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from markdown_it.token import Token

from app.ui.markdown.blocks import Alignment, Block, Fence, Inline, Paragraph, Prose, Rule, Table
from app.ui.markdown.safe_text import harmless

_PROSE_SIZE: Final = 2_500
"""Characters drawn as one text at most, unless one paragraph alone is longer."""
_BULLETS: Final = ("•", "◦", "▪")
_TASK: Final = re.compile(r"\[([ xX])\][ \t]+")


class BlockReader:
    """Reads the tokens of one text, once."""

    def __init__(self) -> None:
        self._paragraphs: list[Paragraph] = []
        self._size = 0
        self._lists: list[int | None] = []  # next number of each open list; None: bullets
        self._marker = ""
        self._quote_depth = 0
        self._level = 0
        self._is_tight = False
        self._alignments: list[Alignment] = []
        self._rows: list[list[Inline]] = []
        self._in_table = False

    def read(self, tokens: list[Token]) -> Iterator[Block]:
        """Yield the blocks; prose that belongs together comes as one."""
        for token in tokens:
            match token.type:
                case "fence" | "code_block":
                    yield from self._flush()
                    language = token.info.split()[0] if token.info.split() else ""
                    code = harmless(token.content).removesuffix("\n")
                    yield Fence(harmless(language), code, len(self._lists))
                case "hr":
                    yield from self._flush()
                    yield Rule()
                case "table_close":
                    yield from self._flush()
                    yield self._end_table()
                case "inline":
                    yield from self._inline(token)
                case _:
                    self._open_or_close(token)
        yield from self._flush()

    def _open_or_close(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._marker = self._next_marker()
            case "list_item_close":
                self._end_item()
            case "blockquote_open":
                self._quote_depth += 1
            case "blockquote_close":
                self._quote_depth -= 1
            case "heading_open":
                self._level = int(token.tag[1:])
            case "paragraph_open":
                self._is_tight = token.hidden
            case "table_open":
                self._in_table = True
            case "tr_open":
                self._rows.append([])
            case "th_open":
                self._alignments.append(_alignment(str(token.attrGet("style") or "")))

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is None:
            return _BULLETS[min(len(self._lists), len(_BULLETS)) - 1]
        self._lists[-1] = number + 1
        return f"{number}."

    def _end_item(self) -> None:
        if self._marker:  # an empty item still shows its mark
            self._add(Inline("", is_literal=True))

    def _inline(self, token: Token) -> Iterator[Block]:
        inline = Inline(token.content)
        if self._in_table:
            self._rows[-1].append(inline)
            return
        task = _TASK.match(inline.source) if self._marker in _BULLETS else None
        if task:
            self._marker = "☐" if task.group(1) == " " else "☑"
            inline = replace(inline, source=inline.source[task.end() :])
        self._add(inline)
        if self._size > _PROSE_SIZE:
            yield from self._flush()

    def _add(self, inline: Inline) -> None:
        paragraph = Paragraph(
            inline,
            level=self._level,
            indent=len(self._lists),
            marker=self._marker,
            quote_depth=self._quote_depth,
            is_tight=self._is_tight and bool(self._lists),
        )
        self._paragraphs.append(paragraph)
        self._size += len(inline.source) + 40
        self._marker, self._level, self._is_tight = "", 0, False

    def _flush(self) -> Iterator[Block]:
        if self._paragraphs:
            yield Prose(tuple(self._paragraphs))
        self._paragraphs, self._size = [], 0

    def _end_table(self) -> Table:
        heads, *rows = self._rows or [[]]
        width = len(heads)
        table = Table(
            tuple(heads),
            tuple(tuple((cells + [Inline("")] * width)[:width]) for cells in rows),
            tuple((self._alignments + [Alignment.LEFT] * width)[:width]),
        )
        self._rows, self._alignments, self._in_table = [], [], False
        return table


def _alignment(style: str) -> Alignment:
    if style.endswith("right"):
        return Alignment.RIGHT
    return Alignment.CENTER if style.endswith("center") else Alignment.LEFT
