"""Blocks -> widgets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.markdown.blocks import Block, Fence, Prose, Rule, Table
from app.ui.markdown.code_view import CodeView
from app.ui.markdown.document import LIST_STEP, SafeDocument, plain_document, prose_document
from app.ui.markdown.part import Part
from app.ui.markdown.selection import Selection
from app.ui.markdown.table_view import TableView
from app.ui.markdown.text_view import TextView
from app.ui.theme.look import LookSource

_GAP: Final = 12
_SPOKEN: Final = 1_000
"""Characters of a text that its accessible name holds."""


class PartEvents(QObject):
    """What happens inside the parts of one message.

    Signals:
        link_clicked: the address.
        copied: something is in the clipboard.
    """

    link_clicked = Signal(str)
    copied = Signal()


@dataclass(frozen=True, slots=True)
class Placed:
    """A part and how it stands: the gap above it and the indent, in pixels."""

    part: Part
    gap: int
    indent: int


class PartMaker:
    """Makes the parts of one message, as children of `parent`."""

    def __init__(
        self, looks: LookSource, selection: Selection, events: PartEvents, parent: QWidget, ink: str = "text"
    ) -> None:
        """Make parts whose prose has palette colour `ink`."""
        self._looks = looks
        self._ink = ink
        self._selection = selection
        self._events = events
        self._parent = parent

    def make(self, blocks: Iterator[Block]) -> Iterator[Placed | None]:
        """Yield a part per block; None is a step of work inside one. Parts are hidden until shown."""
        for block in blocks:
            part = self._part(block)
            part.hide()
            indent = block.indent * LIST_STEP if isinstance(block, Fence) else 0
            yield Placed(part, _GAP, indent)
            if isinstance(part, CodeView):
                yield from part.fill()

    def _part(self, block: Block) -> Part:
        match block:
            case Prose():
                document = prose_document(block, self._looks.look, self._ink)
                view = self._view(document)
                view.setAccessibleName(document.toPlainText()[:_SPOKEN])
                return view
            case Fence():
                code = CodeView(self._looks, block, self._selection)
                code.setParent(self._parent)
                code.copied.connect(self._events.copied)
                return code
            case Table():
                table = TableView(self._looks, block, self._selection)
                table.setParent(self._parent)
                table.link_clicked.connect(self._events.link_clicked)
                return table
            case Rule():
                return _RuleView(self._looks, self._parent)

    def plain(self) -> TextView:
        """Return a view of an empty text, to which text is added as it stands."""
        return self._view(plain_document(self._looks.look, ink=self._ink))

    def _view(self, document: SafeDocument) -> TextView:
        view = TextView(self._looks, document, self._selection)
        view.setParent(self._parent)
        view.link_clicked.connect(self._events.link_clicked)
        return view


class _RuleView(Part):
    def __init__(self, looks: LookSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._looks = looks

    def fit(self, width: int) -> int:
        self.resize(width, 9)
        return 9

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        QPainter(self).fillRect(0, 4, self.width(), 1, self._looks.look.color("border_strong"))
