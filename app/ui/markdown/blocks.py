"""What a text in Markdown consists of, as facts; no HTML, no Qt."""

from dataclasses import dataclass
from enum import StrEnum


class Alignment(StrEnum):
    """Side on which a table column stands."""

    LEFT = "left"
    CENTER = "center"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Span:
    """Text of one look.

    Attributes:
        href: Where a click leads, http, https or mailto; None for text that is no link.
    """

    text: str
    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    is_code: bool = False
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Inline:
    """Text whose marks are not read yet: reading waits until it is drawn.

    Attributes:
        is_literal: It holds no marks at all.
    """

    source: str
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph, heading, or first paragraph of a list item.

    Attributes:
        level: 1..6 for a heading, else 0.
        indent: Depth of lists round it.
        marker: What stands before the first paragraph of a list item; empty otherwise.
        quote_depth: Depth of block quotes round it.
        is_tight: It stands close to what follows, as items of a list do.
    """

    inline: Inline
    level: int = 0
    indent: int = 0
    marker: str = ""
    quote_depth: int = 0
    is_tight: bool = False


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs drawn as one text."""

    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """Code.

    Attributes:
        language: As the text names it; empty when it does not.
    """

    language: str
    code: str
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Cells; every row has as many as `heads`."""

    heads: tuple[Inline, ...]
    rows: tuple[tuple[Inline, ...], ...]
    alignments: tuple[Alignment, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the text."""


Block = Prose | Fence | Table | Rule
