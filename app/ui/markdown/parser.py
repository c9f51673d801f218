"""Markdown -> blocks. Whatever a model writes comes out as text: nothing is dropped, nothing raises."""

import re
from collections.abc import Iterator
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.ui.markdown.block_reader import BlockReader
from app.ui.markdown.blocks import Block, Fence, Inline, Paragraph, Prose, Span
from app.ui.markdown.safe_text import harmless
from app.ui.markdown.segments import Segment, segments

_NESTING_MAX: Final = 40
_LINE_MAX: Final = 8_000
"""Characters; a longer line is no prose, and its marks would cost more than they are worth."""
_BRACKETS_MAX: Final = 200
"""Opening brackets in one paragraph: unmatched ones cost the square of their number."""
_LITERAL_PIECE: Final = 2_000

_MARKS: Final = re.compile(r"[\\`*_~\[\]!<>&\n]|://|  $")
"""What may mean something inside a paragraph."""

_BARE_LINK: Final = re.compile(
    r"https?://[^\s<>\"'`\u3000-\u303f\uff00-\uffef]+[^\s<>\"'`.,;:!?)\]}\u3000-\u303f\uff00-\uffef]"
)
_LINK_SCHEMES: Final = ("http://", "https://", "mailto:")


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING_MAX})
    reader.enable(["table", "strikethrough"])
    # a reference definition would vanish from the text, also where "[Note]: ..." was meant as words
    return reader.disable(["html_block", "html_inline", "reference"])


_BLOCK_READER: Final = _reader().disable(["inline", "text_join"])
_INLINE_READER: Final = _reader()


def parse(text: str) -> Iterator[Block]:
    """Yield the blocks of `text`; a step takes a few milliseconds at most, so callers may pause between."""
    for segment in segments(text):
        yield from _read(segment)


def _read(segment: Segment) -> Iterator[Block]:
    if segment.is_grid:
        yield Fence("", harmless(segment.text))
        return
    if any(len(line) > _LINE_MAX for line in segment.text.split("\n")):
        yield from literal(segment.text)
        return
    tokens = _BLOCK_READER.parse(segment.text)
    if any(token.level >= _NESTING_MAX - 1 for token in tokens):  # deeper text would be left out
        yield from literal(segment.text)
    else:
        yield from BlockReader().read(tokens)


def literal(text: str) -> Iterator[Block]:
    """Yield `text` as it stands, without looking for marks."""
    paragraphs = (
        Paragraph(Inline(piece, is_literal=True), is_tight=True)
        for line in text.split("\n")
        for piece in ([line[i : i + _LITERAL_PIECE] for i in range(0, len(line), _LITERAL_PIECE)] or [""])
    )
    collected: list[Paragraph] = []
    size = 0
    for paragraph in paragraphs:
        collected.append(paragraph)
        size += len(paragraph.inline.source) + 40
        if size > 2 * _LITERAL_PIECE:
            yield Prose(tuple(collected))
            collected, size = [], 0
    if collected:
        yield Prose(tuple(collected))


def spans(inline: Inline) -> list[Span]:
    """Return the text of a paragraph, its marks turned into looks."""
    if inline.is_literal or inline.source.count("[") > _BRACKETS_MAX:
        return [Span(harmless(inline.source))]
    if not _MARKS.search(inline.source):
        return [Span(harmless(inline.source.strip(" \t")))] if inline.source.strip(" \t") else []
    tokens = _INLINE_READER.parseInline(inline.source)
    return list(_SpanReader().read(tokens[0].children or [])) if tokens else []


def safe_link(address: str) -> str | None:
    """Return `address` when a click may open it: http, https or mailto, without characters that hide."""
    is_known = address.lower().startswith(_LINK_SCHEMES)
    return address if is_known and address.isprintable() and harmless(address) == address else None


class _SpanReader:
    def __init__(self) -> None:
        self._open: dict[str, int] = {"strong": 0, "em": 0, "s": 0}
        self._address: str | None = None
        self._href: str | None = None

    def read(self, tokens: list[Token]) -> Iterator[Span]:
        for token in tokens:
            name, _, end = token.type.rpartition("_")
            if name in self._open:
                self._open[name] += 1 if end == "open" else -1
            elif token.type == "link_open":
                self._address = str(token.attrGet("href") or "")
                self._href = safe_link(self._address)
            elif token.type == "link_close":
                yield from self._refused_address()
            else:
                yield from self._text(token)

    def _text(self, token: Token) -> Iterator[Span]:
        match token.type:
            case "softbreak" | "hardbreak":
                yield self._span("\n")
            case "code_inline":
                yield self._span(token.content, is_code=True)
            case "image":
                yield from self._image(token)
            case _:
                yield from self._with_bare_links(token.content)

    def _image(self, token: Token) -> Iterator[Span]:
        address = str(token.attrGet("src") or "")
        yield self._span(token.content or address, href=safe_link(address))
        if token.content and safe_link(address) is None and address:
            yield self._span(f" ({address})")

    def _with_bare_links(self, text: str) -> Iterator[Span]:
        if self._href is not None or "://" not in text:
            yield from [self._span(text)] if text else []
            return
        start = 0
        for found in _BARE_LINK.finditer(text):
            if found.start() > start:
                yield self._span(text[start : found.start()])
            yield self._span(found.group(), href=safe_link(found.group()))
            start = found.end()
        if start < len(text):
            yield self._span(text[start:])

    def _refused_address(self) -> Iterator[Span]:
        if self._href is None and self._address:
            yield self._span(f" ({self._address})")
        self._address = self._href = None

    def _span(self, text: str, *, is_code: bool = False, href: str | None = None) -> Span:
        opened = self._open
        return Span(
            harmless(text),
            is_bold=opened["strong"] > 0,
            is_italic=opened["em"] > 0,
            is_struck=opened["s"] > 0,
            is_code=is_code,
            href=href or self._href,
        )
