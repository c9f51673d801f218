"""The links of a document, in order: for the keyboard."""

from dataclasses import dataclass

from PySide6.QtGui import QTextDocument


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link stands in the text, and where it leads."""

    start: int
    stop: int
    address: str


def links_of(document: QTextDocument) -> list[Link]:
    """Return all links; neighbouring pieces of one address are one link."""
    found: list[Link] = []
    block = document.firstBlock()
    while block.isValid():
        pieces = block.begin()
        while not pieces.atEnd():
            fragment = pieces.fragment()
            address = fragment.charFormat().anchorHref()
            if address:
                start, stop = fragment.position(), fragment.position() + fragment.length()
                if found and found[-1].stop == start and found[-1].address == address:
                    start = found.pop().start
                found.append(Link(start, stop, address))
            pieces += 1  # an iterator of Qt: this moves it
        block = block.next()
    return found
